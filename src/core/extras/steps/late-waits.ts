import { inShort } from "../../../util/foreign-value.ts";
import { PermanentError } from "../../model/errors.ts";
import type { StepEntry, StoredEntry } from "../../ports/steps.ts";
import { parsedValue } from "../../task/json-value.ts";
import { type Call, checkedMs, checkedSignalName, longestWaitSeconds, type WaitEnd } from "../../task/step-calls.ts";
import { numberedSignal, takenSignals } from "./send-numbered.ts";
import type { AnySignal, StepTools } from "./step-tools.ts";

/*
 * What only some waits need: the next one of several signals, the first one of several names, an end at a date. Most
 * waits are for one signal, and end after some seconds.
 */

/** A call of `nextSignal`: its name, and its number among the attempt's calls of this name, from 1. */
interface Reading {
  name: string;
  number: number;
}

/** The names of the signals that the calls of an attempt read now. */
const underWay = new WeakMap<StepTools, Set<string>>();

/**
 * Reads the next signal of a name. Signals and time-outs have numbers without a gap. Each call takes the signal, or the
 * time-out, of its own number: if both come at the same moment, the store decides.
 * @returns The signal's body; undefined when the wait timed out.
 */
export async function nextSignal(
  steps: StepTools,
  call: Call,
  reading: Reading,
  begun: (untilAt: (nowMs: number) => number) => Promise<number>,
  end: WaitEnd,
): Promise<unknown> {
  const name = checkedSignalName(reading.name, "nextSignal");
  const untilAt = checkedEnd(end, "nextSignal");
  const names = underWay.get(steps) ?? new Set();
  underWay.set(steps, names);
  if (names.has(name)) throw new PermanentError(`nextSignal ${JSON.stringify(name)}: one call at a time`);
  names.add(name);
  return next(steps, call, reading, () => begun(untilAt)).finally(() => names.delete(name));
}

async function next(
  steps: StepTools,
  call: Call,
  { name, number }: Reading,
  begun: () => Promise<number>,
): Promise<unknown> {
  const stored = await steps.stored();
  // The calls of `aggregate` go on behind those of the handler, and of earlier rounds.
  const prefix = call.name.slice(0, -steps.ownName(call).length);
  const others = [...stored.values()].filter((one) => prefix !== "" && !one.name.startsWith(prefix));
  const item = numberedSignal(name, takenSignals(name, others) + number);
  const untilMs = await begun();
  const come = stored.get(`signal:${item}`);
  if (come !== undefined) return bodyOf(come);
  if (steps.ports.clock.now() < untilMs) await steps.rest.wait({ untilMs, signals: [name] });
  return bodyOf(await steps.add({ kind: "signal", name: item, timed_out: true }));
}

const bodyOf = ({ timed_out, value }: StepEntry): unknown => (timed_out === true ? undefined : parsedValue(value));

/**
 * Waits for one of several signals. The signal that ended the wait is stored, as another signal may follow.
 * @returns Undefined when the wait timed out.
 */
export async function anySignal(
  steps: StepTools,
  call: Call,
  names: readonly string[],
  begun: (untilAt: (nowMs: number) => number) => Promise<number>,
  end: WaitEnd,
): Promise<AnySignal | undefined> {
  mustBeSignalNames(names, "waitForAny");
  const untilAt = checkedEnd(end, "waitForAny");
  const entries = await steps.stored();
  const answer = { kind: "read", name: call.name } as const;
  const read = entries.get(`read:${call.name}`);
  if (read !== undefined) return answered(read, entries);
  const until = await begun(untilAt);
  const come = earliest(names, entries);
  if (come !== undefined) return answered(await steps.add({ ...answer, value: JSON.stringify(come) }), entries);
  if (steps.ports.clock.now() < until) await steps.rest.wait({ untilMs: until, signals: names });
  // A signal that comes later must not change what this task did: the time-out is stored under each name.
  for (const name of names) await steps.add({ kind: "signal", name, timed_out: true });
  const late = earliest(names, entries);
  const how = late === undefined ? { timed_out: true as const } : { value: JSON.stringify(late) };
  return answered(await steps.add({ ...answer, ...how }), entries);
}

/** The name of the signal that came first. */
function earliest(names: readonly string[], entries: ReadonlyMap<string, StoredEntry>): string | undefined {
  const come = names
    .flatMap((name) => entries.get(`signal:${name}`) ?? [])
    .filter(({ timed_out }) => timed_out !== true);
  return come.toSorted(({ at: a = "" }, { at: b = "" }) => (a < b ? -1 : Number(a > b)))[0]?.name;
}

function answered({ value, timed_out }: StepEntry, entries: ReadonlyMap<string, StepEntry>): AnySignal | undefined {
  if (timed_out === true) return undefined;
  const name = parsedValue(value) as string;
  return { name, body: parsedValue(entries.get(`signal:${name}`)?.value) };
}

/** The most names of one wait. */
const maxNames = 10;

/** @throws PermanentError */
function mustBeSignalNames(names: readonly string[], what: string): void {
  if (names.length === 0 || names.length > maxNames) {
    throw new PermanentError(
      `${what}: expected an object with 1 to ${maxNames} names of signals, such as { approve: {}, reject: {} }, got ${names.length}`,
    );
  }
  for (const name of names) checkedSignalName(name, what);
}

/** Returns what the end of a wait is, given the present time; both in epoch milliseconds. @throws PermanentError */
export function checkedEnd(end: WaitEnd | undefined, what: string): (nowMs: number) => number {
  if (end?.until === undefined) {
    const ms = checkedMs(end?.timeoutSeconds as number, `${what}: timeoutSeconds`);
    return (nowMs) => nowMs + ms;
  }
  if (end.timeoutSeconds !== undefined) {
    throw new PermanentError(`${what}: give either timeoutSeconds or until, not both`);
  }
  return untilTime(end.until, `${what}: until`);
}

/**
 * The time of a date, or of its ISO text. @throws PermanentError for any other value, and for a time that is more than
 * a year away
 */
export function untilTime(given: Date | string, what: string): (nowMs: number) => number {
  const untilMs = timeOf(given);
  if (Number.isNaN(untilMs)) {
    throw new PermanentError(`${what}: expected a Date, or a time such as 2027-04-07T10:00:00Z, got ${inShort(given)}`);
  }
  return (nowMs) => {
    if (untilMs - nowMs <= longestWaitSeconds * 1000) return untilMs;
    throw new PermanentError(`${what}: ${new Date(untilMs).toISOString()} is more than a year away`);
  };
}

/** Epoch milliseconds. A text needs its offset from UTC: without one it would be the worker's local time. */
function timeOf(given: unknown): number {
  if (typeof given === "string") return isoTime.test(given) ? Date.parse(given) : Number.NaN;
  return Object.prototype.toString.call(given) === "[object Date]" ? (given as Date).getTime() : Number.NaN;
}

const isoTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d))?$/;
