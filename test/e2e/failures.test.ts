import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type Attempt, epoch, type Task, until } from "../support/http-client.ts";
import { operator, timeScale } from "./callers.ts";

const tooLong = `retry waits of minutes: needs a server with OFFLOAD_TIME_SCALE of at most 0.02, has ${timeScale}`;
const scaledDown = timeScale <= 0.02;

/** The common waits before attempts 2 to 5, in seconds. */
const waits = [30, 120, 480, 1800];
const least = (seconds: number) => Math.max(1, Math.floor(seconds * timeScale));
const most = (seconds: number) => Math.max(1, Math.ceil(seconds * 1.5 * timeScale));

/** Checks a whole round of that many attempts. Returns the wait after each attempt but the last, in seconds. */
function waitsOf(attempts: Attempt[], kind: string, count: number): number[] {
  expect(attempts.map(({ number }) => number)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  return attempts.slice(0, -1).map((attempt, index) => {
    expect(attempt).toMatchObject({ round: 1, outcome: "retried", error_kind: kind });
    expect(epoch(attempts[index + 1]?.started_at)).toBeGreaterThanOrEqual(epoch(attempt.next_attempt_at));
    return (epoch(attempt.next_attempt_at) - epoch(attempt.finished_at)) / 1000;
  });
}

async function fail(input: Record<string, unknown>, options = {}, timeoutMs = 240_000): Promise<[Task, Attempt[]]> {
  const { task_id } = await operator.submit("probe.fail", input, options);
  const task = await operator.ended(task_id, { timeoutMs });
  return [task, await operator.attempts(task_id)];
}

/** The task's entry among the dead letters. */
async function deadLetter({ task_id, created_at, type }: Task) {
  const query = `type=${type}&failed_after=${encodeURIComponent(created_at)}&limit=100`;
  const letters = await operator.all<{ task_id: string }>(`/dead-letters?${query}`, "dead_letters");
  return letters.filter((letter) => letter.task_id === task_id);
}

describe.concurrent("failures", () => {
  test("operators see where an error was thrown, in its attempts and in its dead letter", async () => {
    const [task, attempts] = await fail({ kind: "permanent", message: "the account was closed" });
    const place = /^PermanentError: the account was closed\n(.*\n)* {4}at handler \(tasks\/probe\.fail\.ts:\d+:\d+\)$/;
    expect(attempts).toEqual([expect.objectContaining({ stack: expect.stringMatching(place) })]);
    expect(await deadLetter(task)).toEqual([expect.objectContaining({ stack: attempts[0]?.stack })]);
  });

  test("a transient failure gets five attempts, with the common waits between them", async ({ skip }) => {
    skip(!scaledDown, tooLong);
    const [task, attempts] = await fail({ kind: "transient", message: "try again" });
    expect(task).toMatchObject({ status: "failed", attempts: 5, max_attempts: 5, error_kind: "transient" });
    expect(attempts.at(-1)).toMatchObject({ outcome: "failed", error_kind: "transient", next_attempt_at: null });
    for (const [index, wait] of waitsOf(attempts, "transient", 5).entries()) {
      expect(wait).toBeGreaterThanOrEqual(least(waits[index] ?? 0));
      expect(wait).toBeLessThanOrEqual(most(waits[index] ?? 0) + 1);
    }
  });

  test("rate_limited without a time waits as the type says", async ({ skip }) => {
    skip(!scaledDown, tooLong);
    const [task, attempts] = await fail({ kind: "rate_limited" }, { max_attempts: 3 });
    expect(task).toMatchObject({ status: "failed", attempts: 3, error_kind: "rate_limited" });
    for (const [index, wait] of waitsOf(attempts, "rate_limited", 3).entries()) {
      expect(wait).toBeGreaterThanOrEqual(least(waits[index] ?? 0));
      expect(wait).toBeLessThanOrEqual(most(waits[index] ?? 0) + 1);
    }
  });

  test("rate_limited with retry_after_seconds never waits less, whatever the time scale", async ({ skip }) => {
    skip(!scaledDown, tooLong);
    const [task, attempts] = await fail({ kind: "rate_limited", times: 1, retry_after_seconds: 20 });
    expect(task).toMatchObject({ status: "completed", attempts: 2 });
    expect(attempts.map(({ outcome }) => outcome)).toEqual(["retried", "completed"]);
    expect(epoch(attempts[1]?.started_at) - epoch(attempts[0]?.finished_at)).toBeGreaterThanOrEqual(20_000);
  });

  test("a conflict gets at most three retries, with short waits", async () => {
    const [task, attempts] = await fail({ kind: "conflict" }, { max_attempts: 10 });
    expect(task).toMatchObject({ status: "failed", attempts: 4, error_kind: "conflict" });
    expect(attempts.at(-1)).toMatchObject({ outcome: "failed", error_kind: "conflict" });
    for (const wait of waitsOf(attempts, "conflict", 4)) {
      expect(wait).toBeGreaterThanOrEqual(1);
      expect(wait).toBeLessThanOrEqual(30);
    }
  });

  test("unavailable waits at least a minute", async ({ skip }) => {
    skip(!scaledDown, tooLong);
    const [task, attempts] = await fail({ kind: "unavailable" }, { max_attempts: 3 });
    expect(task).toMatchObject({ status: "failed", attempts: 3, error_kind: "unavailable" });
    for (const wait of waitsOf(attempts, "unavailable", 3)) expect(wait).toBeGreaterThanOrEqual(least(60));
  });

  test.for(["crashed", "timed_out"])(
    "an attempt that %s counts, and the common wait follows",
    async (kind, { skip }) => {
      skip(!scaledDown, tooLong);
      const [task, attempts] = await fail({ kind }, { max_attempts: 2 });
      expect(task).toMatchObject({ status: "failed", attempts: 2, error_kind: kind });
      expect(attempts.map(({ error_kind }) => error_kind)).toEqual([kind, kind]);
      expect(epoch(attempts[1]?.started_at)).toBeGreaterThanOrEqual(epoch(attempts[0]?.next_attempt_at));
    },
  );

  test.for(["not_found", "validation", "permanent", "business_rule"])(
    "a failure of kind %s is a dead letter immediately",
    async (kind) => {
      const message = `reason ${randomUUID()}`;
      const [task, attempts] = await fail({ kind, message });
      expect(task).toMatchObject({
        status: "failed",
        attempts: 1,
        error_kind: kind,
        next_attempt_at: null,
        result: null,
      });
      expect(task.error).toContain(message);
      expect(attempts).toHaveLength(1);
      expect(attempts[0]).toMatchObject({ outcome: "failed", error_kind: kind, next_attempt_at: null });
      expect(attempts[0]?.error).toBe(task.error);
      const letters = await until("the dead letter", async () => {
        const found = await deadLetter(task);
        return found.length > 0 ? found : undefined;
      });
      expect(letters).toMatchObject([{ error_kind: kind, needs_review: kind === "business_rule", attempts: 1 }]);
    },
  );

  test("a task completes when its failure passes, and the history keeps the failure", async ({ skip }) => {
    skip(!scaledDown, tooLong);
    const [task, attempts] = await fail({ kind: "transient", times: 2 });
    expect(task).toMatchObject({ status: "completed", attempts: 3, error: null, error_kind: null });
    expect(task.result).toEqual({ attempt: 3 });
    expect(attempts.map(({ outcome }) => outcome)).toEqual(["retried", "retried", "completed"]);
    expect(await deadLetter(task)).toEqual([]);
  });

  test("max_attempts of the submit wins over that of the type", async () => {
    const [task, attempts] = await fail({ kind: "transient" }, { max_attempts: 1 });
    expect(task).toMatchObject({ status: "failed", attempts: 1, max_attempts: 1 });
    expect(attempts.map(({ outcome }) => outcome)).toEqual(["failed"]);
  });
});
