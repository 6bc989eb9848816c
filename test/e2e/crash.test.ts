import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { operator, timeScale } from "./callers.ts";

// Crashing tasks keep to the tier `low`, where no other test counts attempts.
const priority = "low";
/** The longest wait before a second attempt, and the longest until a dead worker is noticed. */
const waitMs = Math.max(1, 30 * 1.5 * timeScale) * 1000;
const noticedMs = 37_500;
const patienceMs = 2 * noticedMs + waitMs + 100_000;

describe.concurrent("a handler that crashes once", { timeout: patienceMs + 15_000 }, () => {
  test.for([
    ["exit", 0],
    ["hang", 1],
    ["block", 2],
    ["memory", 3],
  ] as const)("a task that crashes by %s completes on its second attempt", async ([how, turn]) => {
    await sleep(1000 * turn);
    const { task_id } = await operator.submit("probe.crash", { how, times: 1 }, { priority });
    const task = await operator.ended(task_id, { timeoutMs: patienceMs });
    expect(task).toMatchObject({ status: "completed", attempts: 2, error: null, result: { attempt: 2 } });
    const [first, second, ...more] = await operator.attempts(task_id);
    expect(["crashed", "timed_out"]).toContain(first?.outcome);
    expect(first?.error_kind).toBe(first?.outcome);
    expect(second).toMatchObject({ number: 2, outcome: "completed" });
    expect(more).toEqual([]);
  });
});
