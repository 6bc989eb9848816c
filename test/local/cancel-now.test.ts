import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Client, until } from "../support/http-client.ts";
import { startOwnServer } from "../support/local-server.ts";
import { releaseOf } from "../support/releases.ts";

/** Folder of the core, as seen from the folder of task types. */
const core = "../src/core";

const head = `import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { defineTask } from "${core}/task/task.ts";
`;

/** Its handler writes a mark five times a second, and never looks at its signal. */
const deaf = (where: string) => `${head}
export default defineTask({
  name: "deaf",
  description: "Calls for ever.",
  input: z.object({ file: z.string() }),
  timeoutSeconds: 600,${where}
  handler: async ({ file }) => {
    process.on("SIGTERM", () => {});
    for (;;) {
      appendFileSync(file, Date.now() + "\\n");
      await sleep(200);
    }
  },
});
`;

/** Its handler takes a minute, and returns at once when it starts again. */
const innocent = (where: string) => `${head}
export default defineTask({
  name: "innocent",
  description: "Takes some time.",
  input: z.null(),
  timeoutSeconds: 600,${where}
  handler: async (_, task) => {
    await sleep(task.attemptOverall === 1 ? 60_000 : 10);
    return { attempt: task.attempt };
  },
});
`;

test.for([
  ["a function's worker", ""],
  ["a container worker", ' runsOn: "container",'],
] as const)(
  "in %s a cancel now ends a handler that ignores its signal, and its neighbours run elsewhere as their first attempt",
  { timeout: 300_000 },
  async ([, where], context) => {
    using release = releaseOf("first");
    writeFileSync(join(release.folder, "tasks/deaf.ts"), deaf(where));
    writeFileSync(join(release.folder, "tasks/innocent.ts"), innocent(where));
    const server = await startOwnServer(
      { OFFLOAD_KEYS: "key:acme:operator", OFFLOAD_CONTAINER_CONCURRENCY: "10" },
      release.folder,
    );
    context.onTestFinished(() => server.stop());
    const client = new Client(server.url, { token: "key", tenant: "acme", role: "operator" });
    const file = join(release.folder, "marks");
    const entries = Array.from({ length: 9 }, () => ({ type: "innocent", input: null }));
    const answer = await client.post("/tasks/batch", { tasks: [{ type: "deaf", input: { file } }, ...entries] });
    const { tasks } = answer.json<{ tasks: { task_id: string }[] }>();
    const [harmful = "", ...innocents] = tasks.map(({ task_id }) => task_id);
    await until("the start of all", async () => {
      const all = await Promise.all([harmful, ...innocents].map((id) => client.task(id)));
      return all.every(({ status }) => status === "processing") ? true : undefined;
    });
    const askedAt = Date.now();
    await client.post(`/tasks/${harmful}/cancel`, { now: true });
    await until("the end of the task", async () =>
      (await client.task(harmful)).status === "cancelled" ? true : undefined,
    );
    for (const id of innocents) {
      const done = await until("the end of a neighbour", async () => {
        const task = await client.task(id);
        return task.status === "completed" ? task : undefined;
      });
      expect(done).toMatchObject({ attempts: 1, result: { attempt: 1 } });
    }
    // The type's time-out is ten minutes. `test/core/work/cancel-now.test.ts` has the exact time.
    expect(Math.max(...readFileSync(file, "utf8").trim().split("\n").map(Number)) - askedAt).toBeLessThan(120_000);
  },
);
