import type { StepEntry, StoredEntry } from "../../ports/steps.ts";
import { parsedValue } from "../../task/json-value.ts";
import type { Call } from "../../task/step-calls.ts";
import type { WaitEnd } from "../../task/step-names.ts";
import type { AnySignal, StepTools } from "./step-tools.ts";
import { checkedEnd, mustBeSignalNames } from "./wait-ends.ts";

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
