import type { Changed } from "../model/change.ts";
import { iso, type TaskRecord } from "../model/record.ts";
import { dispatch } from "../pipeline/send/dispatch.ts";
import { newEntryPurgeAt } from "../pipeline/send/keep-entries.ts";
import { reportDue } from "../pipeline/send/report.ts";
import { waitingEnvelope } from "../pipeline/send/waiting-task.ts";
import type { EndPorts } from "../ports/extra.ts";
import type { StepStore } from "../ports/steps.ts";
import { wakeOf } from "../task/step-calls.ts";
import { deleteOneOff } from "./control.ts";
import { notAtHand } from "./run-now.ts";

/**
 * Ends the sleep of a suspended attempt: of several under way the next one to end. The end is stored before the record
 * changes, so that the attempt does not sleep again. Repeatable.
 * @returns Not done: the task changed at the same time.
 * @throws Problem `not_waiting` when the task's input is in a message that cannot be read yet; PortUnavailable
 */
export async function endSleep(
  ports: EndPorts & { steps: Pick<StepStore, "load" | "add"> },
  record: TaskRecord,
): Promise<Changed> {
  const envelope = await waitingEnvelope(ports, record);
  if (envelope === undefined) throw notAtHand(record);
  const { due_at } = record;
  const sleeps = (await ports.steps.load(record, "sleep")).filter(({ until }) => until === due_at);
  const purgeAt = newEntryPurgeAt(ports.clock, record);
  for (const sleep of sleeps) await ports.steps.add(record, wakeOf(sleep), purgeAt);
  const nowIso = iso(ports.clock.now());
  const changed = await ports.records.change(record, {
    when: {
      status: { is: "pending" },
      attempts_total: { is: record.attempts_total },
      due_at: { is: due_at },
      line: { absent: true },
    },
    set: { due_at: nowIso, updated_at: nowIso },
    remove: ["waiting_for"],
  });
  if (!changed.done) return changed;
  reportDue(ports, changed.record);
  await dispatch(ports, changed.record, envelope);
  await deleteOneOff(ports, record, nowIso);
  return changed;
}
