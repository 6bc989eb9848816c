import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { epoch } from "../support/http-client.ts";
import { operator, timeScale } from "./callers.ts";

// Crashing tasks keep to the tier `low`, where no other test counts attempts.
const priority = "low";
const waitMs = Math.max(1, 30 * 1.5 * timeScale) * 1000;
/** The type's time-out of 5 s × 1.5 + 30 s: by then a dead worker has been noticed. */
const noticedMs = 37_500;
/** The message of a crashed attempt may meet another crasher when it comes back; a busy machine takes its time, too. */
const patienceMs = 2 * noticedMs + waitMs + 150_000;

describe.concurrent("a handler that always crashes", { timeout: patienceMs + 15_000 }, () => {
  test.for([
    ["exit", 0],
    ["hang", 1],
    ["block", 2],
    ["memory", 3],
  ] as const)("a task that crashes by %s fails after exactly max_attempts", async ([how, turn]) => {
    await sleep(1000 * turn);
    const { task_id } = await operator.submit("probe.crash", { how }, { priority, max_attempts: 2 });
    const task = await operator.ended(task_id, { timeoutMs: patienceMs });
    expect(task).toMatchObject({ status: "failed", attempts: 2, max_attempts: 2, result: null });
    expect(["crashed", "timed_out"]).toContain(task.error_kind);
    const attempts = await operator.attempts(task_id);
    expect(attempts.map(({ number }) => number)).toEqual([1, 2]);
    for (const attempt of attempts) {
      expect(["crashed", "timed_out"]).toContain(attempt.outcome);
      expect(attempt.error_kind).toBe(attempt.outcome);
    }
    const [first, second] = attempts;
    expect(epoch(second?.started_at)).toBeGreaterThanOrEqual(epoch(first?.next_attempt_at));
    expect(epoch(first?.next_attempt_at)).toBeGreaterThan(epoch(first?.finished_at));
  });
});
