import {
  type AttemptView,
  type Client,
  TaskCancelled,
  TaskExpired,
  TaskFailed,
  type TaskView,
} from "../../client/index.ts";
import { isSuspended, type StoppedBy, type SuspendedFor, type WaitView } from "../../core/model/suspension.ts";
import { isTerminal } from "../../core/model/words.ts";
import { span } from "./age.ts";
import { countTo } from "./connection.ts";
import type { Options } from "./options.ts";
import { bar, interrupted, plain, plainStack, type Terminal } from "./terminal.ts";
import { writeResult } from "./write-result.ts";

/** Options of commands that wait for a task's end. */
export const following = [
  ["--timeout <seconds>", "stop waiting after this time, with exit code 124", countTo(2_000_000)],
  ["--output <file>", "write the result to this file; - is the standard output"],
] as const;

type FollowOptions = Options<typeof following> & { json?: boolean };

/** Exit code of a command whose time limit is over: that of timeout(1). */
const timedOut = 124;

/** The command stops waiting, and the task goes on. */
class Stopped extends Error {
  readonly exitCode: number;

  constructor(why: string, exitCode: number) {
    super(why);
    this.exitCode = exitCode;
  }
}

/**
 * Waits for a task's end, shows its progress and failed attempts, and writes its result. Returns the exit code.
 * @throws TaskFailed, TaskCancelled, TaskExpired
 */
export async function follow(
  terminal: Terminal,
  client: Client,
  taskId: string,
  options: FollowOptions,
): Promise<number> {
  const stop = new AbortController();
  const by = { terminal, client, signal: stop.signal };
  const { timeout } = options;
  const end = (why: string, exitCode: number) => stop.abort(new Stopped(why, exitCode));
  const release = terminal.onInterrupt(() => end("Ctrl-C", interrupted));
  const over = () => end(`the time limit of ${timeout} s is over`, timedOut);
  const timer = timeout === undefined ? undefined : setTimeout(over, timeout * 1000);
  const seen: { task?: TaskView } = {};
  try {
    await watch(by, taskId, seen);
    await showEnd(by, seen.task as TaskView, options);
    return 0;
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    const state = seen.task === undefined ? "" : `; it was ${seen.task.status} when last seen`;
    terminal.note(`Stopped waiting (${plain(error.message)}). The task goes on${state}.`);
    terminal.note(`  npx offload tasks follow ${taskId}   waits again`);
    terminal.note(`  npx offload tasks cancel ${taskId}   cancels it`);
    return error.exitCode;
  } finally {
    clearTimeout(timer);
    release();
  }
}

/** Where and how a task is followed. */
interface Following {
  terminal: Terminal;
  client: Client;
  signal: AbortSignal;
}

/** Shows each state of a task until its end. */
async function watch(by: Following, taskId: string, seen: { task?: TaskView }): Promise<void> {
  const { terminal, client, signal } = by;
  const showFailures = failuresShown(by);
  const draw = () => seen.task !== undefined && terminal.progress(progressLine(seen.task, terminal.live));
  // Only a terminal gets the time that passes; a pipe gets one line for each change.
  const clock = terminal.live ? setInterval(draw, 1000) : undefined;
  try {
    for await (const task of client.progress(taskId, { signal })) {
      await showFailures(task);
      seen.task = task;
      if (!isTerminal(task.status)) draw();
    }
  } finally {
    clearInterval(clock);
    terminal.endProgress();
  }
}

/** Writes the result of a completed task. */
async function showEnd(by: Following, task: TaskView, { json, output }: FollowOptions): Promise<void> {
  const { terminal, client, signal } = by;
  if (json) terminal.out(JSON.stringify(task, null, 2));
  if (task.status === "failed") {
    await showStack(by, task);
    throw new TaskFailed(task);
  }
  if (task.status === "cancelled") throw new TaskCancelled(task);
  if (task.status === "expired") throw new TaskExpired(task);
  const took = Date.parse(task.finished_at ?? task.updated_at) - Date.parse(task.created_at);
  const outcome = task.outcome === null ? "" : `, outcome ${plain(task.outcome)}`;
  terminal.note(`completed in ${Number((took / 1000).toPrecision(2))} s${outcome}`);
  if (json && output === undefined) return;
  const result = task.result_url === null ? task.result : await client.result(task, { signal });
  await writeResult(terminal, task.task_id, result, output);
}

/** Shows where the last attempt failed, to operators. */
async function showStack({ terminal, client, signal }: Following, task: TaskView): Promise<void> {
  const stack = (await client.attempts(task, { signal })).at(-1)?.stack;
  if (typeof stack === "string") terminal.note(plainStack(stack));
}

/** Shows the failed attempts of a task, each once. The failure that ends a task is in the command's own error. */
function failuresShown({ terminal, client, signal }: Following): (task: TaskView) => Promise<void> {
  const shown = new Set<string>();
  let count = 0;
  return async (task) => {
    const isLastOne = ["processing", "completed", "failed"].includes(task.status) || isWaiting(task);
    const failed = task.attempts - (isLastOne ? 1 : 0);
    if (failed === count) return;
    count = failed;
    if (failed < 1) return;
    const attempts = await client.attempts(task, { signal });
    for (const attempt of attempts) {
      const { round, number, outcome } = attempt;
      const isPast = round !== attempts.at(-1)?.round || number > failed;
      if (isPast || ["completed", "cancelled"].includes(outcome) || shown.has(`${round}/${number}`)) continue;
      shown.add(`${round}/${number}`);
      terminal.note(failureText(attempt));
    }
  };
}

function failureText({ number, outcome, error, next_attempt_at }: AttemptView): string {
  const what = outcome === "crashed" ? "crashed" : outcome === "timed_out" ? "timed out" : "failed";
  return `attempt ${number} ${what}: ${plain(error)}${inWords(next_attempt_at, "; next attempt")}`;
}

/** A time that is still to come, such as ` in 30 s`. */
function inWords(time: string | null, what: string): string {
  const seconds = (Date.parse(time ?? "") - Date.now()) / 1000;
  return seconds > 0.5 ? `${what} in ${span(seconds)}` : "";
}

/** True when an attempt is suspended. An API of an earlier version has no such field. */
const isWaiting = ({ waiting_for }: Partial<Pick<TaskView, "waiting_for">>): boolean =>
  isSuspended(waiting_for ?? undefined);

/** The reason why a task does not start, in words. */
const stoppedBy = {
  pause: "the end of a pause",
  breaker: "its type's breaker",
  concurrency: "a place",
  rate: "its start by the type's rate",
  unique: "the end of the task that had its key",
} as const satisfies Record<StoppedBy["kind"], string>;

/**
 * The reason in words. In strict order, with the task that has the turn, where the caller may know it; of a list of
 * rates, with the time of the next start.
 */
function stopText(wait: Exclude<WaitView, SuspendedFor>): string {
  if (wait.kind === "rate" && wait.next_start_at !== undefined)
    return `${stoppedBy.rate} of ${span(wait.per_seconds ?? 1)}${inWords(wait.next_start_at, ", the next")}`;
  if (wait.kind !== "concurrency" || wait.order === undefined) return stoppedBy[wait.kind];
  return `its turn${wait.held_by ? ` behind ${plain(wait.held_by)}, which is not over` : ""}`;
}

/** A place in line, such as `, place 4 in line`. Empty: it is unknown, or far behind. */
const placeText = (place: number | null | undefined): string => (place == null ? "" : `, place ${place} in line`);

/** A task's wait, such as `, sleeps, goes on in 20 min` or `, waits for the signal approved, at most 2 d`. */
function waitsFor({ waiting_for }: Partial<Pick<TaskView, "waiting_for">>): string {
  if (waiting_for === null || waiting_for === undefined) return "";
  if (!isSuspended(waiting_for)) return `, waits for ${stopText(waiting_for)}${placeText(waiting_for.place)}`;
  if (waiting_for.kind === "sleep") return `, sleeps${inWords(waiting_for.until, ", goes on")}`;
  if (waiting_for.kind === "step") {
    const what = `attempt ${waiting_for.attempt} of the step ${plain(waiting_for.step)}`;
    return `, waits for ${what}${inWords(waiting_for.until, ", which starts")}`;
  }
  if (waiting_for.kind === "child") return `, waits for its child ${waiting_for.children.map(plain).join(" or ")}`;
  const seconds = Math.max(0, (Date.parse(waiting_for.until) - Date.now()) / 1000);
  return `, waits for the signal ${waiting_for.signals.map(plain).join(" or ")}, at most ${span(seconds)}`;
}

/** Formats a task's state in one line. `live` adds a bar and the time since its creation. */
export function progressLine(task: TaskView, live: boolean): string {
  const { status, progress, progress_message: said, attempts, max_attempts } = task;
  const parts = [
    `${status}${waitsFor(task)}${inWords(task.next_attempt_at, ", next attempt")}${status === "scheduled" ? inWords(task.run_at, ", runs") : ""}`,
    ...(attempts > 0 ? [`attempt ${attempts} of ${max_attempts}`] : []),
    ...(said == null ? [] : [plain(said)]),
  ];
  if (!live) return [...parts, ...(progress === null ? [] : [`${progress} %`])].join(", ");
  const drawn = progress === null ? "" : `${bar(progress)}  `;
  return `${drawn}${[...parts, span((Date.now() - Date.parse(task.created_at)) / 1000)].join(", ")}`;
}
