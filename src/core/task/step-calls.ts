import { inShort } from "../../util/foreign-value.ts";
import { PermanentError, TaskError } from "../model/errors.ts";
import { wellFormed } from "../model/idempotency.ts";
import type { StepEntry } from "../ports/steps.ts";

/** True for the name of a signal, which is part of a path. */
export const isSignalName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name);

/** @throws PermanentError */
export function checkedSignalName(name: string, what = "waitFor"): string {
  if (typeof name === "string" && isSignalName(name)) return name;
  throw new PermanentError(
    `${what}: a name has 1 to 64 letters, digits, ".", "_" or "-", and starts with a letter or digit; got ${inShort(name)}`,
  );
}

/** Most characters of a step's name. */
const longestName = 100;

/** @throws PermanentError */
export function checkedStepName(name: string): string {
  if (typeof name === "string" && name !== "" && name.length <= longestName) return wellFormed("step", name);
  throw new PermanentError(`step: a name has 1 to ${longestName} characters, got ${inShort(name)}`);
}

/** The longest sleep and wait, in seconds: a year. */
export const longestWaitSeconds = 31_536_000;

/** Milliseconds of a sleep or wait. @throws PermanentError */
export function checkedMs(seconds: number, what: string): number {
  if (typeof seconds === "number" && seconds >= 0 && seconds <= longestWaitSeconds) return Math.ceil(seconds * 1000);
  throw new PermanentError(`${what} must be a number from 0 to ${longestWaitSeconds}, got ${inShort(seconds)}`);
}

/** The end of a wait: at a time, or after some seconds. */
export type WaitEnd =
  | { timeoutSeconds: number; until?: undefined }
  | { until: Date | string; timeoutSeconds?: undefined };

/** Attempts and times of one step. */
export interface StepOptions {
  /**
   * Most attempts of the step in a round of the task, 1 to 20. Default: 5 with `retry`; without both options a failure
   * of the step is one of the task's attempt.
   */
  maxAttempts?: number;
  /** Waits between its attempts, in seconds, at most 2,592,000. Default: those of the type. */
  retry?: {
    /** Wait before attempt 2. Default: 30. */
    baseSeconds?: number;
    /** Each later wait is that many times longer, 1 to 100. Default: 2. */
    factor?: number;
    /** The longest wait. Default: 43,200. */
    maxSeconds?: number;
  };
  /**
   * An attempt of the step that takes longer has failed, as `timed_out`: its signal fires. Default: only the attempt of
   * the task has a time-out, which ends the step's, too.
   */
  timeoutSeconds?: number;
}

/** One attempt of a step. */
export interface StepAttempt {
  /** Its number in the task's round, from 1. */
  readonly attempt: number;
  /** Fires when it times out, and with the signal of the task. */
  readonly signal: AbortSignal;
}

/**
 * The handler makes other calls than in an earlier attempt: a release is being deployed, or was rolled back. Created by
 * Offload; retried, as a worker of the other release makes the earlier calls.
 */
class StepsChanged extends TaskError {
  static override readonly name: string = "StepsChanged";
  readonly kind = "unavailable";
}

/** A handler's call that is under way. */
export interface Call extends Pick<StepEntry, "kind" | "name" | "sequential"> {
  order: number;
}

/** Name of the entry of a step's try, or of a child's end, by its number over all rounds, from 1. */
export const tryName = (name: string, number: number): string => `${name} #${number}`;

/** Name of the call that reads a signal of this name, by its number from 1. */
export const readName = (name: string, number: number): string => `${name} #${number}`;

/** The call that made an entry: the first try of a step is made by the step's call, a child's end by that of `run`. */
const callOf = ({ kind, name }: StepEntry): Pick<StepEntry, "kind" | "name"> =>
  kind === "try" || kind === "run"
    ? { kind: kind === "try" ? "step" : kind, name: name.slice(0, name.lastIndexOf(" #")) }
    : { kind, name };

export const keyOf = ({ kind, name }: Pick<StepEntry, "kind" | "name">): string => `${kind}:${name}`;

export const inWords = ({ kind, name }: Pick<StepEntry, "kind" | "name">): string =>
  kind === "sleep" ? `sleep ${name}` : `${kind === "wait" ? waitOf(name) : kind} ${JSON.stringify(name)}`;

const waitOf = (name: string): string => (name.includes(" #") ? "nextSignal" : "waitFor");

/**
 * The entry of a call from an earlier attempt.
 * @throws StepsChanged when the call differs from that of the earlier attempt
 */
export function entryOf(call: Call, stored: ReadonlyMap<string, StepEntry>): StepEntry | undefined {
  const numbered = call.kind === "run" ? "run" : "try";
  const own = numbered === "run" ? undefined : stored.get(keyOf(call));
  if (!call.sequential) return own;
  const first = own ?? stored.get(keyOf({ kind: numbered, name: tryName(call.name, 1) }));
  const there = [...stored.values()].find(({ order, sequential }) => order === call.order && sequential === true);
  const moved = first?.sequential === true && first.order !== call.order;
  if ((there === undefined || keyOf(callOf(there)) === keyOf(call)) && !moved) return own;
  const before = there === undefined ? `was call ${first?.order}` : `was ${inWords(callOf(there))}`;
  throw new StepsChanged(
    `call ${call.order} of the handler is ${inWords(call)} now, and ${before} in an earlier attempt. ` +
      "The calls of a task that has started must keep their names and their order: finish such tasks with the earlier code, or submit them again",
  );
}

/**
 * The entry that ends a sleep before its time: a signal with a name that no client can send, as an earlier release
 * knows no other kind.
 */
export const wakeOf = ({ name }: Pick<StepEntry, "name">): StepEntry => ({
  kind: "signal",
  name: `sleep: ${name}`,
  value: "null",
});
