import type { TaskContext } from "../context.ts";
import { PermanentError, PortUnavailable, TaskError } from "../errors.ts";
import type { TaskKey } from "../record.ts";
import { defineTask, type TaskType } from "../task.ts";
import { type Acted, discardOne, type LetterKey, replayOne } from "./act-on-letter.ts";
import { internalOptions, internalTimeoutSeconds } from "./internal-types.ts";
import { type ChunkEntry, chunkSize, loadState, type OperationState } from "./operation-state.ts";
import { pacer, pause } from "./pause.ts";
import { partsPurgeAt, requestSweep, type StartPorts } from "./start-operation.ts";
import { letterName, type Sweeper, type SweepPorts, sweep } from "./sweep.ts";

export interface OperationPorts extends StartPorts, SweepPorts {}

/** An operation that is not through: the next attempt goes on where this one ends. */
class OperationGoesOn extends TaskError {
  readonly kind = "transient";
}

/** Dead letters that are acted on at once, and counted together. */
const windowSize = 10;

/** An attempt ends itself so long before its time-out. */
const reserveSeconds = 60;

/** How often a letter is tried when the table or a queue does not answer, and the wait in between. */
const mostTries = 3;
const tryAgainMs = 1_000;

/**
 * How long an operation waits for its own messages to turn up in the DLQ: somebody may be looking at them, for 30 s as a rule.
 * It waits in line for them, hardly pausing: whoever looks again and again hides them as soon as they turn up.
 */
const patienceMs = 45_000;
/** How long it looks when nobody seemed to hold any: SQS only estimates how many are held, and a message may be on its way. */
const unheldPatienceMs = 10_000;
/** When the patience was not enough, a sweep of its own looks again so much later. */
const sweepLaterMs = 60_000;
const inLineSeconds = 4;
const lookAgainMs = 250;

/**
 * Offload's own task types, which every worker has beside the users'. A replay or discard of 10,000 letters at one a second
 * takes 14 of its 20 attempts: what is accepted finishes, with some attempts to spare for crashes.
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
      ...internalOptions.sweep,
      handler: async ({ tier }, task) => ({ deleted: (await sweep(ports, tier, sweeperOf(ports, task))).deleted.size }),
    }),
  ];
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
  act: (letter: LetterKey) => Promise<Acted>;
  sweeper: Sweeper;
  /** Names of the letters that this attempt took from the DLQ's view: their messages are to be found there. */
  gone: Set<string>;
}

/** load → work through → sweep. What was done stays done, whatever ends the attempt. */
async function operate(ports: OperationPorts, task: TaskContext, act: Run["act"], perSecond?: number) {
  const key = { tenant_id: task.tenantId, task_id: task.taskId };
  const state = await loadState(ports.records, key);
  if (state === undefined) throw new PermanentError("what the operation is to do is no longer kept");
  const run: Run = { task, key, state, act, sweeper: sweeperOf(ports, task), gone: new Set() };
  await workThrough(ports, run, perSecond);
  if (state.done > 0) await sweepTiers(ports, run);
  const { matched, done, skipped, failed } = state;
  return { matched, done, skipped, failed };
}

/**
 * Acts on window after window. Each is noted before it begins: after a crash its letters are acted on once more, which does
 * nothing to those that have left, and these then count as done.
 */
async function workThrough(ports: OperationPorts, run: Run, perSecond: number | undefined): Promise<void> {
  const { state, sweeper, task } = run;
  const pace = pacer(ports.clock, perSecond, sweeper.signal);
  const readLetters = letterReader(ports, run);
  let unsure = state.window;
  while (state.position < state.matched) {
    if (ports.clock.now() >= sweeper.endMs) {
      await save(ports, run);
      throw new OperationGoesOn(`${state.position} of ${state.matched} dead letters are through; the rest follows`);
    }
    const letters = await readLetters(state.position);
    state.window = letters.length;
    await save(ports, run);
    const started = letters.map(async (letter, index) => {
      await pace();
      return actOn(ports, run, letter, index < unsure);
    });
    count(state, await allOf(started));
    unsure = Math.max(0, unsure - letters.length);
    task.progress((state.position / state.matched) * 100);
  }
  await save(ports, run);
}

/** Waits for all, then throws what the first of them threw: no letter may still be acted on when the attempt ends. */
async function allOf<T>(started: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(started);
  return Promise.all(started);
}

function count(state: OperationState, outcomes: readonly Acted[]): void {
  for (const outcome of outcomes) state[outcome] += 1;
  state.position += outcomes.length;
  state.window = 0;
}

const save = (ports: OperationPorts, { key, state }: Run): Promise<void> =>
  ports.records.savePart(key, "operation", state, partsPurgeAt(ports.clock.now()));

/** Gives the window that begins at a position; keeps one chunk in memory. */
function letterReader(ports: OperationPorts, { key }: Run): (position: number) => Promise<LetterKey[]> {
  let loaded: { number: number; entries: readonly ChunkEntry[] } | undefined;
  return async (position) => {
    const number = Math.floor(position / chunkSize);
    if (loaded?.number !== number) {
      const entries = (await ports.records.loadPart(key, `operation#${number}`)) as ChunkEntry[] | undefined;
      if (entries === undefined) throw new PermanentError("what the operation is to do is no longer kept");
      loaded = { number, entries };
    }
    const start = position % chunkSize;
    const entries = loaded.entries.slice(start, start + windowSize);
    return entries.map(([task_id, dead_letter_at]) => ({ tenant_id: key.tenant_id, task_id, dead_letter_at }));
  };
}

/**
 * Acts on one letter, again when a port does not answer. Once a try may have gone through unheard, a letter that is no longer
 * there was most likely taken by it.
 */
async function actOn(ports: OperationPorts, run: Run, letter: LetterKey, unsure: boolean): Promise<Acted> {
  for (let tries = 1, again = unsure; ; tries++, again = true) {
    try {
      const acted = await run.act(letter);
      if (acted === "done") run.gone.add(letterName(letter));
      return acted === "skipped" && again ? "done" : acted;
    } catch (error) {
      if (!(error instanceof PortUnavailable)) return failedAt(run, letter, error);
      if (tries === mostTries) throw error;
      await pause(ports.clock, tryAgainMs * tries, run.sweeper.signal);
    }
  }
}

function failedAt({ task }: Run, { task_id }: LetterKey, error: unknown): Acted {
  task.log.error("a dead letter could not be acted on", { of_task: task_id, error: String(error) });
  return "failed";
}

/**
 * Takes the messages of what has left out of the DLQs, so that these are as empty as the operation says once it is completed.
 * Looks again while messages of its own have not turned up, as somebody else may be holding them.
 */
async function sweepTiers(ports: OperationPorts, { state, sweeper, gone, task }: Run): Promise<void> {
  const startedAt = ports.clock.now();
  for (let waitSeconds = 1; ; waitSeconds = inLineSeconds) {
    let unseen = false;
    for (const tier of state.tiers) {
      const swept = await sweep(ports, tier, { ...sweeper, waitSeconds });
      for (const name of [...swept.deleted, ...swept.deletedBefore]) gone.delete(name);
      unseen ||= swept.unseen;
    }
    if (gone.size === 0) return;
    if (ports.clock.now() - startedAt >= (unseen ? patienceMs : unheldPatienceMs)) break;
    await pause(ports.clock, lookAgainMs, sweeper.signal);
  }
  task.log.warn("messages did not turn up in their DLQ; a later sweep deletes them", { messages: gone.size });
  const later = ports.clock.now() + sweepLaterMs;
  for (const tier of state.tiers) await requestSweep(ports, tier, task.correlationId, later);
}
