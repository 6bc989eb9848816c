import { TaskError } from "../model/errors.ts";
import type { StepEntry } from "../ports/steps.ts";

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

export const keyOf = ({ kind, name }: Pick<StepEntry, "kind" | "name">): string => `${kind}:${name}`;

export const inWords = ({ kind, name }: Pick<StepEntry, "kind" | "name">): string =>
  kind === "sleep" ? `sleep ${name}` : `${kind === "wait" ? "waitFor" : "step"} ${JSON.stringify(name)}`;

/**
 * The entry of a call from an earlier attempt.
 * @throws StepsChanged when the call differs from that of the earlier attempt
 */
export function entryOf(call: Call, stored: ReadonlyMap<string, StepEntry>): StepEntry | undefined {
  const own = stored.get(keyOf(call));
  if (!call.sequential) return own;
  const there = [...stored.values()].find(({ order, sequential }) => order === call.order && sequential === true);
  const moved = own?.sequential === true && own.order !== call.order;
  if ((there === undefined || keyOf(there) === keyOf(call)) && !moved) return own;
  const before = there === undefined ? `was call ${own?.order}` : `was ${inWords(there)}`;
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
