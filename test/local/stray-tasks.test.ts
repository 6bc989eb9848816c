import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Client, type Task } from "../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";
import {
  isWorker,
  leftPrograms,
  linesByTask,
  plannedStrays,
  strayCount,
  strayFaults,
} from "../support/stray-batches.ts";

const patienceMs = 7_200_000;
const patience = { timeout: 300_000 };

let server: OwnServer;
let client: Client;

/** What no server may leave behind. */
const workers = new Set<number>();

beforeAll(async () => {
  server = await startOwnServer({
    ...{ OFFLOAD_TASKS: "test/support/stray-tasks", OFFLOAD_KEYS: "key:acme:operator" },
    ...{ OFFLOAD_CONTAINER_CONCURRENCY: "30", OFFLOAD_VERBOSE: "1" },
  });
  client = new Client(server.url, { token: "key", tenant: "acme", role: "operator" });
});
afterAll(async () => {
  await server?.stop();
  // Another suite's programs of this kind end soon.
  await vi.waitFor(() => expect(leftPrograms()).toEqual([]), patience);
  await vi.waitFor(() => expect([...workers].filter(isWorker)).toEqual([]), patience);
});

/** Submits tasks in batches of ten. Returns their ids. */
async function submitAll(bodies: readonly unknown[]): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < bodies.length; at += 10) {
    const answer = await client.post("/tasks/batch", { tasks: bodies.slice(at, at + 10) });
    expect(answer.status).toBe(202);
    ids.push(...answer.json<{ tasks: { task_id: string }[] }>().tasks.map(({ task_id }) => task_id));
  }
  return ids;
}

const endedStatus = new Set(["completed", "failed", "cancelled", "expired"]);

/** Resolves with the tasks when each has ended. */
async function endOf(ids: readonly string[]): Promise<Task[]> {
  const ended: Task[] = [];
  for (const id of ids) ended.push(await client.ended(id, { timeoutMs: patienceMs }));
  expect(ended.every(({ status }) => endedStatus.has(status))).toBe(true);
  return ended;
}

const pidsOf = (tasks: readonly Task[]): number[] =>
  tasks.flatMap(({ result }) => (result as { pid: number } | null)?.pid ?? []);

describe.each([
  ["a function's worker", ""],
  ["a container worker", ".contained"],
])("%s", (_, where) => {
  test(
    `of ${strayCount} tasks, each tenth of which strays, each innocent one completes in its first attempt`,
    async () => {
      const planned = plannedStrays(strayCount, where);
      const ids = await submitAll(planned.map(({ body }) => body));
      const ended = await endOf(ids);
      for (const pid of pidsOf(ended)) workers.add(pid);
      // Late errors come after their task's end.
      const faultsNow = () => {
        const logged = linesByTask(server.output(), /task_id=([\w-]+)/);
        return ended.flatMap((task, index) =>
          strayFaults(planned[index]?.culprit, task.task_id, task, logged.get(task.task_id)),
        );
      };
      await expect.poll(faultsNow).toEqual([]);
      expect(server.output()).not.toMatch(/worker process died|process of the worker died/);
    },
    patienceMs,
  );

  test("after an exception that is not caught, its process takes nothing more, its innocents end there, and another one takes over", async () => {
    const innocent = { type: `stray.work${where}`, input: { ms: 4_000 } };
    const culprit = { type: `stray.work${where}`, input: { culprit: "timer" }, max_attempts: 1 };
    const ids = await submitAll([...Array.from({ length: 5 }, () => innocent), culprit]);
    const failed = await client.ended(ids.at(-1) ?? "");
    expect(failed).toMatchObject({ status: "failed", attempts: 1, error: expect.stringContaining("stray of") });
    const later = await submitAll(Array.from({ length: 20 }, () => ({ ...innocent, input: { ms: 1 } })));
    const beside = await endOf(ids.slice(0, -1));
    const after = await endOf(later);
    for (const task of [...beside, ...after]) expect(task).toMatchObject({ status: "completed", attempts: 1 });
    expect(pidsOf(after)).toHaveLength(20);
    expect(pidsOf(after).filter((pid) => pidsOf(beside).includes(pid))).toEqual([]);
    await expect.poll(() => pidsOf(beside).filter(isWorker)).toEqual([]);
  });
});
