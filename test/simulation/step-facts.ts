import type { StepEntry } from "../../src/core/ports/steps.ts";
import type { Invocation } from "./invocation.ts";

/** A signal that clients sent. */
interface Sent {
  /** JSON texts of the bodies that clients sent. */
  bodies: Set<string>;
  /** The body of a signal whose sender was told that it is accepted. */
  accepted: string | undefined;
}

/** Requests of one attempt to the store of entries. */
export interface Requests {
  loads: number;
  /** Reads of all entries to keep them, which the attempt itself does not need. */
  readsToKeep: number;
  /** Reads of what earlier attempts submitted. */
  submits: number;
  keeps: number;
  /** Number of requests by the entry's key. */
  adds: Map<string, number>;
  states: number;
  /** True when the attempt has sealed a node of its family: it is about to wait for children. */
  sealed: boolean;
}

export const newRequests = (): Requests => ({
  ...{ loads: 0, readsToKeep: 0, submits: 0, keeps: 0, states: 0, sealed: false },
  adds: new Map(),
});

/** What is known of a task's steps, sleeps, waits, signals and states. */
export interface StepFacts {
  /** The calls of handlers, by their keys, with the time of the first one in epoch milliseconds. */
  called: Map<string, number>;
  /** Entries as they were stored first: their time, and JSON text of their content. */
  stored: Map<string, { atMs: number; entry: StepEntry }>;
  /** JSON texts of what each call returned, by key. */
  returned: Map<string, string>;
  /** Keys of sleeps and waits whose time is over. */
  ended: Set<string>;
  /** The attempts that did the effect of a step, by their numbers over all rounds. */
  effects: Map<string, number[]>;
  /** Idempotency keys of steps. */
  keys: Map<string, string>;
  signals: Map<string, Sent>;
  /** JSON texts of the states by rank: a later attempt's come after an earlier one's. */
  states: Map<string, number>;
  /** Rank of the state that is stored now. */
  stateRank: number;
  /** The signals that the last suspended attempt waits for, and its number over all rounds. */
  waits: { names: readonly string[]; total: number };
  /** Ranks of the states whose handlers were told that they are stored, and the times of that. */
  acknowledged: { rank: number; atMs: number }[];
  /** By the number of the attempt over all rounds. */
  requests: Map<number, Requests>;
  /** Workers that will read the entries once to keep them, as the task waits in a line. */
  keepers: Invocation[];
}

export const newStepFacts = (): StepFacts => ({
  called: new Map(),
  stored: new Map(),
  returned: new Map(),
  ended: new Set(),
  effects: new Map(),
  keys: new Map(),
  signals: new Map(),
  states: new Map(),
  stateRank: -1,
  waits: { names: [], total: 0 },
  acknowledged: [],
  requests: new Map(),
  keepers: [],
});
