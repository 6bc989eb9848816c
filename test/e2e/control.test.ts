import { describe, expect, test } from "vitest";
import { epoch, expectProblem, expectStatus, type Task, until } from "../support/http-client.ts";
import { admin, operator, timeScale } from "./callers.ts";

const cancel = (taskId: string) => operator.post(`/tasks/${taskId}/cancel`);
const retry = (taskId: string) => operator.post(`/tasks/${taskId}/retry`);
const extend = (taskId: string, seconds: unknown) =>
  operator.post(`/tasks/${taskId}/extend`, { retention_seconds: seconds });

describe.concurrent("cancel", () => {
  test("a scheduled task that is cancelled ends immediately", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 }, { delay_seconds: 3 });
    const answer = expectStatus(await cancel(task_id), 200);
    expect(answer.json()).toMatchObject({ task_id, status: "cancelled", attempts: 0, result: null });
    const after = await operator.submit("probe.echo", { value: 1 }, { delay_seconds: 4 });
    await operator.ended(after.task_id);
    expect(await operator.task(task_id)).toMatchObject({ status: "cancelled", attempts: 0, started_at: null });
    expect(await operator.attempts(task_id)).toEqual([]);
  });

  test("a task that is cancelled between two attempts ends immediately", async () => {
    const input = { kind: "rate_limited", retry_after_seconds: 600 };
    const { task_id } = await operator.submit("probe.fail", input);
    await operator.waitFor(task_id, ({ status, attempts }) => status === "pending" && attempts === 1);
    const answer = expectStatus(await cancel(task_id), 200);
    expect(answer.json()).toMatchObject({ status: "cancelled", attempts: 1, next_attempt_at: null });
    expect(await operator.attempts(task_id)).toHaveLength(1);
  });

  test("a task that is thrown back counts as retrying in its tier, until it ends", async () => {
    const input = { kind: "rate_limited", retry_after_seconds: 600 };
    const { task_id } = await operator.submit("probe.fail", input, { priority: "low" });
    await operator.waitFor(task_id, ({ status, attempts }) => status === "pending" && attempts === 1);
    const counted = async () =>
      expectStatus(await admin.get("/queues"), 200).json<{ queues: { low: { retrying: number } } }>().queues.low
        .retrying;
    await until("the count of retries", async () => ((await counted()) > 0 ? true : undefined));
    const { created_at } = await operator.task(task_id);
    const list = await operator.get(`/tasks?status=pending&retrying=true&created_after=${created_at}`);
    expect(list.json<{ tasks: Task[] }>().tasks.map((task) => task.task_id)).toContain(task_id);
    expectStatus(await cancel(task_id), 200);
  });

  test("a handler that listens to its signal stops soon, and there is no further attempt", async () => {
    const { task_id } = await operator.submit("probe.sleep", { ms: 45_000, heed_abort: true });
    await operator.waitFor(task_id, ({ status }) => status === "processing");
    expectStatus(await cancel(task_id), 202);
    const task = await operator.ended(task_id, { timeoutMs: 240_000 });
    expect(task).toMatchObject({ status: "cancelled", attempts: 1, result: null, retained_until: expect.any(String) });
    const attempts = await operator.attempts(task_id);
    expect(attempts).toHaveLength(1);
    expect(attempts[0]).toMatchObject({ outcome: "cancelled", next_attempt_at: null });
  });

  test("the result of a handler that ignores its signal is discarded", async () => {
    const { task_id } = await operator.submit("probe.sleep", { ms: 15_000, heed_abort: false });
    await operator.waitFor(task_id, ({ status }) => status === "processing");
    expectStatus(await cancel(task_id), 202);
    const task = await operator.ended(task_id, { timeoutMs: 240_000 });
    expect(task).toMatchObject({ status: "cancelled", attempts: 1, result: null, outcome: null });
  });

  test("a task that has ended cannot be cancelled", async () => {
    const done = await operator.submit("probe.echo", { value: 1 });
    const failed = await operator.submit("probe.fail", { kind: "permanent" });
    const cancelled = await operator.submit("probe.echo", { value: 1 }, { delay_seconds: 600 });
    await cancel(cancelled.task_id);
    for (const { task_id } of [done, failed, cancelled]) {
      const before = await operator.ended(task_id);
      expectProblem(await cancel(task_id), 409, "conflict");
      expect(await operator.task(task_id)).toEqual(before);
    }
  });
});

describe.concurrent("retry", () => {
  test("a failed task starts a new round and keeps its history", async () => {
    const { task_id } = await operator.submit("probe.fail", { kind: "permanent", times: 1 });
    const failed = await operator.ended(task_id);
    expect(failed).toMatchObject({ status: "failed", attempts: 1 });
    expectStatus(await retry(task_id), 202);
    const task = await operator.waitFor(task_id, ({ status }) => status === "completed");
    expect(task).toMatchObject({ attempts: 1, error: null, error_type: null, error_kind: null });
    expect(await operator.attempts(task_id)).toMatchObject([
      { round: 1, number: 1, outcome: "failed", error_kind: "permanent", error: failed.error },
      { round: 2, number: 1, outcome: "completed" },
    ]);
    const query = `type=probe.fail&failed_after=${encodeURIComponent(failed.created_at)}&limit=100`;
    const letters = await operator.all<{ task_id: string }>(`/dead-letters?${query}`, "dead_letters");
    expect(letters.map((letter) => letter.task_id)).not.toContain(task_id);
  });

  test("a new round has all its attempts", async ({ skip }) => {
    skip(timeScale > 0.1, `waits between attempts: needs OFFLOAD_TIME_SCALE of at most 0.1, has ${timeScale}`);
    const { task_id } = await operator.submit("probe.fail", { kind: "transient" }, { max_attempts: 2 });
    await operator.ended(task_id);
    expectStatus(await retry(task_id), 202);
    const attempts = await until("four attempts", async () => {
      const found = await operator.attempts(task_id);
      return found.length >= 4 ? found : undefined;
    });
    expect(attempts.map(({ round, number }) => [round, number])).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
      [2, 2],
    ]);
    expect(await operator.ended(task_id)).toMatchObject({ status: "failed", attempts: 2 });
  });

  test("only a failed task can be retried", async () => {
    const done = await operator.submit("probe.echo", { value: 1 });
    await operator.ended(done.task_id);
    const scheduled = await operator.submit("probe.echo", { value: 1 }, { delay_seconds: 600 });
    const running = await operator.submit("probe.sleep", { ms: 4000 });
    await operator.waitFor(running.task_id, ({ status }) => status === "processing");
    for (const { task_id } of [done, scheduled, running]) expectProblem(await retry(task_id), 409, "conflict");
    await cancel(scheduled.task_id);
    expectProblem(await retry(scheduled.task_id), 409, "conflict");
    expect(await operator.ended(running.task_id)).toMatchObject({ status: "completed", attempts: 1 });
  });
});

describe.concurrent("extend", () => {
  test("an extension counts from now, and never shortens the retention", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 }, { retention_seconds: 600 });
    const before = await operator.ended(task_id);
    const answer = expectStatus(await extend(task_id, 86_400), 200);
    const after = answer.json<Task>();
    expect(after).toMatchObject({ task_id, status: "completed", result: { value: 1 } });
    const countedFrom = epoch(after.retained_until) - 86_400_000;
    expect(countedFrom).toBeGreaterThanOrEqual(epoch(before.finished_at));
    expect(countedFrom).toBeLessThanOrEqual(epoch(after.updated_at));
    expectStatus(await extend(task_id, 60), 200);
    expect((await operator.task(task_id)).retained_until).toBe(after.retained_until);
  });

  test.for([59, 2_592_001, 1.5, "600", null, undefined])("%s seconds are refused", async (seconds) => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 });
    const { retained_until } = await operator.ended(task_id);
    expectProblem(await extend(task_id, seconds), 422, "invalid_input");
    expect((await operator.task(task_id)).retained_until).toBe(retained_until);
  });
});
