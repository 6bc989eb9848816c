import type { TaskView } from "../../../src/core/model/task-view.ts";
import type { AttemptView } from "../../../src/core/pipeline/end/view.ts";

/** An attempt in its round, with the wait before it. Times are milliseconds. */
export interface Bar {
  number: number;
  /** From the start of the round to the begin of the wait. */
  fromMs: number;
  waitMs: number;
  /** Undefined: the attempt has not started. */
  runMs: number | undefined;
  startedAt: string | undefined;
  /** Outcome of an ended attempt; `running`, `waiting` of the present one. */
  outcome: string;
  /** Undefined: it has not ended. */
  attempt: AttemptView | undefined;
}

export interface Round {
  number: number;
  startedAt: string;
  bars: Bar[];
}

/** Rounds of a task with all attempts that have ended, and the present one. @param nowMs End of what has not ended */
export function roundsOf(task: TaskView, attempts: readonly AttemptView[], nowMs: number): Round[] {
  const byRound = [...Map.groupBy(attempts, ({ round }) => round)].sort(([one], [other]) => one - other);
  const rounds = byRound.map(([number, own], index) => {
    const first = own[0]?.started_at ?? task.created_at;
    // Later rounds begin with a retry, whose time the answers do not have.
    return ended(number, index === 0 ? firstDue(task) : first, own);
  });
  const last = rounds.at(-1);
  const present = presentOf(task, attempts, nowMs);
  if (present === undefined) return rounds;
  // Attempts are counted from 1 in each round.
  if (last !== undefined && present.number > 1) last.bars.push(barIn(last, present));
  else {
    const number = (last?.number ?? 0) + 1;
    const startedAt = last === undefined ? firstDue(task) : task.updated_at;
    const round = { number, startedAt: earlier(startedAt, present.startedAt), bars: [] };
    rounds.push({ ...round, bars: [barIn(round, present)] });
  }
  return rounds;
}

const isOpen = ({ status }: TaskView): boolean => status === "processing" || status === "pending";

const earlier = (one: string, other: string | undefined): string => (other !== undefined && other < one ? other : one);

/** The time from which on the first attempt could start. */
const firstDue = ({ created_at, run_at }: TaskView): string =>
  run_at !== null && run_at > created_at ? run_at : created_at;

const between = (from: string, to: string): number => Math.max(0, Date.parse(to) - Date.parse(from));

function ended(number: number, startedAt: string, attempts: readonly AttemptView[]): Round {
  let before = startedAt;
  const bars = attempts.map((attempt): Bar => {
    const { started_at, finished_at, duration_ms } = attempt;
    const bar = { fromMs: between(startedAt, before), waitMs: between(before, started_at), runMs: duration_ms };
    before = finished_at;
    return { ...bar, number: attempt.number, startedAt: started_at, outcome: attempt.outcome, attempt };
  });
  return { number, startedAt, bars };
}

type Present = Pick<Bar, "number" | "startedAt" | "outcome"> & { sinceMs: number; nowMs: number };

/** The attempt that runs, or that is to come. */
function presentOf(task: TaskView, attempts: readonly AttemptView[], nowMs: number): Present | undefined {
  if (!isOpen(task)) return undefined;
  const sinceMs = Date.parse(attempts.at(-1)?.finished_at ?? firstDue(task));
  const isSuspended = ["sleep", "signal", "step", "child"].includes(task.waiting_for?.kind ?? "");
  const hasStarted = task.status === "processing" || isSuspended;
  const startedAt = hasStarted ? (task.started_at ?? undefined) : undefined;
  const number = hasStarted ? task.attempts : task.attempts + 1;
  // An attempt of the list that the status answer still calls the present one.
  if (hasStarted && attempts.some((one) => one.started_at === startedAt)) return undefined;
  return { number, startedAt, outcome: task.status === "processing" ? "running" : "waiting", sinceMs, nowMs };
}

function barIn(round: Pick<Round, "startedAt">, { sinceMs, nowMs, startedAt, ...of }: Present): Bar {
  const roundMs = Date.parse(round.startedAt);
  const fromMs = Math.max(0, sinceMs - roundMs);
  const startMs = startedAt === undefined ? nowMs : Date.parse(startedAt);
  const waitMs = Math.max(0, startMs - roundMs - fromMs);
  const runMs = startedAt === undefined ? undefined : Math.max(0, nowMs - startMs);
  return { ...of, startedAt, fromMs, waitMs, runMs, attempt: undefined };
}

/** Length of the longest round in milliseconds: the scale of all of them. */
export const longestMs = (rounds: readonly Round[]): number =>
  Math.max(1, ...rounds.flatMap(({ bars }) => bars.map(({ fromMs, waitMs, runMs = 0 }) => fromMs + waitMs + runMs)));
