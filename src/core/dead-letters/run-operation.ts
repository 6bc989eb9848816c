import { cancelChildren } from "../cancel-children.ts";
import type { TaskContext } from "../context.ts";
import type { ControlPorts } from "../control.ts";
import { PermanentError, PortUnavailable, TaskError } from "../errors.ts";
import type { FamilyReadPorts } from "../family/results.ts";
import { internalOptions, internalTimeoutSeconds } from "../internal-types.ts";
import { type PurgePorts, purgeBlobs } from "../purge-blobs.ts";
import type { TaskKey } from "../record.ts";
import type { EntryPorts } from "../steps/keep-entries.ts";
import { defineTask, type TaskType } from "../task.ts";
import { discardOne, type LetterKey, type LetterOutcome, replayOne } from "./act-on-letter.ts";
import { type ChunkEntry, chunkSize, loadState, type OperationState } from "./operation-state.ts";
import { pacer, pause } from "./pause.ts";
import { partsPurgeAt, requestSweep, type StartPorts } from "./start-operation.ts";
import { letterName, type Sweeper, type SweepPorts, sweep } from "./sweep.ts";

export interface OperationPorts extends StartPorts, SweepPorts, ControlPorts, FamilyReadPorts, PurgePorts, EntryPorts {}

/** The operation is not complete: the next attempt continues where this one ended. */
class OperationGoesOn extends TaskError {
  readonly kind = "transient";
}

/** Number of dead letters that are processed at the same time, and counted together. */
const windowSize = 10;

/** An attempt stops this time before its time-out, in seconds. */
const reserveSeconds = 60;

/** Number of tries of a dead letter while a port is unavailable, and the wait after the first one; later waits are longer. */
const mostTries = 3;
const retryWaitMs = 1_000;

/**
 * Time for an operation to find its own messages in the DLQ. Another reader may have hidden them, usually for 30 s. The
 * operation receives with a long wait and short pauses, so that it gets them before a reader that polls hides them again.
 */
const patienceMs = 45_000;
/** The same time when no other reader seems to hide messages: SQS only estimates that, and a message may arrive late. */
const shortPatienceMs = 10_000;
const longWaitSeconds = 4;
const pauseMs = 250;
/** An operation that did not find all its messages requests a sweep for this time later. */
const sweepLaterMs = 60_000;

/**
 * Returns Offload's own task types, which every worker has in addition to the users'. A replay or discard of 10,000 dead
 * letters at one per second takes 14 of its 20 attempts: every accepted operation can finish, even after some crashes.
 */
export function operationTypes(ports: OperationPorts): TaskType[] {
  const replay = (letter: LetterKey) => replayOne(ports, letter);
  const discard = (letter: LetterKey) => discardOne(ports, letter);
  return [
    defineTask({
      ...internalOptions.replay,
      handler: ({ per_second }, task) => operate(ports, task, replay, per_second),
    }),
    defineTask({ ...internalOptions.discard, handler: (_, task) => operate(ports, task, discard) }),
    defineTask({
      ...internalOptions.cancelChildren,
      handler: async (parent) => ({ cancelled: await cancelChildren(ports, parent) }),
    }),
    defineTask({ ...internalOptions.purgeBlobs, handler: (_, task) => purge(ports, sweeperOf(ports, task)) }),
    defineTask({
      ...internalOptions.sweep,
      handler: async ({ tier }, task) => ({ deleted: (await sweep(ports, tier, sweeperOf(ports, task))).deleted.size }),
    }),
  ];
}

async function purge(ports: OperationPorts, { endMs, signal }: Sweeper) {
  const { deleted, finished } = await purgeBlobs(ports, () => signal.aborted || ports.clock.now() >= endMs);
  if (!finished) throw new OperationGoesOn(`deleted ${deleted} stored objects; the next attempt continues`);
  return { deleted };
}

const sweeperOf = (ports: OperationPorts, task: TaskContext): Sweeper => ({
  owner: `${task.taskId}.${task.attemptOverall}`,
  endMs: ports.clock.now() + (internalTimeoutSeconds - reserveSeconds) * 1000,
  signal: task.signal,
  log: task.log,
});

/** One attempt of an operation. */
interface Run {
  task: TaskContext;
  key: TaskKey;
  state: OperationState;
  act: (letter: LetterKey) => Promise<LetterOutcome>;
  sweeper: Sweeper;
  /** Names of the dead letters that this attempt replayed or discarded, and whose DLQ messages it has not deleted yet. */
  unswept: Set<string>;
}

/** Loads the state, processes the dead letters, and sweeps the DLQs. The next attempt repeats no completed work. */
async function operate(ports: OperationPorts, task: TaskContext, act: Run["act"], perSecond?: number) {
  const key = { tenant_id: task.tenantId, task_id: task.taskId };
  const state = await loadState(ports.records, key);
  if (state === undefined) throw partsMissing();
  const run: Run = { task, key, state, act, sweeper: sweeperOf(ports, task), unswept: new Set() };
  await processAll(ports, run, perSecond);
  if (state.done > 0) await sweepTiers(ports, run);
  const { matched, done, skipped, failed } = state;
  return { matched, done, skipped, failed };
}

const partsMissing = () => new PermanentError("the operation's list of dead letters is no longer stored");

/**
 * Processes one window of dead letters after the other. A window is saved before it starts. After a crash its letters are tried
 * again: those that no longer are dead letters count as done.
 */
async function processAll(ports: OperationPorts, run: Run, perSecond: number | undefined): Promise<void> {
  const { state, sweeper, task } = run;
  const pace = pacer(ports.clock, perSecond, sweeper.signal);
  const readLetters = letterReader(ports, run);
  let maybeDone = state.window;
  while (state.position < state.matched) {
    if (ports.clock.now() >= sweeper.endMs) {
      await save(ports, run);
      throw new OperationGoesOn(
        `processed ${state.position} of ${state.matched} dead letters; the next attempt continues`,
      );
    }
    const letters = await readLetters(state.position);
    state.window = letters.length;
    await save(ports, run);
    const started = letters.map(async (letter, index) => {
      await pace();
      return processOne(ports, run, letter, index < maybeDone);
    });
    count(state, await allOf(started));
    maybeDone = Math.max(0, maybeDone - letters.length);
    task.progress((state.position / state.matched) * 100);
  }
  await save(ports, run);
}

/** Waits for all, then throws the first error: when the attempt ends, no letter may still be in progress. */
async function allOf<T>(started: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(started);
  return Promise.all(started);
}

function count(state: OperationState, outcomes: readonly LetterOutcome[]): void {
  for (const outcome of outcomes) state[outcome] += 1;
  state.position += outcomes.length;
  state.window = 0;
}

const save = (ports: OperationPorts, { key, state }: Run): Promise<void> =>
  ports.records.savePart(key, "operation", state, partsPurgeAt(ports.clock.now()));

/** Returns a function that reads the window at a position. It keeps one chunk in memory. */
function letterReader(ports: OperationPorts, { key }: Run): (position: number) => Promise<LetterKey[]> {
  let loaded: { number: number; entries: readonly ChunkEntry[] } | undefined;
  return async (position) => {
    const number = Math.floor(position / chunkSize);
    if (loaded?.number !== number) {
      const entries = (await ports.records.loadPart(key, `operation#${number}`)) as ChunkEntry[] | undefined;
      if (entries === undefined) throw partsMissing();
      loaded = { number, entries };
    }
    const start = position % chunkSize;
    const entries = loaded.entries.slice(start, start + windowSize);
    return entries.map(([task_id, dead_letter_at]) => ({ tenant_id: key.tenant_id, task_id, dead_letter_at }));
  };
}

/**
 * Replays or discards one dead letter; tries again while a port is unavailable. If an earlier try may have succeeded, a letter
 * that no longer exists counts as done.
 * @param maybeDone True when an interrupted attempt may have processed the letter.
 */
async function processOne(
  ports: OperationPorts,
  run: Run,
  letter: LetterKey,
  maybeDone: boolean,
): Promise<LetterOutcome> {
  for (let tries = 1, triedBefore = maybeDone; ; tries++, triedBefore = true) {
    try {
      const outcome = await run.act(letter);
      if (outcome === "done") run.unswept.add(letterName(letter));
      return outcome === "skipped" && triedBefore ? "done" : outcome;
    } catch (error) {
      if (!(error instanceof PortUnavailable)) return logFailure(run, letter, error);
      if (tries === mostTries) throw error;
      await pause(ports.clock, retryWaitMs * tries, run.sweeper.signal);
    }
  }
}

function logFailure({ task }: Run, { task_id }: LetterKey, error: unknown): LetterOutcome {
  task.log.error("could not replay or discard a dead letter", { of_task: task_id, error: String(error) });
  return "failed";
}

/**
 * Deletes the DLQ messages of the processed dead letters before the operation is completed. Repeats the sweep while it has not
 * found all of them, as another reader may have hidden some.
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
  const later = ports.clock.now() + sweepLaterMs;
  for (const tier of state.tiers) await requestSweep(ports, tier, task.correlationId, later);
}
