import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { operator, timeScale } from "./callers.ts";

// Crashing tasks keep to the tier `low`, where no other test counts attempts.
const priority = "low";
const waitMs = Math.max(1, 30 * 1.5 * timeScale) * 1000;
/** The type's time-out of 5 s × 1.5 + 30 s: by then a dead worker has been noticed. */
const noticedMs = 37_500;
/** The message of a crashed attempt may meet another crasher when it comes back, and then waits once more. */
const neighbourMs = 30_000;

describe.concurrent("a handler that always crashes", { timeout: 2 * noticedMs + waitMs + 75_000 }, () => {
  test.for([
    ["exit", 0],
    ["hang", 1],
    ["block", 2],
    ["memory", 3],
  ] as const)("a task that crashes by %s fails after exactly max_attempts", async ([how, turn]) => {
    await sleep(1000 * turn);
    const { task_id } = await operator.submit("probe.crash", { how }, { priority, max_attempts: 2 });
    const task = await operator.ended(task_id, { timeoutMs: 2 * noticedMs + waitMs + 60_000 });
    expect(task).toMatchObject({ status: "failed", attempts: 2, max_attempts: 2, result: null });
    expect(["crashed", "timed_out"]).toContain(task.error_kind);
    const attempts = await operator.attempts(task_id);
    expect(attempts.map(({ number }) => number)).toEqual([1, 2]);
    for (const attempt of attempts) {
      expect(["crashed", "timed_out"]).toContain(attempt.outcome);
      expect(attempt.error_kind).toBe(attempt.outcome);
      expect(attempt.duration_ms).toBeLessThanOrEqual(noticedMs + neighbourMs);
    }
  });
});
