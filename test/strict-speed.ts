import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Client, expectStatus, type Task } from "./support/http-client.ts";
import { startOwnServer } from "./support/local-server.ts";

/*
 * Tasks a second of strict order on a local server, of one key and of many, beside the same tasks without an order: handlers that do nothing, submitted in
 * batches, from the first start to the last end.
 *
 *     npm run test:strict-speed -- --keys 10000
 */

const { values } = parseArgs({
  options: { keys: { type: "string", default: "10000" }, tasks: { type: "string", default: "300" } },
});
const [keys, tasks] = [Number(values.keys), Number(values.tasks)];
const server = await startOwnServer({ OFFLOAD_TASKS: "test/strict-speed/tasks" });
const client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });

/** Submits the tasks and waits until all have ended. Returns how many ended in a second. */
async function perSecond(type: string, count: number, keyOf: (number: number) => string): Promise<number> {
  const startedMs = Date.now();
  for (let from = 0; from < count; from += 500) {
    const some = Array.from({ length: Math.min(500, count - from) }, (_, index) => ({
      ...{ type, input: { key: keyOf(from + index) } },
    }));
    expectStatus(await client.post("/tasks/batch", { tasks: some }), 202);
  }
  for (;;) {
    const open = await client.get(`/tasks?type=${type}&status=pending&limit=1`);
    const running = await client.get(`/tasks?type=${type}&status=processing&limit=1`);
    const isOver = [open, running].every(
      (list) => expectStatus(list, 200).json<{ tasks: Task[] }>().tasks.length === 0,
    );
    if (isOver) return (count * 1_000) / (Date.now() - startedMs);
    await sleep(200);
  }
}

try {
  // The first tasks wait for a worker process.
  await perSecond("speed.free", 20, String);
  const rows: [string, string, number, (number: number) => string][] = [
    ["one key, strict", "speed.strict", tasks, () => "k"],
    ["the same without an order", "speed.free", tasks, () => "k"],
    [`${keys} keys, strict`, "speed.strict", keys, String],
    ["the same without an order", "speed.free", keys, String],
  ];
  for (const [name, type, count, keyOf] of rows)
    console.log(`${name}: ${count} tasks, ${(await perSecond(type, count, keyOf)).toFixed(1)} a second`);
} finally {
  await server.stop();
}
