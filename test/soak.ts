import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Client } from "./support/http-client.ts";
import { urlOf, usageOf } from "./support/process-usage.ts";

/*
 * Submits tasks of ten features to a local server at a steady rate, and shows each half minute what the server uses:
 * memory without mapped files, descriptors, and the bytes of its state folder. Ends with exit code 1 when the last
 * figures of memory or descriptors are more than a tenth above those of the fifth minute, when a submit was refused, or
 * when no webhook came.
 *
 *     npm run test:soak -- --minutes 60 --rate 17
 */

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "20" },
    rate: { type: "string", default: "17" },
    only: { type: "string" },
  },
});
const minutes = Number(values.minutes);
const perSecond = Number(values.rate);

/** Figures are compared with those after this time, in minutes: pools, caches and compiled code have grown by then. */
const warmMinutes = Math.min(5, minutes / 2);

let webhooks = 0;
const receiver = createServer((request, response) => {
  webhooks++;
  request.resume();
  response.end();
});
await new Promise<void>((ready) => receiver.listen(0, "127.0.0.1", ready));
const receiverHost = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
const callback = { url: `http://${receiverHost}/` };

const stateDir = mkdtempSync(join(tmpdir(), "offload-soak-"));
const entry = fileURLToPath(new URL("../bin/offload.js", import.meta.url));
const server = fork(entry, ["start"], {
  env: {
    ...process.env,
    PORT: "0",
    OFFLOAD_DYNAMODB_PORT: "0",
    OFFLOAD_SQS_PORT: "0",
    OFFLOAD_STATE_DIR: stateDir,
    OFFLOAD_PROBES: "1",
    OFFLOAD_CALLBACK_HOSTS: receiverHost,
    OFFLOAD_TIME_SCALE: "0.01",
  },
  execArgv: [],
  stdio: ["ignore", "pipe", "pipe", "ipc"],
});
const client = new Client(await urlOf(server), { token: "dev-acme", tenant: "acme", role: "operator" });

type Body = { type: string; input: unknown } & Record<string, unknown>;

/** One submit of each feature. */
const features: Record<string, (number: number) => Body> = {
  echo: (value) => ({ type: "probe.echo", input: { value } }),
  webhook: (value) => ({ type: "probe.echo", input: { value }, callback }),
  delay: (value) => ({ type: "probe.echo", input: { value }, delay_seconds: 5 }),
  retry: () => ({ type: "probe.fail", input: { kind: "transient", times: 1 } }),
  dead: () => ({ type: "probe.fail", input: { kind: "permanent" } }),
  steps: () => ({ type: "probe.steps", input: { steps: 3, sleep_seconds: 2 } }),
  family: () => ({ type: "probe.fanout", input: { children: 30 } }),
  keyed: (value) => ({ type: "probe.keyed", input: { key: `key-${value % 20}`, ms: 20 } }),
  unique: (value) => ({ type: "probe.echo", input: { value }, unique: { key: `key-${value % 7}` } }),
  large: (value) => ({ type: "probe.echo", input: { value: "x".repeat(500_000) + value } }),
};
/** Families have 31 tasks, and large inputs a thousand times the bytes of others. */
const shares: Record<string, number> = { echo: 6, webhook: 3, steps: 3, keyed: 3, family: 0.5, large: 0.5 };
const mix = Object.keys(features)
  .filter((name) => values.only === undefined || values.only.split(",").includes(name))
  .flatMap((name) => Array.from({ length: Math.round((shares[name] ?? 1) * 2) }, () => name));

let submitted = 0;
let refused = 0;
async function submitOne(): Promise<void> {
  const number = submitted++;
  const name = mix[number % mix.length] ?? "echo";
  const answer = await client.post("/tasks", features[name]?.(number), { "idempotency-key": `soak-${number}` });
  if (answer.status !== 202) refused++;
}

const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).reduce((sum, file) => {
    if (!file.isFile()) return sum;
    // LevelDB deletes files meanwhile.
    const stat = statSync(join(file.parentPath, file.name), { throwIfNoEntry: false });
    return sum + (stat?.size ?? 0);
  }, 0);

const figures = () => ({
  mb: Math.round(usageOf(server.pid ?? 0).serverMb),
  descriptors: readdirSync(`/proc/${server.pid}/fd`).length,
  folderMb: Math.round(bytesIn(stateDir) / 1e6),
});

const startedAt = performance.now();
const minute = () => (performance.now() - startedAt) / 60_000;
const show = (at: ReturnType<typeof figures>) =>
  console.log(
    `${minute().toFixed(1).padStart(5)} min  ${submitted} submits  ${at.mb} MB  ${at.descriptors} descriptors  folder ${at.folderMb} MB`,
  );

let warm: ReturnType<typeof figures> | undefined;
let shownAt = 0;
const open = new Set<Promise<void>>();
while (minute() < minutes) {
  const due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond);
  // A busy machine submits fewer.
  for (; submitted < due && open.size < 20; ) {
    const one: Promise<void> = submitOne()
      .catch(() => void refused++)
      .finally(() => open.delete(one));
    open.add(one);
  }
  if (minute() >= shownAt) {
    shownAt += 0.5;
    const now = figures();
    show(now);
    if (warm === undefined && minute() >= warmMinutes) warm = now;
  }
  await sleep(20);
}
await Promise.all(open);
// What still runs ends.
await sleep(Math.min(60_000, minutes * 10_000));
const last = figures();
show(last);
console.log(`${refused} refused, ${webhooks} webhooks`);
const grew = (["mb", "descriptors"] as const).filter((name) => warm !== undefined && last[name] > warm[name] * 1.1);
console.log(
  grew.length === 0
    ? "Nothing has grown."
    : `Grown by more than a tenth since minute ${warmMinutes}: ${grew.join(", ")}`,
);
process.exitCode = grew.length === 0 && refused === 0 && webhooks > 0 ? 0 : 1;
const ended = once(server, "exit");
server.kill("SIGTERM");
await ended;
receiver.close();
rmSync(stateDir, { recursive: true, force: true });
