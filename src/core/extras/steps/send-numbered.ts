import { Problem } from "../../model/problem.ts";
import type { TaskRecord } from "../../model/record.ts";
import { newEntryPurgeAt } from "../../pipeline/send/keep-entries.ts";
import type { StepEntry, StepStore, StoredEntry } from "../../ports/steps.ts";
import type { Clock, NewId } from "../../ports/tasks.ts";
import { readName } from "../../task/step-calls.ts";

/** Name of the entry of a signal that is one of several: the first has the name alone, as every signal has. */
export const numberedSignal = (name: string, number: number): string => (number === 1 ? name : readName(name, number));

/** The number of the calls of `nextSignal` that a task has made for a name, those that wait included. */
export const takenSignals = (name: string, waits: Iterable<Pick<StepEntry, "kind" | "name">>): number =>
  [...waits].filter((one) => one.kind === "wait" && readBy(one) === name).length;

/** The name of the signals that a call of `nextSignal` reads. Undefined: the entry is of another call. */
const readBy = ({ name }: Pick<StepEntry, "name">): string | undefined =>
  /^(?:aggregate \d+: )?([^ |]+) #\d+$/.exec(name)?.[1];

/** The most signals of a task that its handler has not read, and their bytes. */
export const maxUnread = 100;
export const maxUnreadBytes = 1024 * 1024;

/** The most bytes of all signals of a task: each attempt has them in memory. */
const maxBytes = 16 * 1024 * 1024;

interface SendingPorts {
  clock: Clock;
  newId: NewId;
  steps: StepStore;
}

/** A signal on its way: its JSON text, the time at which it came, and its request's key. */
export interface Sent {
  name: string;
  value: string;
  at: string;
  key?: string;
}

/**
 * Stores one more signal of a name, under the first free number. Numbers have no gap, as each call of the handler takes
 * one. A request that is repeated under its key finds its first signal, also where both come at the same time.
 * @throws Problem `idempotency_key_reused` when the key has another body; `quota_exceeded`
 */
export async function sendNumbered(
  ports: SendingPorts,
  record: TaskRecord,
  { name, value, at, key = ports.newId() }: Sent,
): Promise<StoredEntry> {
  const [signals, waits] = await Promise.all([ports.steps.load(record, "signal"), ports.steps.load(record, "wait")]);
  const own = new Map(signals.map((one) => [one.name, one]));
  let number = 1;
  for (let there = own.get(name); there !== undefined; there = own.get(numberedSignal(name, number))) {
    if (there.key === key) return sameBody(there, value);
    number += 1;
  }
  const room = roomFor(name, value, signals, waits);
  for (; ; number += 1) {
    room(number);
    const entry = { kind: "signal", name: numberedSignal(name, number), value, at, key } as const;
    const stored = await ports.steps.add(record, entry, newEntryPurgeAt(ports.clock, record));
    if (stored.key === key) return sameBody(stored, value);
  }
}

function sameBody(stored: StoredEntry, value: string): StoredEntry {
  if (stored.value === value) return stored;
  throw new Problem("idempotency_key_reused", "This Idempotency-Key was used with a different request.");
}

/**
 * Returns what refuses a number that would be one signal too many. Numbers have no gap, so requests at the same time
 * cannot pass it together.
 */
function roomFor(
  name: string,
  value: string,
  signals: readonly StepEntry[],
  waits: readonly StepEntry[],
): (number: number) => void {
  const isOwn = (one: StepEntry) => one.name === name || one.name.startsWith(`${name} #`);
  const taken = takenSignals(name, waits);
  const ownUnread = new Set(signals.filter(isOwn).slice().sort(byNumber).slice(taken));
  const others = unreadOf(
    signals.filter((one) => !isOwn(one)),
    waits,
  );
  const bytesOf = (all: Iterable<StepEntry>) =>
    [...all].reduce((sum, one) => sum + Buffer.byteLength(one.value ?? ""), Buffer.byteLength(value));
  const isFull = bytesOf([...ownUnread, ...others]) > maxUnreadBytes || bytesOf(signals) > maxBytes;
  return (number) => {
    const unread = others.length + Math.max(0, number - 1 - taken);
    if (!isFull && unread < maxUnread) return;
    throw new Problem(
      "quota_exceeded",
      `The task has ${unread} signals that it has not read; the most are ${maxUnread}, with ${maxUnreadBytes} bytes, and ${maxBytes} bytes of all signals.`,
      { retryAfterSeconds: 60 },
    );
  };
}

const numberOf = ({ name }: StepEntry): number => Number(name.split(" #")[1] ?? 1);
const byNumber = (a: StepEntry, b: StepEntry): number => numberOf(a) - numberOf(b);

/** The signals that the handler has not waited for. */
export function unreadOf(signals: readonly StepEntry[], waits: readonly StepEntry[]): StepEntry[] {
  const waitedFor = new Set(waits.flatMap(({ name }) => name.replace(/^aggregate \d+: /, "").split("|")));
  return signals.filter((one) => {
    if (one.timed_out === true || waitedFor.has(one.name)) return false;
    return numberOf(one) > takenSignals(one.name.split(" #")[0] ?? "", waits);
  });
}
