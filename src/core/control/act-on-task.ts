import { Problem } from "../model/problem.ts";
import { isKept, iso, type TaskKey, type TaskRecord } from "../model/record.ts";
import { maxTriesBefore, redeliver } from "../notify/deliver.ts";
import { targetOf } from "../notify/receivers.ts";
import * as extras from "../pipeline/send/extras.ts";
import type { EntryPorts } from "../pipeline/send/keep-entries.ts";
import { reportChanged } from "../pipeline/send/report.ts";
import type { EndPorts } from "../ports/extra.ts";
import type { Clock, Records } from "../ports/tasks.ts";
import type { Deliveries, Receivers } from "../ports/webhooks.ts";
import { type CancelHow, type ControlPorts, cancel, startRound } from "./control.ts";
import type { Matched, OperationAction } from "./operation.ts";
import { runNow } from "./run-now.ts";

/**
 * Key of one dead letter: a task and the time at which it failed. A task that is replayed and fails again is another
 * one.
 */
export interface DeadLetterKey extends TaskKey {
  dead_letter_at: string;
}

/** Outcome of a replay or discard of one dead letter. `skipped`: it no longer existed. */
type DeadLetterOutcome = "done" | "skipped" | "failed";

interface ReadPorts {
  records: Records;
  clock: Clock;
}

/**
 * Starts a new round of a dead letter's task, if the dead letter still exists. May be repeated.
 * @throws PortUnavailable
 */
export async function replayOne(ports: EndPorts & EntryPorts, deadLetter: DeadLetterKey): Promise<DeadLetterOutcome> {
  const record = await stillThere(ports, deadLetter);
  if (record === undefined) return "skipped";
  try {
    await startRound(ports, record);
    return "done";
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.code === "conflict" ? "skipped" : "failed";
  }
}

/**
 * Removes a task from the dead letters; its record stays `failed`. May be repeated.
 * @throws PortUnavailable
 */
export async function discardOne(ports: EndPorts, deadLetter: DeadLetterKey): Promise<DeadLetterOutcome> {
  const changed = await ports.records.change(deadLetter, {
    when: stillDeadLetter(ports, deadLetter),
    set: { updated_at: iso(ports.clock.now()) },
    remove: ["dead_letter_at", "buried_at"],
  });
  if (!changed.done) return "skipped";
  reportChanged(ports, changed.record, "discarded");
  await extras.discarded(ports, changed.record);
  return "done";
}

/**
 * Returns the record if it still is this dead letter. This is a conditional write, as a read may return an old record:
 * then a replay would be left out, or a DLQ message deleted, by mistake.
 */
export async function stillThere(ports: ReadPorts, deadLetter: DeadLetterKey): Promise<TaskRecord | undefined> {
  const changed = await ports.records.change(deadLetter, {
    when: stillDeadLetter(ports, deadLetter),
    set: { updated_at: iso(ports.clock.now()) },
  });
  return changed.done ? changed.record : undefined;
}

const stillDeadLetter = (ports: ReadPorts, deadLetter: DeadLetterKey) =>
  ({
    status: { is: "failed" },
    dead_letter_at: { is: deadLetter.dead_letter_at },
    purge_at: { above: Math.floor(ports.clock.now() / 1000) },
  }) as const;

/** Outcome of an operation's action on one task. `skipped`: the task is no longer as it matched. */
export type ActOutcome = DeadLetterOutcome;

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
  if (delivery.tries.length >= maxTriesBefore) return "failed";
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
