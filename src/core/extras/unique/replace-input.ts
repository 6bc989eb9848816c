import type { Change } from "../../model/change.ts";
import { isKept, iso, type TaskRecord } from "../../model/record.ts";
import { waitsForTurn } from "../../model/suspension.ts";
import { maxWaitSeconds, type Unique } from "../../model/unique-body.ts";
import { dispatch } from "../../pipeline/send/dispatch.ts";
import { storedEnvelope } from "../../pipeline/send/large-input.ts";
import { keptUntil } from "../../pipeline/send/parts.ts";
import { sameRetention } from "../../pipeline/send/retention.ts";
import { isUnstarted, movedStart } from "../../pipeline/send/start-time.ts";
import type { DispatchPorts } from "../../ports/steps.ts";
import { keepInput } from "../input/index.ts";
import { keepKey } from "./index.ts";

/** The input of a later submit, and its version by the task's type. */
export interface NewInput {
  input: unknown;
  version: number;
  unique: Unique;
  /** Epoch milliseconds of the start that the submit asks for. Undefined: the task starts when it would have. */
  startMs?: number | undefined;
}

/**
 * The end of a replacement. `replaced`: the task has the input, or had it until a submit that came at the same time
 * replaced it. `started`: the task does not wait for its first attempt any more, and never had the input. `again`: the
 * task changed at the same time in another way.
 */
export type Replacement = { as: "replaced"; record: TaskRecord } | { as: "started" | "again" };

/**
 * Replaces the input of a waiting task: stores the new one as a part of its own, then names that part in the record, on
 * condition that no other input has come between. An input that has come between came at the same time as this one, and
 * counts as the later of the two. So a late repeat of a request brings no earlier input back.
 * @param record The task as it was read after the submit had begun, consistently.
 * @throws Problem `too_large`; PortUnavailable
 */
export async function replaceInput(ports: DispatchPorts, record: TaskRecord, given: NewInput): Promise<Replacement> {
  const { replaced = 0 } = record;
  const input_version = given.version === 1 ? undefined : given.version;
  const envelope = await storedEnvelope(ports, { ...record, input_version } as TaskRecord, given.input);
  const due = startOf(record, dueMsOf(ports, record, given));
  const purgeAt = due?.purge_at ?? record.purge_at;
  await ports.records.savePart(record, `input#${envelope.message_id}`, envelope, keptUntil(purgeAt));
  await keepUnstarted(ports, record, purgeAt);
  const now = ports.clock.now();
  const change: Change = {
    when: {
      status: { is: "pending" },
      attempts_total: { is: 0 },
      round: { is: 1 },
      created_at: { is: record.created_at },
      start_by: { above: iso(now), orAbsent: true },
      // The part is stored for as long as the record was to be kept.
      purge_at: isKept(record, now) ? { is: record.purge_at } : { above: Math.floor(now / 1000) },
      ...sameDue(record, due !== undefined),
      replaced: replaced === 0 ? { absent: true } : { is: replaced },
      ...sameRetention(record),
    },
    set: { updated_at: iso(now), input_part: envelope.message_id, replaced: replaced + 1, input_version, ...due },
    ...(input_version === undefined && { remove: ["input_version"] as const }),
  };
  const changed = await ports.records.change(record, change);
  const current = changed.record;
  if (current === undefined || current.created_at !== record.created_at) return { as: "started" };
  // Also when this write was made at its first try, whose answer was lost.
  if ((current.replaced ?? 0) <= replaced) return { as: isUnstarted(current) ? "again" : "started" };
  const isEarlier = due !== undefined && due.due_at < record.due_at;
  // The message is on its way for a later time. Without this one, the task would start then.
  if (isEarlier && current.input_part === envelope.message_id) await dispatch(ports, current, envelope);
  return { as: "replaced", record: current };
}

/** Keeps all that is beside the record of a task that has not started. */
async function keepUnstarted(ports: DispatchPorts, record: TaskRecord, purgeAt: number): Promise<void> {
  if (purgeAt <= record.purge_at) return;
  await keepKey(ports, record, purgeAt);
  await keepInput(ports, record, purgeAt);
}

/** The condition that no other call has moved the start meanwhile, or has let the task start in its turn. */
const sameDue = (record: TaskRecord, isMoved: boolean): Change["when"] =>
  isMoved || waitsForTurn(record) ? { due_at: { is: record.due_at } } : {};

/** The start of a task that waits for its turn moves, and its turn does not. */
function startOf(record: TaskRecord, dueMs: number | undefined) {
  if (dueMs === undefined) return undefined;
  if (!waitsForTurn(record)) return movedStart(record, dueMs);
  const { due_at: farAt, run_at: due_at = record.created_at } = record;
  const moved = movedStart({ ...record, due_at }, dueMs);
  return { ...moved, due_at: [moved.due_at, farAt].sort()[1] ?? farAt };
}

/** A debounced submit waits anew, but no longer than its most from the first submit on. */
function dueMsOf({ clock }: DispatchPorts, record: TaskRecord, { unique, startMs }: NewInput): number | undefined {
  if (unique.mode !== "debounce") return startMs === undefined ? undefined : Math.max(startMs, clock.now());
  const waits = clock.now() + (unique.wait_seconds ?? 0) * 1000;
  return Math.min(waits, Date.parse(record.created_at) + maxWaitSeconds(unique) * 1000);
}
