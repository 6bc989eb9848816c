import { describe, expect, test } from "vitest";
import { operator, timeScale } from "./callers.ts";

// Crashing tasks keep to the tier `low`, where no other test counts attempts.
const priority = "low";
const waitMs = Math.max(1, 30 * 1.5 * timeScale) * 1000;
const noticedMs = 37_500;
/** The crashers of other files may take down the same worker. */
const patienceMs = 2 * noticedMs + waitMs + 150_000;

describe("a crash in a batch", { timeout: patienceMs + 15_000 }, () => {
  test("nine good neighbours complete, each with at most one extra attempt", async () => {
    // `times: 0` never crashes, and has the short time-out of its type: lost attempts are noticed as soon as the crash.
    const good = () => operator.submit("probe.crash", { how: "exit", times: 0 }, { priority });
    const [crasher, ...neighbours] = await Promise.all([
      operator.submit("probe.crash", { how: "exit" }, { priority, max_attempts: 2 }),
      ...Array.from({ length: 9 }, good),
    ]);
    const options = { timeoutMs: patienceMs };
    const tasks = await Promise.all(neighbours.map(({ task_id }) => operator.ended(task_id, options)));
    for (const task of tasks) {
      expect(task.status).toBe("completed");
      expect(task.attempts).toBeLessThanOrEqual(2);
    }
    expect(await operator.ended(crasher.task_id, options)).toMatchObject({ status: "failed", attempts: 2 });
  });
});
