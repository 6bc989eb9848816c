import { AttemptCancelled, Overtaken, PermanentError, PortUnavailable, TaskError } from "../model/errors.ts";
import type { TaskKey } from "../model/record.ts";
import type { Tier } from "../model/words.ts";
import type { FamilyReadPorts } from "../pipeline/end/child-results.ts";
import { requestSweep } from "../pipeline/end/request-own-task.ts";
import type { EntryPorts } from "../pipeline/send/keep-entries.ts";
import type { TaskContext } from "../task/context.ts";
import { internalOptions, internalTimeoutSeconds } from "../task/internal-types.ts";
import { defineTask, type TaskType } from "../task/task.ts";
import { type ActOutcome, type ActPorts, actions } from "./act-on-task.ts";
import { type CancelHow, cancelAny } from "./control.ts";
import {
  type ChunkEntry,
  chunkSize,
  loadState,
  type Matched,
  matchedIn,
  type OperationAction,
  type OperationState,
  partsPurgeAt,
  startingActions,
} from "./operation.ts";
import { type PurgePorts, purgeBlobs } from "./purge-blobs.ts";
import { pause, Speed, sampleSize } from "./slow-start.ts";
import { deadLetterName, type Sweeper, type SweepPorts, sweep } from "./sweep.ts";

export interface OperationPorts extends SweepPorts, ActPorts, FamilyReadPorts, PurgePorts, EntryPorts {}

/** The operation is not complete: the next attempt continues where this one ended. */
class OperationGoesOn extends TaskError {
  static override readonly name: string = "OperationGoesOn";
  readonly kind = "transient";
}

/** Number of tasks that are processed at the same time, and counted together. */
const windowSize = 10;

/** An attempt stops this time before its time-out, in seconds. */
const reserveSeconds = 60;

/** Number of tries of a task while a port is unavailable, and the wait after the first one; later waits are longer. */
const maxTries = 3;
const retryWaitMs = 1_000;

/**
 * Time for an operation to find its own messages in the DLQ. Another reader may have hidden them, usually for 30 s. The
 * operation receives with a long wait and short pauses, so that it gets them before a reader that polls hides them
 * again.
 */
const patienceMs = 45_000;
/**
 * The same time when no other reader seems to hide messages: SQS only estimates that, and a message may arrive late.
 */
const shortPatienceMs = 10_000;
const longWaitSeconds = 4;
const pauseMs = 250;
/** An operation that did not find all its messages requests a sweep for this time later. */
const sweepLaterMs = 60_000;

/** Purges objects until an attempt's time is over. */
export async function purge(ports: OperationPorts, task: TaskContext) {
  const { endMs, signal } = sweeperOf(ports, task);
  const { deleted, finished } = await purgeBlobs(ports, () => signal.aborted || ports.clock.now() >= endMs);
  if (!finished) throw new OperationGoesOn(`deleted ${deleted} stored objects; the next attempt continues`);
  return { deleted };
}

/** Sweeps a tier's DLQ. */
export async function sweepTier(ports: OperationPorts, task: TaskContext, tier: Tier) {
  return { deleted: (await sweep(ports, tier, sweeperOf(ports, task))).deleted.size };
}

const sweeperOf = (ports: OperationPorts, task: TaskContext): Sweeper => ({
  owner: `${task.taskId}.${task.attemptOverall}`,
  endMs: ports.clock.now() + (internalTimeoutSeconds - reserveSeconds) * 1000,
  signal: task.signal,
  log: task.log,
});

/** Options of an operation that its action on each task gets. */
interface OperateHow extends CancelHow {
  /**
   * Maximum number of tasks per second. Absent: of an operation that starts tasks, slow at first; of others, no limit.
   */
  perSecond?: number | undefined;
}

/** One attempt of an operation. */
interface Run {
  how: OperateHow;
  task: TaskContext;
  key: TaskKey;
  state: OperationState;
  action: OperationAction;
  sweeper: Sweeper;
  speed: Speed;
  /**
   * Names of the dead letters that this attempt took out of the list, and whose DLQ messages it has not deleted yet.
   */
  unswept: Set<string>;
}

/** Loads the state, processes the tasks, and sweeps the DLQs. The next attempt repeats no completed work. */
export async function operate(ports: OperationPorts, task: TaskContext, action: OperationAction, how: OperateHow = {}) {
  const key = { tenant_id: task.tenantId, task_id: task.taskId };
  const state = await loadState(ports.records, key);
  if (state === undefined) throw partsMissing();
  const sweeper = sweeperOf(ports, task);
  const startsTasks = startingActions.includes(action);
  const speed = new Speed(ports, key, { perSecond: how.perSecond, startsTasks, signal: sweeper.signal });
  const run: Run = { task, key, state, action, how, sweeper, speed, unswept: new Set() };
  try {
    await processAll(ports, run);
    if (state.done > 0) await sweepTiers(ports, run);
  } catch (error) {
    if (error instanceof AttemptCancelled) await requestSweeps(ports, run);
    throw error;
  }
  const { matched, done, skipped, failed } = state;
  return { matched, done, skipped, failed };
}

const partsMissing = () => new PermanentError("the operation's list of tasks is no longer stored");

/**
 * Processes one window of tasks after the other. A window is saved before it starts. After a crash its tasks are tried
 * again: those that no longer are as they matched count as done. When the operation is cancelled, the tasks of the
 * window that have begun are counted, and no other begins.
 */
async function processAll(ports: OperationPorts, run: Run): Promise<void> {
  const { state, sweeper, task, speed } = run;
  const read = matchedReader(ports, run);
  let maybeDone = state.window;
  while (state.position < state.matched) {
    await stopIfCancelled(ports, run);
    if (await speed.look()) await stopItself(ports, run);
    if (ports.clock.now() >= sweeper.endMs) {
      await save(ports, run);
      throw new OperationGoesOn(`processed ${state.position} of ${state.matched} tasks; the next attempt continues`);
    }
    const matched = await read(state.position);
    state.window = matched.length;
    await save(ports, run);
    const started = matched.map(async (one, index) => {
      // In the order of the tasks: those that have begun are the first ones of the window.
      if (!(await begins(run))) return undefined;
      return processOne(ports, run, one, index < maybeDone);
    });
    const all = await allOf(started.map((outcome) => failedIfCancelled(run, outcome)));
    const outcomes = all.filter((outcome) => outcome !== undefined);
    maybeDone = Math.max(0, maybeDone - outcomes.length);
    count(state, outcomes, maybeDone);
    task.progress((state.position / state.matched) * 100);
  }
  await save(ports, run);
}

const isCancelled = ({ sweeper }: Run): boolean => sweeper.signal.reason instanceof AttemptCancelled;

/**
 * Cancels the operation, as what made the tasks fail is still there. The tasks with which it has not begun stay as they
 * are. Returns when the attempt has seen the cancel.
 */
async function stopItself(ports: OperationPorts, run: Run): Promise<void> {
  const { state, key, sweeper, task } = run;
  state.stopped = `the last ${sampleSize} tasks that it started all failed again`;
  await save(ports, run);
  task.log.warn("the operation stops: what it started fails again", { done: state.done, matched: state.matched });
  const record = await ports.records.get(key, "consistently");
  if (record !== undefined) await cancelAny(ports, record);
  await pause(ports.clock, Math.max(0, sweeper.endMs - ports.clock.now()), sweeper.signal);
}

/** Saves what is counted, while the attempt still has its lease. */
async function stopIfCancelled(ports: OperationPorts, run: Run): Promise<void> {
  if (!isCancelled(run)) return;
  await save(ports, run);
  throw run.sweeper.signal.reason;
}

/** Waits for a task's turn. False: the operation was cancelled before it came. */
async function begins(run: Run): Promise<boolean> {
  try {
    await run.speed.turn();
  } catch (error) {
    if (!isCancelled(run)) throw error;
  }
  return !isCancelled(run);
}

/** No attempt of a cancelled operation follows, which would try a task again whose ports are down. */
const failedIfCancelled = (run: Run, outcome: Promise<ActOutcome | undefined>): Promise<ActOutcome | undefined> =>
  outcome.catch((error: unknown) => {
    if (isCancelled(run)) return "failed";
    throw error;
  });

/** Waits for all, then throws the first error: when the attempt ends, no letter may still be in progress. */
async function allOf<T>(started: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(started);
  return Promise.all(started);
}

/**
 * @param maybeDone Number of the tasks after these that an interrupted attempt may have processed: some, where the
 * operation is cancelled.
 */
function count(state: OperationState, outcomes: readonly ActOutcome[], maybeDone: number): void {
  for (const outcome of outcomes) state[outcome] += 1;
  state.position += outcomes.length;
  state.window = maybeDone;
}

const save = (ports: OperationPorts, { key, state }: Run): Promise<void> =>
  ports.records.savePart(key, "operation", state, partsPurgeAt(ports.clock.now()));

/** Returns a function that reads the window at a position. It keeps one chunk in memory. */
function matchedReader(ports: OperationPorts, { key }: Run): (position: number) => Promise<Matched[]> {
  let loaded: { number: number; entries: readonly ChunkEntry[] } | undefined;
  return async (position) => {
    const number = Math.floor(position / chunkSize);
    if (loaded?.number !== number) {
      const entries = (await ports.records.loadPart(key, `operation#${number}`)) as ChunkEntry[] | undefined;
      if (entries === undefined) throw partsMissing();
      loaded = { number, entries };
    }
    return matchedIn(loaded.entries, key, position % chunkSize, windowSize);
  };
}

/**
 * Acts on one task; tries again while a port is unavailable, or other requests change the task each time. If an earlier
 * try may have succeeded, a task that no longer is as it matched counts as done.
 * @param maybeDone True when an interrupted attempt may have processed the task.
 */
async function processOne(ports: OperationPorts, run: Run, matched: Matched, maybeDone: boolean): Promise<ActOutcome> {
  for (let tries = 1, triedBefore = maybeDone; ; tries++, triedBefore = true) {
    try {
      const outcome = await actions[run.action](ports, matched, run.how);
      if (outcome === "done") noteStarted(run, matched);
      return outcome === "skipped" && triedBefore ? "done" : outcome;
    } catch (error) {
      if (!mayPass(error, tries)) return logFailure(run, matched, error);
      if (tries === maxTries) throw error;
      await wait(ports, retryWaitMs * tries);
    }
  }
}

const mayPass = (error: unknown, tries: number): boolean =>
  error instanceof PortUnavailable || (error instanceof Overtaken && tries < maxTries);

/** Not ended by a cancel: the outcome of a task that has begun is counted. */
const wait = ({ clock }: OperationPorts, ms: number): Promise<void> =>
  new Promise((resolve) => {
    clock.after(ms, resolve);
  });

function noteStarted({ action, unswept, speed }: Run, { key, entry: [, mark, deadLetterAt] }: Matched): void {
  speed.started(key);
  const at = action === "replay" || action === "discard" ? mark : deadLetterAt;
  if (at) unswept.add(deadLetterName({ ...key, dead_letter_at: at }));
}

function logFailure({ action, task }: Run, { key }: Matched, error: unknown): ActOutcome {
  task.log.error(`could not ${action} a task`, { of_task: key.task_id, error: String(error) });
  return "failed";
}

/**
 * Deletes the DLQ messages of the processed dead letters before the operation is completed. Repeats the sweep while it
 * has not found all of them, as another reader may have hidden some.
 */
async function sweepTiers(ports: OperationPorts, { state, sweeper, unswept, task }: Run): Promise<void> {
  const startedAt = ports.clock.now();
  for (let waitSeconds = 1; ; waitSeconds = longWaitSeconds) {
    let mayBeHidden = false;
    for (const tier of state.tiers) {
      const swept = await sweep(ports, tier, { ...sweeper, waitSeconds });
      for (const name of [...swept.deleted, ...swept.deletedBefore]) unswept.delete(name);
      mayBeHidden ||= swept.mayBeHidden;
    }
    if (unswept.size === 0) return;
    if (ports.clock.now() - startedAt >= (mayBeHidden ? patienceMs : shortPatienceMs)) break;
    await pause(ports.clock, pauseMs, sweeper.signal);
  }
  task.log.warn("did not find all messages of the operation in the DLQs; a later sweep deletes them", {
    messages: unswept.size,
  });
  await requestSweeps(ports, { state, task }, ports.clock.now() + sweepLaterMs);
}

async function requestSweeps(ports: OperationPorts, { state, task }: Pick<Run, "state" | "task">, afterMs?: number) {
  for (const tier of state.tiers) await requestSweep(ports, tier, task.correlationId, afterMs);
}

/** Loaded with the first of these tasks, as most workers never have one. */
const code = () => import("./run-operation.ts");

/**
 * Returns Offload's own task types, which every worker has in addition to the users'. An operation on 10,000 tasks at
 * one per second takes 14 of its 20 attempts: every accepted operation can finish, even after some crashes.
 */
export function operationTypes(ports: OperationPorts): TaskType[] {
  return [
    defineTask({
      ...internalOptions.replay,
      handler: async ({ per_second: perSecond }, task) => (await code()).operate(ports, task, "replay", { perSecond }),
    }),
    defineTask({
      ...internalOptions.discard,
      handler: async (_, task) => (await code()).operate(ports, task, "discard"),
    }),
    defineTask({
      ...internalOptions.cancel,
      handler: async ({ now }, task) => (await code()).operate(ports, task, "cancel", { now }),
    }),
    defineTask({
      ...internalOptions.retry,
      handler: async ({ per_second: perSecond }, task) => (await code()).operate(ports, task, "retry", { perSecond }),
    }),
    defineTask({
      ...internalOptions.run_now,
      handler: async ({ per_second: perSecond }, task) => (await code()).operate(ports, task, "run_now", { perSecond }),
    }),
    defineTask({
      ...internalOptions.redeliver,
      handler: async ({ per_second: perSecond }, task) =>
        (await code()).operate(ports, task, "redeliver", { perSecond }),
    }),
    defineTask({
      ...internalOptions.cancelChildren,
      handler: async (parent) => ({
        cancelled: await (await import("./cancel-others.ts")).cancelChildren(ports, parent),
      }),
    }),
    defineTask({ ...internalOptions.purgeBlobs, handler: async (_, task) => (await code()).purge(ports, task) }),
    defineTask({
      ...internalOptions.sweep,
      handler: async ({ tier }, task) => (await code()).sweepTier(ports, task, tier),
    }),
  ];
}
