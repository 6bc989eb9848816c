import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, epoch, type Task } from "../support/http-client.ts";
import { startTimelyServer, type TimelyServer } from "../support/timely-server.ts";
import { operator, timeScale } from "./callers.ts";
import { deployed } from "./command-line.ts";

// A dead worker is noticed when its lease ends. On a machine, the test lets that time pass; in a deployment, it waits.
const priority = "low";
/** The longest wait before a second attempt, and the longest until a dead worker is noticed: the type's time-out of 5 s × 1.5 + 30 s. */
const waitMs = Math.max(1, 30 * 1.5 * timeScale) * 1000;
const noticedMs = 37_500;
/** The message of a crashed attempt may meet another crasher when it comes back. */
const patienceMs = 2 * noticedMs + waitMs + 150_000;

const ways = ["exit", "hang", "block", "memory"] as const;

describe("handlers that crash", { timeout: patienceMs + 75_000 }, () => {
  let server: TimelyServer | undefined;
  let client: Client;
  beforeAll(async () => {
    server = deployed ? undefined : await startTimelyServer();
    client = server?.operator ?? operator;
  });
  afterAll(() => server?.stop());

  const ended = (taskId: string): Promise<Task> =>
    server === undefined ? client.ended(taskId, { timeoutMs: patienceMs }) : server.ended(taskId);

  test.for(ways)("a task that crashes once by %s completes on its second attempt", async (how) => {
    const { task_id } = await client.submit("probe.crash", { how, times: 1 }, { priority });
    expect(await ended(task_id)).toMatchObject({
      ...{ status: "completed", attempts: 2, error: null, result: { attempt: 2 } },
    });
    const [first, second, ...more] = await client.attempts(task_id);
    expect(["crashed", "timed_out"]).toContain(first?.outcome);
    expect(first?.error_kind).toBe(first?.outcome);
    expect(second).toMatchObject({ number: 2, outcome: "completed" });
    expect(more).toEqual([]);
  });

  test.for(ways)("a task that always crashes by %s fails after exactly max_attempts", async (how) => {
    const { task_id } = await client.submit("probe.crash", { how }, { priority, max_attempts: 2 });
    const task = await ended(task_id);
    expect(task).toMatchObject({ status: "failed", attempts: 2, max_attempts: 2, result: null });
    expect(["crashed", "timed_out"]).toContain(task.error_kind);
    const attempts = await client.attempts(task_id);
    expect(attempts.map(({ number }) => number)).toEqual([1, 2]);
    for (const attempt of attempts) {
      expect(["crashed", "timed_out"]).toContain(attempt.outcome);
      expect(attempt.error_kind).toBe(attempt.outcome);
    }
    const [first, second] = attempts;
    expect(epoch(second?.started_at)).toBeGreaterThanOrEqual(epoch(first?.next_attempt_at));
    expect(epoch(first?.next_attempt_at)).toBeGreaterThan(epoch(first?.finished_at));
  });

  test("nine good neighbours of a crash in a batch complete, each with at most one extra attempt", async () => {
    // `times: 0` never crashes, and has the short time-out of its type: lost attempts are noticed as soon as the crash.
    const good = () => client.submit("probe.crash", { how: "exit", times: 0 }, { priority });
    const [crasher, ...neighbours] = await Promise.all([
      client.submit("probe.crash", { how: "exit" }, { priority, max_attempts: 2 }),
      ...Array.from({ length: 9 }, good),
    ]);
    const tasks = await Promise.all(neighbours.map(({ task_id }) => ended(task_id)));
    for (const task of tasks) {
      expect(task.status).toBe("completed");
      // A busy machine may let one reach its short time-out.
      const lost = (await client.attempts(task.task_id)).filter(({ outcome }) => outcome === "crashed");
      expect(lost.length).toBeLessThanOrEqual(1);
    }
    expect(await ended(crasher.task_id)).toMatchObject({ status: "failed", attempts: 2 });
  });
});
