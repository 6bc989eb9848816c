import { Problem } from "../model/problem.ts";
import { isKept, type TaskRecord } from "../model/record.ts";
import type { EntryPorts } from "../steps/keep-entries.ts";
import { discardOne, type LetterOutcome, replayOne } from "./act-on-letter.ts";
import { type CancelHow, type ControlPorts, cancel, retry } from "./control.ts";
import type { Matched, OperationAction } from "./operation-state.ts";
import { runNow } from "./run-now.ts";

/** Outcome of an operation's action on one task. `skipped`: the task is no longer as it matched. */
export type ActOutcome = LetterOutcome;

export type ActPorts = ControlPorts & EntryPorts;

type Action = (ports: ActPorts, matched: Matched, how: CancelHow) => Promise<ActOutcome>;

/** The actions of operations on one task. Each may be repeated, and throws `PortUnavailable`. */
export const actions: Readonly<Record<OperationAction, Action>> = {
  replay: (ports, { key, entry }) => replayOne(ports, { ...key, dead_letter_at: entry[1] }),
  discard: (ports, { key, entry }) => discardOne(ports, { ...key, dead_letter_at: entry[1] }),
  cancel: (ports, matched, how) => onSameRound(ports, matched, (record) => cancel(ports, record, how)),
  retry: (ports, matched) => onSameRound(ports, matched, (record) => retry(ports, record)),
  run_now: (ports, matched) => onSame(ports, matched, "due_at", (record) => runNow(ports, record)),
};

const onSameRound = (ports: ActPorts, matched: Matched, act: (record: TaskRecord) => Promise<unknown>) =>
  onSame(ports, matched, "round", act);

/** Acts on a task whose field is still as it matched. A conflict means that the task has moved on. */
async function onSame(
  ports: ActPorts,
  { key, entry }: Matched,
  field: "round" | "due_at",
  act: (record: TaskRecord) => Promise<unknown>,
): Promise<ActOutcome> {
  const record = await ports.records.get(key, "consistently");
  if (record === undefined || !isKept(record, ports.clock.now()) || String(record[field]) !== entry[1])
    return "skipped";
  try {
    await act(record);
    return "done";
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.code === "conflict" || error.code === "not_waiting" ? "skipped" : "failed";
  }
}
