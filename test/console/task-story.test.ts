import { describe, expect, test } from "vitest";
import type { Told } from "../../console/src/pages/task-line.ts";
import { roundsOf } from "../../console/src/pages/task-rounds.ts";
import { linesOf, roundText, timesOf } from "../../console/src/pages/task-story.ts";
import type { StepView } from "../../src/core/control/stored-parts.ts";
import type { TaskView } from "../../src/core/model/task-view.ts";
import type { AttemptView } from "../../src/core/pipeline/end/view.ts";

const startMs = Date.UTC(2026, 0, 1);
const second = (seconds: number): string => new Date(startMs + seconds * 1000).toISOString();

const task = (more: Partial<TaskView>) =>
  ({
    ...{ created_at: second(0), updated_at: second(0), run_at: null, attempts: 0, waiting_for: null, children: null },
    ...{ next_attempt_at: null, finished_at: null, started_at: null, progress: null, status: "pending", ...more },
  }) as TaskView;

const attempt = (
  number: number,
  from: number,
  to: number,
  outcome: AttemptView["outcome"],
  error: string | null = null,
) =>
  ({
    ...{ round: 1, number, outcome, error, started_at: second(from), finished_at: second(to) },
    ...{ duration_ms: (to - from) * 1000, error_type: null, error_kind: null, next_attempt_at: null },
  }) satisfies AttemptView;

const step = (more: Partial<StepView>) =>
  ({
    ...{ kind: "step", name: "a", order: 1, until: null, at: null, timed_out: false, attempt: null },
    ...{ result: null, result_bytes: null, error: null, ...more },
  }) satisfies StepView;

const child = (from: number, to: number | null) =>
  ({
    type: "page",
    status: to === null ? "processing" : "completed",
    started_at: second(from),
    finished_at: to === null ? null : second(to),
  }) as TaskView;

function told(view: TaskView, attempts: AttemptView[], atSeconds: number, more: Partial<Told> = {}): Told {
  const nowMs = startMs + atSeconds * 1000;
  const round = roundsOf(view, attempts, nowMs).at(-1) ?? { number: 1, startedAt: second(0), bars: [] };
  return { task: view, round, isLast: true, steps: [], children: [], tries: [], nowMs, ...more };
}

/** Lines as a reader sees them: name, word, text at the right; bars as seconds. */
const shown = (of: Told) =>
  linesOf(of, false).lines.map(({ name, about, took, marks }) => [
    ...[[name, about].filter(Boolean).join(" "), took],
    marks
      .map(
        ({ fromMs, toMs, isToCome }) =>
          [fromMs, toMs].map((ms) => (ms - startMs) / 1000).join("-") + (isToCome ? "…" : ""),
      )
      .join(" "),
  ]);

describe("the story of a task", () => {
  test("a retry: the wait for a worker, the attempt that failed, the wait before the next one, which is to come", () => {
    const view = task({ error: "no", attempts: 1, next_attempt_at: second(70) });
    expect(shown(told(view, [attempt(1, 1, 3, "retried", "no")], 30))).toEqual([
      ["waited for a worker", "1.0 s", "0-1"],
      ["Attempt 1 failed", "2.0 s", "1-3"],
      ["waits before attempt 2", "27 s of 1 min 7 s", "3-30 30-70…"],
    ]);
  });

  test("a task that is to start later waits for its start, not for a worker", () => {
    const view = task({ status: "scheduled", run_at: second(3_600) });
    expect(shown(told(view, [], 60))).toEqual([["waits for its start", "1 min of 1 h", "0-60 60-3600…"]]);
    const ran = task({ status: "completed", run_at: second(60), finished_at: second(62) });
    expect(shown(told(ran, [attempt(1, 61, 62, "completed")], 99)).map(([name]) => name)).toEqual([
      ...["waited for its start", "waited for a worker", "Attempt 1"],
    ]);
  });

  test("a parent's end is its closing, not a second attempt, and its children have one line", () => {
    const children = { total: 2, open: 0, completed: 2, failed: 0, cancelled: 0, expired: 0, sealed: true };
    const view = task({ status: "completed", attempts: 2, children, finished_at: second(12) });
    const of = told(view, [attempt(1, 0, 2, "completed"), attempt(2, 10, 12, "completed")], 50, {
      children: [child(3, 6), child(4, 9)],
    });
    expect(shown(of)).toEqual([
      ["Attempt 1 handler returned", "2.0 s", "0-2"],
      ["waited for its children", "8.0 s", "2-10"],
      ["Closing", "2.0 s", "10-12"],
      ["2 children page", "6.0 s", "3-6 4-9"],
    ]);
  });

  test("a sleep and a signal cut their attempt; the signal ends when it came, not when it would have timed out", () => {
    const steps = [
      step({ name: "load" }),
      step({ kind: "sleep", name: "nap", order: 2, until: second(600) }),
      step({ kind: "wait", name: "approved", order: 3, until: second(90_000) }),
      step({ kind: "signal", name: "approved", order: null, at: second(700) }),
    ];
    const view = task({ status: "completed", finished_at: second(705), attempts: 1 });
    const of = told(view, [attempt(1, 0, 705, "completed")], 9_000, { steps });
    expect(shown(of)).toEqual([
      ["Attempt 1", "11 min 45 s", "0-705 0-0 700-705"],
      ["step load done", "", ""],
      ["sleep nap", "10 min", "0-600"],
      ["signal approved came", "1 min 40 s", "600-700"],
    ]);
    expect(timesOf(view, linesOf(of, false).lines, of.nowMs)).toEqual({ wholeMs: 705_000, ranMs: 5_000 });
  });

  test("a try of a step that failed says why, and an awaited child that it ended", () => {
    const steps = [
      step({ kind: "try", name: "mail #1", error: "no route" }),
      step({ name: "mail", order: null }),
      step({ kind: "run", name: "invoice #1", order: 2 }),
      step({ kind: "run", name: "invoice #2", order: null, error: "no paper" }),
    ];
    const view = task({ status: "completed", finished_at: second(9), attempts: 1 });
    const lines = shown(told(view, [attempt(1, 0, 9, "completed")], 10, { steps }));
    expect(lines.slice(1).map(([name]) => name)).toEqual([
      "step mail #1 failed: no route",
      "step mail done",
      "child invoice done",
      "child invoice #2 failed: no paper",
    ]);
  });

  test("a task that sleeps now has the rest of its sleep to come", () => {
    const waiting_for = { kind: "sleep", until: second(1_000) } as const;
    const view = task({ attempts: 1, started_at: second(1), waiting_for, updated_at: second(2) });
    const of = told(view, [], 101, { steps: [step({ kind: "sleep", name: "nap", until: second(1_000) })] });
    expect(shown(of)).toEqual([
      ["waited for a worker", "1.0 s", "0-1"],
      ["Attempt 1 waits", "1 min 40 s", "1-101 1-1"],
      ["sleep nap until then", "1 min 40 s of 16 min 39 s", "1-101 101-1000…"],
    ]);
  });

  test("a wait that was cut off by the end of its attempt ends with it", () => {
    const steps = [step({ kind: "wait", name: "approved", until: second(90_000) })];
    const view = task({ status: "cancelled", finished_at: second(50), attempts: 1 });
    expect(shown(told(view, [attempt(1, 0, 50, "cancelled")], 60, { steps })).at(-1)).toEqual([
      ...["signal approved", "50 s", "0-50"],
    ]);
  });

  test("the webhook's tries come last, with the last answer", () => {
    const one = (number: number, status: number | null) => ({
      ...{ webhook_id: "w", number, at: second(5 + number), status, error: status === null ? "refused" : null },
      duration_ms: 40,
    });
    const view = task({ status: "completed", finished_at: second(2), attempts: 1 });
    const lines = shown(told(view, [attempt(1, 0, 2, "completed")], 60, { tries: [one(1, 503), one(2, 200)] }));
    expect(lines.at(-1)?.slice(0, 2)).toEqual(["Webhook 200 at try 2", "40 ms"]);
  });

  test("of very many attempts the newest are told at first, and all when asked; an earlier round is one line", () => {
    const many = Array.from({ length: 100 }, (_, index) => attempt(index + 1, index, index + 1, "retried", "no"));
    const of = told(task({ status: "failed", finished_at: second(100) }), many, 200);
    expect(linesOf(of, false)).toMatchObject({ hidden: 60 });
    expect(linesOf(of, true).lines).toHaveLength(100);
    expect(roundText(of.round)).toBe("100 attempts failed");
  });
});
