import { Problem } from "../model/problem.ts";
import { isKept, type TaskRecord } from "../model/record.ts";
import type { EntryPorts } from "../steps/keep-entries.ts";
import { discardOne, type LetterOutcome, replayOne } from "./act-on-letter.ts";
import { type ControlPorts, cancel, retry } from "./control.ts";
import type { Matched, OperationAction } from "./operation-state.ts";

/** Outcome of an operation's action on one task. `skipped`: the task is no longer as it matched. */
export type ActOutcome = LetterOutcome;

export type ActPorts = ControlPorts & EntryPorts;

/** The actions of operations on one task. Each may be repeated, and throws `PortUnavailable`. */
export const actions: Readonly<Record<OperationAction, (ports: ActPorts, matched: Matched) => Promise<ActOutcome>>> = {
  replay: (ports, { key, entry }) => replayOne(ports, { ...key, dead_letter_at: entry[1] }),
  discard: (ports, { key, entry }) => discardOne(ports, { ...key, dead_letter_at: entry[1] }),
  cancel: (ports, matched) => onSameRound(ports, matched, (record) => cancel(ports, record)),
  retry: (ports, matched) => onSameRound(ports, matched, (record) => retry(ports, record)),
};

/** Acts on a task that is still in the round in which it matched. A conflict means that it has moved on. */
async function onSameRound(
  ports: ActPorts,
  { key, entry }: Matched,
  act: (record: TaskRecord) => Promise<unknown>,
): Promise<ActOutcome> {
  const record = await ports.records.get(key, "consistently");
  if (record === undefined || !isKept(record, ports.clock.now()) || record.round !== Number(entry[1])) return "skipped";
  try {
    await act(record);
    return "done";
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.code === "conflict" ? "skipped" : "failed";
  }
}
