import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, epoch, expectStatus, type Task } from "../support/http-client.ts";
import { startTimelyServer, type TimelyServer } from "../support/timely-server.ts";
import { operator } from "./callers.ts";
import { deployed } from "./command-line.ts";

interface Ran {
  began: string;
  ended: string;
}

/** A dead worker is noticed when its lease ends, after the type's time-out of 90 s × 1.5 at most, and its retry follows. */
const patienceMs = 400_000;

describe("strict order", { timeout: 2 * patienceMs }, () => {
  let server: TimelyServer | undefined;
  let client: Client;
  beforeAll(async () => {
    server = deployed ? undefined : await startTimelyServer();
    client = server?.operator ?? operator;
  });
  afterAll(() => server?.stop());

  const ended = (taskId: string): Promise<Task> =>
    server === undefined ? client.ended(taskId, { timeoutMs: patienceMs }) : server.ended(taskId);

  /** Submits tasks of a new key. The first one has its turn before the others come. */
  async function submitAll(first: object, ...others: object[]): Promise<string[]> {
    const key = randomUUID();
    const { task_id } = await client.submit("probe.strict", { key, ...first });
    await client.waitFor(task_id, ({ attempts }) => attempts > 0);
    const ids = [task_id];
    for (const one of others) {
      const { task_id: next } = await client.submit("probe.strict", { key, ...one });
      // On a slow machine the tasks before it may be over by now.
      await client.waitFor(next, ({ waiting_for, finished_at }) => waiting_for !== null || finished_at !== null);
      ids.push(next);
    }
    return ids;
  }

  async function expectInOrder(ids: readonly string[]): Promise<void> {
    const ran: Ran[] = [];
    for (const id of ids) ran.push((await ended(id)).result as Ran);
    for (const [index, { began }] of ran.entries())
      if (index > 0) expect(epoch(began)).toBeGreaterThanOrEqual(epoch(ran[index - 1]?.ended));
  }

  test("tasks wait for the one before them, which fails and is retried", async () => {
    const [first = "", second = "", third = ""] = await submitAll({ first: "fails" }, { ms: 200 }, {});
    await expectInOrder([first, second, third]);
    expect(await client.attempts(first)).toHaveLength(2);
  });

  test("tasks wait for the one before them, whose worker process is killed", async () => {
    const ids = await submitAll({ first: "exits" }, { ms: 200 }, {});
    await expectInOrder(ids);
    const [lost, again] = await client.attempts(ids[0] ?? "");
    expect(lost?.outcome).toBe("crashed");
    expect(again?.outcome).toBe("completed");
  });

  test("a dead letter holds its key until it is discarded, and the tasks behind it say so", async () => {
    const key = randomUUID();
    const { task_id: first } = await client.submit("probe.strict", { key, first: "fails" }, { max_attempts: 1 });
    expect(await ended(first)).toMatchObject({ status: "failed" });
    const { task_id: second } = await client.submit("probe.strict", { key });
    const { waiting_for } = await client.waitFor(second, (task) => task.waiting_for?.kind === "concurrency");
    expect(waiting_for).toEqual({ kind: "concurrency", order: "strict", place: 1, held_by: first });
    expectStatus(await client.post("/dead-letters/discard", { task_ids: [first] }), 202);
    expect(await ended(second)).toMatchObject({ status: "completed", attempts: 1 });
  });
});
