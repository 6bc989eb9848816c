import { describe, expect, test } from "vitest";
import { longestMs, roundsOf } from "../../console/src/pages/task-rounds.ts";
import type { TaskView } from "../../src/core/model/task-view.ts";
import type { AttemptView } from "../../src/core/pipeline/end/view.ts";

const second = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();

const task = (more: Partial<TaskView>) =>
  ({ created_at: second(0), updated_at: second(0), run_at: null, attempts: 0, waiting_for: null, ...more }) as TaskView;

const attempt = (round: number, number: number, from: number, to: number, outcome: AttemptView["outcome"]) =>
  ({
    ...{ round, number, outcome, started_at: second(from), finished_at: second(to) },
    ...{ duration_ms: (to - from) * 1000, error: null, error_type: null, error_kind: null, next_attempt_at: null },
  }) satisfies AttemptView;

const now = Date.parse(second(100));

/** Rounds as a reader sees them: number, outcome, wait and run in seconds. */
const shown = (view: TaskView, attempts: AttemptView[] = []) =>
  roundsOf(view, attempts, now).map(({ number, bars }) => [
    number,
    ...bars.map(({ number, outcome, waitMs, runMs }) => [number, outcome, waitMs / 1000, (runMs ?? Number.NaN) / 1000]),
  ]);

describe("the rounds of a task", () => {
  test("a task that waits for its first attempt has one to come", () => {
    expect(shown(task({ status: "pending" }))).toEqual([[1, [1, "waiting", 100, Number.NaN]]]);
  });

  test("the wait of a task for a later time begins at that time", () => {
    const view = task({ status: "processing", attempts: 1, run_at: second(60), started_at: second(70) });
    expect(shown(view)).toEqual([[1, [1, "running", 10, 30]]]);
  });

  test("waits stand between attempts, and the present one comes after them", () => {
    const ended = [attempt(1, 1, 2, 5, "retried"), attempt(1, 2, 35, 40, "timed_out")];
    const view = task({ status: "processing", attempts: 3, started_at: second(90) });
    expect(shown(view, ended)).toEqual([[1, [1, "retried", 2, 3], [2, "timed_out", 30, 5], [3, "running", 50, 10]]]);
    expect(longestMs(roundsOf(view, ended, now))).toBe(100_000);
  });

  test("a retried task starts a round whose wait is not that between the rounds", () => {
    const ended = [attempt(1, 1, 2, 5, "failed")];
    const view = task({ status: "pending", attempts: 0, updated_at: second(98) });
    expect(shown(view, ended)).toEqual([
      [1, [1, "failed", 2, 3]],
      [2, [1, "waiting", 2, Number.NaN]],
    ]);
    const running = task({ status: "processing", attempts: 1, updated_at: second(99), started_at: second(99) });
    expect(shown(running, ended)).toEqual([
      [1, [1, "failed", 2, 3]],
      [2, [1, "running", 0, 1]],
    ]);
  });

  test("a suspended attempt goes on, and an ended task has no attempt to come", () => {
    const waiting_for = { kind: "step", step: "charge", attempt: 2, until: second(200) } as const;
    const view = task({ status: "pending", attempts: 1, started_at: second(10), waiting_for });
    expect(shown(view)).toEqual([[1, [1, "waiting", 10, 90]]]);
    expect(shown(task({ status: "failed", attempts: 1 }), [attempt(1, 1, 2, 5, "failed")])).toEqual([
      [1, [1, "failed", 2, 3]],
    ]);
    expect(shown(task({ status: "cancelled" }))).toEqual([]);
  });
});
