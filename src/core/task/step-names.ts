import { inShort } from "../../util/foreign-value.ts";
import { PermanentError } from "../model/errors.ts";
import { wellFormed } from "../model/well-formed.ts";

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
