import type { Envelope } from "../model/envelope.ts";
import { iso, type TaskRecord } from "../model/record.ts";
import type { DispatchPorts } from "../ports/step-ports.ts";
import { newestKept } from "../send/newest-envelope.ts";
import { deadLetterOf } from "./bury.ts";
import { countEnd } from "./close-family.ts";
import { keepForNextRound } from "./keep-for-round.ts";
import { noteNewFailure } from "./new-failure.ts";
import { requestCancelChildren } from "./request-cancel-children.ts";
import { requestSweep } from "./request-sweep.ts";
import { tellEnd } from "./tell.ts";

/**
 * Does what follows from a task's end, by a worker or an operator: a dead letter gets its DLQ message, a cancelled
 * parent's children are cancelled, and a child's end is counted, which may end its parent: before that, what its next
 * round needs is stored. Subscribers are told of each end. Every redelivery repeats it until it is done.
 * @param envelope The task's message. Undefined: loaded where it is needed.
 */
export async function followUp(ports: DispatchPorts, record: TaskRecord, envelope?: Envelope): Promise<void> {
  let message = envelope;
  for (let ended: TaskRecord | undefined = record; ended !== undefined; ended = await countEnd(ports, ended)) {
    // First: a dead letter that is buried has been told.
    await tellEnd(ports, ended);
    await buryOnce(ports, ended, message);
    await keepForNextRound(ports, ended, message);
    if (ended.status === "cancelled" && ended.family_state !== undefined) {
      await requestCancelChildren(ports, ended);
    }
    message = undefined;
  }
}

async function buryOnce(ports: DispatchPorts, record: TaskRecord, given: Envelope | undefined): Promise<void> {
  if (record.status !== "failed" || record.dead_letter_at === undefined || record.buried_at !== undefined) return;
  const envelope = given ?? ((await ports.records.loadPart(record, "envelope")) as Envelope | undefined);
  if (envelope === undefined) return;
  const letter = deadLetterOf(record, await newestKept(ports, record, envelope));
  await ports.queues.bury(record.priority, letter, record.tenant_id);
  ports.metrics.add("dead_lettered", 1, { tier: record.priority, type: record.type });
  const noted = await ports.records.change(record, {
    when: { status: { is: "failed" }, dead_letter_at: { is: record.dead_letter_at } },
    set: { buried_at: iso(ports.clock.now()) },
  });
  await noteNewFailure(ports, record);
  // It was revived in between, and the sweep that was requested then may be over.
  if (!noted.done) await requestSweep(ports, record.priority, record.correlation_id);
}
