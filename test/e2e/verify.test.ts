import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run } from "../../src/tools/cli/main.ts";
import { quietTerminal } from "../support/quiet-terminal.ts";
import { startTimelyServer, type TimelyServer } from "../support/timely-server.ts";
import { createKey, deployed } from "./command-line.ts";

// On a machine, the test lets the time of the delays and of the leases pass; in a deployment, they take too long.
const groups = deployed ? ["files"] : ["delays", "schedules", "files", "crashes", "alarms", "logs"];

const folder = mkdtempSync(join(tmpdir(), "verify-"));
const report = join(folder, "report.md");

let server: TimelyServer | undefined;
beforeAll(async () => {
  server = deployed ? undefined : await startTimelyServer();
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

test("npx offload verify checks what can be checked here, and leaves nothing behind", {
  timeout: 300_000,
}, async () => {
  const made = server ?? (await createKey(`verify-${randomUUID().slice(0, 8)}`, "operator"));
  const key = "token" in made ? made.token : "key-timely";
  const url = server?.url ?? process.env.OFFLOAD_URL ?? "";
  const written = { notes: "" };
  const ended = run(
    ["verify", "--url", url, "--key", key, "--yes", "--report", report, ...groups.flatMap((one) => ["--only", one])],
    {
      ...quietTerminal,
      note: (line) => {
        written.notes += `${line}\n`;
      },
    },
  );
  const time = { passes: server !== undefined };
  void ended.finally(() => {
    time.passes = false;
  });
  while (time.passes) {
    await server?.pass(5);
    await sleep(200);
  }
  const code = await ended;
  const text = readFileSync(report, "utf8");
  const verdicts = [...text.matchAll(/^\| (.*?) \|.*\| (ok|differs|not possible here) \|$/gm)];
  const found = Object.fromEntries(verdicts.map(([, name, verdict]) => [name, verdict]));
  const differing = Object.keys(found).filter((name) => found[name] === "differs");
  expect(code, `${written.notes}\n${text}`).toBe(differing.length === 0 ? 0 : 1);
  expect(found).toMatchObject({ "presigned PUT": "ok", "file of a task": "ok" });
  if (server === undefined) return;
  // Much of the server's time passes while a worker starts, so a task can be late there. None is early, and all complete.
  expect(differing.filter((name) => !name.startsWith("delay of"))).toEqual([]);
  expect(text.match(/\| started \d+ ms after its time \|/g)).toHaveLength(3);
  expect(found).toMatchObject({
    "a worker out of memory": "ok",
    "a worker out of time": "ok",
    "one-off schedule of a task": "not possible here",
    "an alarm, on and off": "not possible here",
    "saved queries": "not possible here",
  });
  const open = await Promise.all(["scheduled", "pending"].map((status) => server?.operator.list(`status=${status}`)));
  expect(open.flat()).toEqual([]);
  expect(text).not.toContain("key-timely");
});
