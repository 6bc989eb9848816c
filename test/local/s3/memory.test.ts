import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { localServicesEnv } from "../../../src/aws/local-services.ts";
import { bucket } from "./s3-client.ts";

const mib = 1024 * 1024;
const sizeMiB = 200;

const source = (path: string) => JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).href);

/** Sends the growth of the process's memory over that at this point to its parent, when it is asked. */
const reportMemory = `
  const atStart = process.memoryUsage.rss();
  let peak = atStart;
  const look = () => { peak = Math.max(peak, process.memoryUsage.rss()); };
  setInterval(look, 5);
  process.on("message", () => { look(); process.send({ growthMiB: Math.round((peak - atStart) / ${mib}) }); peak = atStart; });
`;

const server = `
  import { startS3 } from ${source("local/s3/s3.ts")};
  const { url, secret } = await startS3({ port: 0, stateDir: process.argv[2], buckets: ["${bucket}"] });
  ${reportMemory}
  process.send({ url, secret });
`;

const client = `
  import { openS3Blobs } from ${source("aws/s3/s3-blobs.ts")};
  const blobs = openS3Blobs("${bucket}");
  await blobs.put("small", new Uint8Array(1000));
  for await (const _ of (await blobs.read("small")).bytes);
  const piece = new Uint8Array(${mib} / 4).fill(7);
  async function* pieces() {
    for (let count = 0; count < ${sizeMiB * 4}; count += 1) yield Uint8Array.from(piece);
  }
  ${reportMemory}
  process.send("ready");
  process.on("message", async (step) => {
    let sizeBytes = 0;
    if (step === "up") ({ sizeBytes } = await blobs.put("large", pieces()));
    if (step === "down") for await (const { length } of (await blobs.read("large")).bytes) sizeBytes += length;
    if (sizeBytes > 0) process.send({ sizeBytes });
  });
`;

function start(folder: string, name: string, program: string, env: Record<string, string> = {}): ChildProcess {
  const file = join(folder, `${name}.mjs`);
  writeFileSync(file, program);
  const child = fork(file, [join(folder, "state")], { env: { ...process.env, ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

async function ask<T>(child: ChildProcess, message: string): Promise<T> {
  const answer = once(child, "message");
  child.send(message);
  return (await answer)[0] as T;
}

async function growthOf(child: ChildProcess): Promise<number> {
  return (await ask<{ growthMiB: number }>(child, "memory")).growthMiB;
}

test(`${sizeMiB} MiB up and down do not need memory for them, neither in the server nor in the client`, async () => {
  const folder = mkdtempSync(join(tmpdir(), "offload-s3-memory-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const serving = start(folder, "server", server);
  const [{ url, secret }] = (await once(serving, "message")) as [{ url: string; secret: string }];
  const services = { dynamodb: "", sqs: "", scheduler: "", cloudwatch: "", eventbridge: "", s3: url, s3Secret: secret };
  const using = start(folder, "client", client, localServicesEnv(services));
  await once(using, "message");
  const growth: Record<string, number> = {};
  for (const step of ["up", "down"]) {
    const begun = performance.now();
    const answer = once(using, "message");
    using.send(step);
    // The first answer is that of the memory's report.
    await answer;
    const [{ sizeBytes }] = (await once(using, "message")) as [{ sizeBytes: number }];
    expect(sizeBytes).toBe(sizeMiB * mib);
    growth[`${step} in ms`] = Math.round(performance.now() - begun);
    growth[`${step}, server`] = await growthOf(serving);
    growth[`${step}, client`] = await growthOf(using);
  }
  console.log(JSON.stringify(growth));
  expect(Math.max(growth["up, server"] ?? 0, growth["down, server"] ?? 0)).toBeLessThan(100);
  expect(Math.max(growth["up, client"] ?? 0, growth["down, client"] ?? 0)).toBeLessThan(150);
});
