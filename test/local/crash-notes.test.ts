import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Attempt, Client, until } from "../support/http-client.ts";
import { startOwnServer } from "../support/local-server.ts";
import { releaseOf } from "../support/releases.ts";

/** Folder of the core, as seen from the folder of task types. */
const core = "../src/core";

/** A type whose handler ends its process in one of three ways, each in a function of its own. */
const deadly = (where: string) => `import * as z from "zod";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask } from "${core}/task/task.ts";

function leave() {
  process.exit(3);
}

function spin() {
  for (;;);
}

function hoard() {
  const kept: unknown[] = [];
  const pause = new Int32Array(new SharedArrayBuffer(4));
  // The watchdog's thread sees the heap grow, also on a busy machine.
  for (;;) {
    kept.push(new Array(1_000_000).fill(kept.length));
    Atomics.wait(pause, 0, 0, 25);
  }
}

export default defineTask({
  name: "deadly",
  description: "Ends its process.",
  input: z.object({ how: z.enum(["leave", "spin", "hoard", "wait"]) }),
  timeoutSeconds: 8,${where}
  handler: async ({ how }) => {
    await sleep(how === "wait" ? 1_500 : 300);
    ({ leave, spin, hoard, wait: () => {} })[how]();
    return null;
  },
});
`;

test.for([
  ["a function's worker", ""],
  ["a container worker", ' runsOn: "container",'],
] as const)(
  "in %s an endless loop, an exit and a full memory each have a text of their own, with the place",
  { timeout: 300_000 },
  async ([, where], context) => {
    using release = releaseOf("first");
    writeFileSync(join(release.folder, "tasks/deadly.ts"), deadly(where));
    const server = await startOwnServer(
      { OFFLOAD_KEYS: "key:acme:operator", OFFLOAD_CONTAINER_CONCURRENCY: "4" },
      release.folder,
    );
    context.onTestFinished(() => server.stop());
    const client = new Client(server.url, { token: "key", tenant: "acme", role: "operator" });
    const firstAttempt = async (how: string): Promise<Attempt> => {
      const { task_id } = await client.submit("deadly", { how }, { max_attempts: 1 });
      await until("the end of the task", async () =>
        (await client.task(task_id)).status === "failed" ? true : undefined,
      );
      const [attempt] = await client.attempts(task_id);
      if (attempt === undefined) throw new Error("no attempt");
      return attempt;
    };
    const left = await firstAttempt("leave");
    expect(left).toMatchObject({ outcome: "crashed", error_type: "ProcessExited" });
    expect(left.error).toMatch(/^attempt 1 called process\.exit\(3\), at tasks\/deadly\.ts:6:\d+$/);
    expect(left.stack).toMatch(/at leave \(tasks\/deadly\.ts:6/);
    const looped = await firstAttempt("spin");
    expect(looped).toMatchObject({ outcome: "crashed", error_type: "EventLoopBlocked" });
    expect(looped.error).toMatch(
      /^attempt 1 blocked the event loop until its process was ended, at tasks\/deadly\.ts:10:\d+$/,
    );
    // The heap of a local container worker is as large as Node makes it.
    if (where !== "") return;
    const filled = await firstAttempt("hoard");
    expect(filled).toMatchObject({ outcome: "crashed", error_type: "OutOfMemory" });
    expect(filled.error).toMatch(
      /^attempt 1 ran out of memory: its process used \d+ MB, and objects in it may use \d+ MB/,
    );
  },
);
