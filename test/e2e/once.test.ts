import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Task } from "../support/http-client.ts";
import { operator, stranger } from "./callers.ts";
import { noQueueAccess, queueAccess } from "./queue-access.ts";

const tier = "normal";
const options = { priority: tier };

/** An envelope as submit would send it. */
const envelopeOf = (task: Task, input: unknown) =>
  JSON.stringify({
    schema_version: "1.0",
    message_id: randomUUID(),
    task_id: task.task_id,
    type: task.type,
    tenant_id: operator.tenant,
    requested_by: task.requested_by,
    correlation_id: task.correlation_id,
    enqueued_at: new Date().toISOString(),
    max_attempts: task.max_attempts,
    input,
  });

describe.concurrent("once", () => {
  test("a side effect happens once over a failed attempt and its retry", async () => {
    const { task_id } = await operator.submit("probe.once", { key: randomUUID(), fail_first: true }, options);
    const task = await operator.ended(task_id, { timeoutMs: 90_000 });
    expect(task).toMatchObject({ status: "completed", attempts: 2, result: { count: 1 } });
    expect((await operator.attempts(task_id)).map(({ outcome }) => outcome)).toEqual(["retried", "completed"]);
  });

  test("a side effect happens once over two tasks with the same key", async () => {
    const input = { key: randomUUID(), fail_first: false };
    const tasks = await Promise.all([1, 2].map(() => operator.submit("probe.once", input, options)));
    for (const { task_id } of tasks) {
      const task = await operator.ended(task_id, { timeoutMs: 90_000 });
      expect(task).toMatchObject({ status: "completed", result: { count: 1 } });
    }
  });

  test("the same key of another tenant is another side effect", async () => {
    const input = { key: randomUUID(), fail_first: false };
    const mine = await operator.submit("probe.once", input, options);
    expect(await operator.ended(mine.task_id)).toMatchObject({ result: { count: 1 } });
    const theirs = await stranger.submit("probe.once", input, options);
    expect(await stranger.ended(theirs.task_id)).toMatchObject({ result: { count: 1 } });
  });

  test("further copies of its message in the queue change nothing", async (context) => {
    const queues = await queueAccess();
    if (queues === undefined) return context.skip(noQueueAccess);
    const input = { key: randomUUID(), fail_first: true };
    const { task_id } = await operator.submit("probe.once", input, options);
    const twin = envelopeOf(await operator.task(task_id), input);
    await Promise.all([1, 2, 3].map(() => queues.send(tier, twin, operator.tenant)));
    const task = await operator.ended(task_id, { timeoutMs: 90_000 });
    expect(task).toMatchObject({ status: "completed", attempts: 2, result: { count: 1 } });
  });

  test("a copy of its message that is sent after the end changes nothing", async (context) => {
    const queues = await queueAccess();
    if (queues === undefined) return context.skip(noQueueAccess);
    const input = { key: randomUUID(), fail_first: false };
    const { task_id } = await operator.submit("probe.once", input, options);
    const task = await operator.ended(task_id);
    expect(task).toMatchObject({ status: "completed", attempts: 1, result: { count: 1 } });
    await queues.send(tier, envelopeOf(task, input), operator.tenant);
    // Tasks sent after the twin have been through the queue: so has it, as far as anyone outside can tell.
    const later = await Promise.all([1, 2, 3, 4, 5].map((ms) => operator.submit("probe.sleep", { ms }, options)));
    for (const { task_id: id } of later) await operator.ended(id);
    expect(await operator.task(task_id)).toEqual(task);
    expect(await operator.attempts(task_id)).toHaveLength(1);
    const again = await operator.submit("probe.once", input, options);
    expect(await operator.ended(again.task_id)).toMatchObject({ result: { count: 1 } });
  });
});
