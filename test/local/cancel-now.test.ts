import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Client, until } from "../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";
import { projectWith } from "../support/project.ts";

const head = `import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { defineTask } from "offload";
`;

/** Its handler writes a mark five times a second, and never looks at its signal. */
const deaf = (name: string, where: string) => `${head}
export default defineTask({
  name: "${name}",
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
const innocent = (name: string, where: string) => `${head}
export default defineTask({
  name: "${name}",
  description: "Takes some time.",
  input: z.null(),
  timeoutSeconds: 600,${where}
  handler: async (_, task) => {
    await sleep(task.attemptOverall === 1 ? 60_000 : 10);
    return { attempt: task.attempt };
  },
});
`;

let project: ReturnType<typeof projectWith>;
let server: OwnServer;
let client: Client;

beforeAll(async () => {
  const contained = ' runsOn: "container",';
  project = projectWith({
    deaf: deaf("deaf", ""),
    innocent: innocent("innocent", ""),
    "deaf.contained": deaf("deaf.contained", contained),
    "innocent.contained": innocent("innocent.contained", contained),
  });
  server = await startOwnServer({ OFFLOAD_CONTAINER_CONCURRENCY: "10" }, project.folder);
  client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
});
afterAll(async () => {
  await server?.stop();
  project[Symbol.dispose]();
});

test.for([
  ["a function's worker", ""],
  ["a container worker", ".contained"],
] as const)(
  "in %s a cancel now ends a handler that ignores its signal, and its neighbours run elsewhere as their first attempt",
  async ([, where]) => {
    const file = join(project.folder, `marks${where}`);
    const entries = Array.from({ length: 9 }, () => ({ type: `innocent${where}`, input: null }));
    const answer = await client.post("/tasks/batch", {
      tasks: [{ type: `deaf${where}`, input: { file } }, ...entries],
    });
    const { tasks } = answer.json<{ tasks: { task_id: string }[] }>();
    const [harmful = "", ...innocents] = tasks.map(({ task_id }) => task_id);
    await until("the start of all", async () => {
      const all = await Promise.all([harmful, ...innocents].map((id) => client.task(id)));
      return all.every(({ status }) => status === "processing") ? true : undefined;
    });
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
    // Its process has ended, as it writes no more. The type's time-out is ten minutes; `test/core/pipeline/work/cancel-now.test.ts` has the exact time.
    await expect
      .poll(async () => {
        const { size } = statSync(file);
        await sleep(1_000);
        return statSync(file).size - size;
      })
      .toBe(0);
  },
);
