import type { Envelope } from "../model/envelope.ts";
import type { MainQueue } from "./tasks.ts";

/** A task in a line. The line keeps its message, too, as SQS has none of it. */
export interface WaitingEntry extends MainQueue {
  /** Tells this wait from an earlier one of the task. */
  id: string;
  /** Time of the submit, ISO 8601 UTC: the order in the line. */
  createdAt: string;
  taskId: string;
  tenantId: string;
  /** Epoch milliseconds at which the task began to wait. Absent: an earlier release has put it into the line. */
  sinceMs?: number;
  /** Epoch milliseconds of the start that the type's rate gave it. Absent: none yet. */
  slotMs?: number;
  /** Epoch milliseconds until which a breaker lets it try. Absent: none does. */
  tryUntilMs?: number;
  /** The shard of a limit's line in which it waits. Absent: 0. */
  shard?: number;
  /** Its message, if the line has it beside the entry. Absent: `withEnvelopes` reads it. */
  envelope?: Envelope;
}

/** A task in a line, with its message. */
export interface WaitingTask extends WaitingEntry {
  envelope: Envelope;
}

/** The names of a task in a line. */
export interface WaitingKey {
  createdAt: string;
  taskId: string;
}

/** One wait of a task in a line. */
export interface Wait extends WaitingKey {
  id: string;
  /** The shard of a limit's line in which it waits. Absent: 0, or the task's own one. */
  shard?: number;
}

/** The part of a line that decides which task starts. */
export interface WaitQueueState {
  /**
   * Tasks that have a permit, and until when: epoch milliseconds. A permit that has ended may be dropped by anybody.
   */
  permits: ReadonlyMap<string, number>;
  /** Epoch milliseconds of the first start that the rate has not given away. Absent: none was given. */
  nextTokenMs?: number;
  /** The starts that a list of rates counts. Absent: none was given. */
  starts?: CountedTokens;
  /** The message that looks at the line again. Absent: none was sent. */
  check?: PlannedCheck;
  /** Tasks of a limit's line may wait in its shards above 0. Absent: none does. */
  sharded?: true;
  /** The worker that waits for one of the permits, and until when. Absent: none does. */
  successor?: Successor;
  /** The limit that the newest input of its key gives. Absent: the limit is no function of the input. */
  keyLimit?: NotedLimit;
}

/** A limit that the input of a task gave. */
export interface NotedLimit {
  /** Permits, or starts by the seconds of their rate. */
  value: number | Readonly<Record<string, number>>;
  /** Epoch milliseconds at which the input was accepted. */
  atMs: number;
}

/** The starts of a line whose type has a list of rates, in the form in which they are stored. */
export interface CountedTokens {
  /**
   * By a rate's time in seconds: pairs of numbers, one for each part of that time. The first is the part's last start,
   * in epoch milliseconds; the second is the number of its starts.
   */
  parts: Readonly<Record<string, readonly number[]>>;
  /** Epoch milliseconds from which all rates allow the next start, as known when the last one was given. */
  free_ms: number;
  /** The time, in seconds, of the rate that allows it last. */
  free_by: number;
}

/** A worker that has come for the permit of another one, which goes on with the line until then. */
export interface Successor {
  id: string;
  /** Epoch milliseconds until which it waits. */
  untilMs: number;
}

/** A planned look at a line. */
export interface PlannedCheck {
  /** Tells its message from others. */
  id: string;
  /** Epoch milliseconds. */
  atMs: number;
  /** Tells `planCheck` when the line was listed, in epoch milliseconds. Absent: it does not need to know. */
  listedMs?: number;
}

/** A look at a line that is planned now. */
export interface NextCheck extends PlannedCheck {
  /** Tasks wait in the line's shards above 0. Absent: the caller knows of none. */
  sharded?: true;
}

/** A task and the shard in which it waits. */
export interface Sharded {
  taskId: string;
  /** Absent: 0. */
  shard?: number | undefined;
}

/** A task's permit. */
export interface TaskPermit {
  task: string;
  /** Epoch milliseconds. */
  untilMs: number;
  /**
   * The permit is the turn of a line in strict order, which is stored for longer than a task can go on. Absent: not.
   */
  turn?: boolean | undefined;
}

/** A start that a task wants. */
export interface WantedToken {
  /** Epoch milliseconds. */
  nowMs: number;
  /** Milliseconds between two starts. */
  intervalMs: number;
  /** The task waits for its start at most this long, in milliseconds. */
  aheadMs: number;
  /** Epoch milliseconds before which no start was free, as the caller knows. Absent: unknown. */
  knownMs?: number;
  /** Starts that are taken together, the later ones an interval after each other. Absent: 1. */
  count?: number;
}

/**
 * Lines of waiting tasks. All methods throw `PortUnavailable`. All reads but `orders` are consistent. Contract
 * suite: `test/contract/lines.ts`.
 */
export interface WaitQueues {
  /** Adds a task to a line. A task that is in the line already keeps its turn, and waits with the new id. */
  add(line: string, task: WaitingTask, purgeAt: number): Promise<void>;
  /**
   * The first tasks of a line.
   * @param shards Those of a limit's line that are read. Absent: 0.
   */
  first(line: string, limit: number, shards?: readonly number[]): Promise<WaitingEntry[]>;
  /**
   * Tasks of a line, as they are given, with their messages. A task whose wait is over is left out if its message is
   * gone.
   */
  withEnvelopes(line: string, tasks: readonly WaitingEntry[]): Promise<WaitingTask[]>;
  /** A task of a line, with its message. */
  find(line: string, task: WaitingKey): Promise<WaitingTask | undefined>;
  /** Keeps a task's entry until a later time. Does nothing when the task waits anew, or no longer. */
  keep(line: string, wait: Wait, purgeAt: number): Promise<void>;
  /** Ends a wait. Does nothing when the task waits anew: a late try of the call must not lose it. */
  remove(line: string, wait: Wait): Promise<void>;
  /**
   * Keeps others from letting a task of a line go. Returns false when another call has done so, until a time after
   * `nowMs`.
   */
  reserve(line: string, task: Sharded, nowMs: number, untilMs: number): Promise<boolean>;
  /** Ends a reservation: the caller did not admit the task. */
  release(line: string, task: Sharded): Promise<void>;
  /**
   * The orders of a line's first tasks, `<createdAt>#<task id>`: all of them, or those after `after`. Reads eventually
   * consistent.
   * @param shards Those of a limit's line that are read. Absent: 0.
   */
  orders(line: string, limit: number, after?: string, shards?: readonly number[]): Promise<string[]>;
  state(line: string): Promise<WaitQueueState>;
  /** The states of several lines, in the same order. */
  states(lines: readonly string[]): Promise<WaitQueueState[]>;
  /**
   * Acquires a permit for each of these tasks. Changes nothing and returns false when one of them has a permit, or
   * there would be more than `limit`.
   * @param tasks 1 to 10.
   * @param isTurn True for the turn of a line in strict order. Default: a permit.
   */
  acquirePermits(
    line: string,
    tasks: readonly string[],
    untilMs: number,
    limit: number,
    isTurn?: boolean,
  ): Promise<boolean>;
  /**
   * Renews a task's permit until another time. Changes nothing and returns false when the task has no permit that ends
   * at the time in `from`: a call that arrives late must not end a permit that was kept since.
   */
  renewPermit(line: string, from: TaskPermit, untilMs: number): Promise<boolean>;
  /**
   * Releases a task's permit if it ends at this time, and returns the line's state after it. Returns undefined when it
   * has no such permit.
   */
  releasePermit(line: string, task: string, untilMs: number): Promise<WaitQueueState | undefined>;
  /**
   * Passes a task's permit on to another one, if it ends at this time, and returns the line's state after it. Changes
   * nothing and returns undefined when the task has no such permit, the other one has a permit, or there are more
   * permits than `limit`.
   */
  passPermit(line: string, from: TaskPermit, to: TaskPermit, limit: number): Promise<WaitQueueState | undefined>;
  /**
   * Notes a worker that waits for one of the permits. Changes nothing and returns false when another one waits until
   * after `nowMs`.
   */
  awaitPermit(line: string, successor: Successor, nowMs: number): Promise<boolean>;
  /** Ends a worker's wait. Returns false when it is over: the worker may have a permit. */
  endWait(line: string, id: string): Promise<boolean>;
  /**
   * Passes a task's permit on to the worker that waits for one, which has it under its id as a task would, and ends the
   * wait. Changes nothing and returns false when the task has no such permit, or the worker does not wait.
   */
  givePermit(line: string, from: TaskPermit, to: Successor): Promise<boolean>;
  /**
   * Takes the next starts of a rate: the first one now, or up to `aheadMs` later. One write where the rate has not been
   * reached.
   * @returns Epoch milliseconds of the first start, with fractions. Undefined: the next start is later.
   */
  acquireToken(line: string, want: WantedToken): Promise<number | undefined>;
  /**
   * Takes all starts up to `nextMs`. Changes nothing and returns false when the next one is no longer `seenMs`.
   * @param starts Those of a list of rates, with these. Absent: they stay as they are.
   */
  acquireTokens(line: string, seenMs: number | undefined, nextMs: number, starts?: CountedTokens): Promise<boolean>;
  /**
   * Notes the next check, and lists the line if it is of a limit. Changes nothing and returns false when the planned
   * one is no longer `seen`, as the line's state told it.
   * @param seen Undefined: none was planned.
   */
  planCheck(line: string, check: NextCheck, seen: PlannedCheck | undefined): Promise<boolean>;
  /** Notes the limit of an input. Changes nothing and returns false when that of a later input is noted. */
  noteLimit(line: string, limit: NotedLimit): Promise<boolean>;
  /** Notes that tasks wait in the line's shards above 0, and returns the line's state after it. */
  shard(line: string): Promise<WaitQueueState>;
  /** Notes that no task waits in the line's shards above 0. Does nothing while a check is planned. */
  unshard(line: string): Promise<void>;
  /**
   * Forgets the planned check of an empty line, and removes it from the list of lines. Does nothing when another check
   * is planned.
   */
  endChecks(line: string, id: string): Promise<void>;
  /**
   * Lines of a limit that have a planned check: tasks wait in them, or waited a moment ago.
   * @param prefix The start of their names, with the kind and the type: `rate/<type>/`.
   */
  list(prefix: string, limit: number): Promise<string[]>;
}

/** A pause. Its name is that of its line. */
export interface Pause {
  kind: "pause";
  name: string;
  /** ISO 8601 UTC. */
  since: string;
  /** The principal who paused. */
  by: string;
  /** The reason of a type that was paused by itself. Absent: a person paused it. */
  reason?: string;
}

/** Limits of a type that an operator set, or of one of its keys; they replace those of its definition. */
export interface TypeLimits {
  kind: "limits";
  /** `limits/<type>`, or `limits/<line>` of a key. */
  name: string;
  /** Permits of each key. Absent: as defined. */
  concurrency?: number;
  /** Starts of each key in `per_seconds`. Absent: as defined. */
  rate?: { limit: number; per_seconds: number };
  /** Epoch milliseconds from which the limit of a key counts as absent. Absent: it has no end. */
  untilMs?: number;
}

/** The breaker of a type for one tenant, or for one of its keys. */
export interface Breaker {
  kind: "breaker";
  name: string;
  /** Failures in a row. */
  failures: number;
  /** Epoch milliseconds until which no task starts; afterwards one tries. Absent: the breaker is closed. */
  openUntilMs?: number;
  /** Epoch milliseconds at which it opened. Absent: it is closed, or an earlier release opened it. */
  openedMs?: number;
  /** Epoch milliseconds from which it counts no failure: it guards a resume. Absent: it is the breaker of a type. */
  guardsUntilMs?: number;
}

/** A breaker that guards a resume. The table deletes it after its end. */
export type ResumeGuard = Breaker & Required<Pick<Breaker, "guardsUntilMs">>;

/**
 * The mark of a tenant that has receivers of webhooks: workers read it with the settings, and tell of each end of its
 * tasks.
 */
export interface ReceiversMark {
  kind: "receivers";
  /** `receivers/<tenant>`. */
  name: string;
}

export type FlowSetting = Pause | TypeLimits | Breaker | ReceiversMark;

export const receiversName = (tenantId: string): string => `receivers/${tenantId}`;

/** The name of the breaker that guards the resume of a pause. */
export const guardName = (pause: string): string => `guard/${pause}`;

/** @param of A type, or the line of one of its keys. */
export const limitsName = (of: string): string => `limits/${of}`;

/** The settings that a process reads together. */
export interface SomeSettings {
  settings: FlowSetting[];
  /** False: there are further breakers. */
  whole: boolean;
}

/** Processes read the settings again after this time, in milliseconds: by then a change applies in each. */
export const settingsAgeMs = 2_000;

/** By this time after a change, in milliseconds, every process has read the settings. */
export const settingsKnownMs = settingsAgeMs + 500;

/**
 * Settings of flow that change at run time. All methods throw `PortUnavailable`. Contract suite:
 * `test/contract/flow-settings.ts`.
 */
export interface FlowSettings {
  /** All settings. Reads consistently. */
  all(): Promise<FlowSetting[]>;
  /** All settings but breakers of types, and as many of these as make about `max` in all. Reads consistently. */
  some(max: number): Promise<SomeSettings>;
  /** Settings whose names begin with `prefix`, at most so many, in the order of their names. Reads consistently. */
  named(prefix: string, max: number): Promise<FlowSetting[]>;
  /** One setting. Reads consistently. */
  find(name: string): Promise<FlowSetting | undefined>;
  put(setting: Pause | TypeLimits | ReceiversMark | ResumeGuard): Promise<void>;
  remove(name: string): Promise<void>;
  /**
   * Counts a failure of a breaker at `nowMs`, and opens it until `openUntilMs` when there are `max` in a row. Returns
   * the breaker.
   */
  countFailure(name: string, max: number, openUntilMs: number, nowMs: number): Promise<Breaker>;
  /**
   * Counts a failure for the guard of a resume, and makes it if there is none, until `untilMs`. Returns the failures in
   * a row.
   */
  countForGuard(name: string, untilMs: number): Promise<number>;
  /**
   * Lets one task try: moves the end of an open breaker from `seenMs` to `untilMs`. Returns false when it has changed.
   */
  tryBreaker(name: string, seenMs: number, untilMs: number): Promise<boolean>;
}
