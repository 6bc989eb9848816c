import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { run } from "../../src/tools/cli/main.ts";
import { quietTerminal } from "../support/quiet-terminal.ts";
import { createKey } from "./command-line.ts";

const url = process.env.OFFLOAD_URL ?? "";

test("npx offload smoke finds the deployment in order, and leaves nothing behind", async () => {
  const { token, client } = await createKey(`smoke-${randomUUID().slice(0, 8)}`, "operator");
  const written = { out: "", notes: "" };
  const code = await run(["smoke", "--url", url, "--key", token, "--count", "2", "--timeout", "240", "--json"], {
    ...quietTerminal,
    out: (line) => {
      written.out += line;
    },
    note: (line) => {
      written.notes += line;
    },
    pause: (ms) => sleep(ms),
  });
  expect({ code, ...written }, written.out).toMatchObject({ code: 0, notes: "" });
  const { checks, stages } = JSON.parse(written.out);
  expect(checks.map(({ check }: { check: string }) => check)).toEqual([
    ...["health", "critical", "high", "normal", "low", "delayed", "retried", "failed", "cancelled"],
  ]);
  expect(stages.map(({ stage }: { stage: string }) => stage)).toEqual([
    ...["submit answered", "queue wait", "run", "end seen", "total"],
  ]);
  for (const { p50_ms, max_ms } of stages) expect(max_ms).toBeGreaterThanOrEqual(p50_ms);
  const open = await Promise.all(
    ["scheduled", "pending", "processing"].map((status) => client.list(`status=${status}`)),
  );
  expect(open.flat()).toEqual([]);
  expect(await client.all("/dead-letters", "dead_letters")).toEqual([]);
});
