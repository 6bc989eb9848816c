import type { Envelope } from "../model/envelope.ts";
import { Overtaken } from "../model/errors.ts";
import { noSuchTask, Problem } from "../model/problem.ts";
import { isKept, iso, statusAt, type TaskRecord } from "../model/record.ts";
import type { EntryPorts } from "../pipeline/send/keep-entries.ts";
import { sameInput } from "../pipeline/send/kept-input.ts";
import { reportInputChanged } from "../pipeline/send/report.ts";
import type { DispatchPorts } from "../ports/steps.ts";
import { type GivenInput, storeGiven } from "./given-input.ts";

/** Number of tries while the task changes at the same time. */
const mostTries = 3;

/**
 * Replaces the input of a waiting task. The new one is stored as a part that only this change names: a worker that has
 * a message with another input reads the part.
 * @throws Problem `conflict` when the task does not wait, or was made with what cannot be used with the given input;
 * `too_large`; PortUnavailable
 */
export async function changeInput(
  ports: DispatchPorts & EntryPorts,
  record: TaskRecord,
  given: GivenInput,
): Promise<TaskRecord> {
  let current: TaskRecord | undefined = record;
  for (let tries = 0; tries < mostTries && current !== undefined; tries++) {
    mustWait(current, ports.clock.now());
    const envelope = await storeGiven(ports, current, given, current.purge_at);
    const changed = await nameInput(ports, current, envelope);
    if (changed.done || changed.record?.input_part === envelope.message_id) {
      reportInputChanged(ports, changed.record ?? current);
      return changed.record ?? current;
    }
    current = changed.record;
  }
  if (current === undefined) throw noSuchTask();
  throw new Overtaken("task");
}

function mustWait(record: TaskRecord, nowMs: number): void {
  if (!isKept(record, nowMs)) throw noSuchTask();
  const status = statusAt(record, iso(nowMs));
  if (status === "pending" || status === "scheduled") return;
  throw new Problem("conflict", `The input of a task that is ${status} cannot be changed.`);
}

/** The change holds only while the task waits as it did, with the input that it had. */
const nameInput = ({ records, clock }: DispatchPorts, record: TaskRecord, { message_id, input_version }: Envelope) =>
  records.change(record, {
    when: {
      status: { is: "pending" },
      attempts_total: { is: record.attempts_total },
      ...sameInput(record),
      // The part is stored for as long as the record was to be kept.
      purge_at: { is: record.purge_at },
      start_by: { above: iso(clock.now()), orAbsent: true },
    },
    set: {
      input_part: message_id,
      updated_at: iso(clock.now()),
      ...(input_version !== undefined && { input_version }),
    },
    ...(input_version === undefined && { remove: ["input_version"] }),
  });
