import { Problem } from "../model/problem.ts";
import { isKept, type TaskKey, type TaskRecord } from "../model/record.ts";
import { targetOf } from "../notify/receivers.ts";
import { mostTriesBefore, redeliver } from "../notify/redeliver.ts";
import type { Receivers } from "../ports/receivers.ts";
import type { Deliveries } from "../ports/webhooks.ts";
import type { EntryPorts } from "../send/keep-entries.ts";
import { discardOne, type LetterOutcome, replayOne } from "./act-on-letter.ts";
import { type CancelHow, type ControlPorts, cancel, startRound } from "./control.ts";
import type { Matched, OperationAction } from "./operation-state.ts";
import { runNow } from "./run-now.ts";

/** Outcome of an operation's action on one task. `skipped`: the task is no longer as it matched. */
export type ActOutcome = LetterOutcome;

export type ActPorts = ControlPorts &
  EntryPorts & { deliveries: Pick<Deliveries, "get" | "put">; receivers: Pick<Receivers, "get"> };

/**
 * Delivers a webhook again. A webhook whose tries go on is delivered by them. Its receiver may be gone, or disabled,
 * since the operation began.
 */
async function redeliverOne(ports: ActPorts, key: TaskKey, id: string): Promise<ActOutcome> {
  const delivery = await ports.deliveries.get(key, id);
  if (delivery === undefined) return "skipped";
  if (delivery.state === "pending") return "done";
  if (delivery.tries.length >= mostTriesBefore) return "failed";
  if ("error" in (await targetOf(ports, delivery))) return "failed";
  await redeliver(ports, delivery);
  return "done";
}

type Action = (ports: ActPorts, matched: Matched, how: CancelHow) => Promise<ActOutcome>;

/** The actions of operations on one task. Each may be repeated, and throws `PortUnavailable`. */
export const actions: Readonly<Record<OperationAction, Action>> = {
  replay: (ports, { key, entry }) => replayOne(ports, { ...key, dead_letter_at: entry[1] }),
  discard: (ports, { key, entry }) => discardOne(ports, { ...key, dead_letter_at: entry[1] }),
  cancel: (ports, matched, how) => onSameRound(ports, matched, (record) => cancel(ports, record, how)),
  retry: (ports, matched) => onSameRound(ports, matched, (record) => startRound(ports, record)),
  run_now: (ports, matched) => onSame(ports, matched, "due_at", (record) => runNow(ports, record)),
  redeliver: (ports, { key, entry }) => redeliverOne(ports, key, entry[1]),
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
