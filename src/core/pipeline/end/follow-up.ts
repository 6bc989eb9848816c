import type { Envelope } from "../../model/envelope.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { EndPorts } from "../../ports/extra.ts";
import * as extras from "../send/extras.ts";

/**
 * Does what follows from a task's end, by a worker or an operator: a dead letter gets its DLQ message, a cancelled
 * parent's children are cancelled, and a child's end is counted, which may end its parent: before that, what its next
 * round needs is stored. Subscribers are notified of each end. Every redelivery repeats it until it is done.
 * @param envelope The task's message. Undefined: loaded where it is needed.
 */
export async function followUp(ports: EndPorts, record: TaskRecord, envelope?: Envelope): Promise<void> {
  let message = envelope;
  for (let ended: TaskRecord | undefined = record; ended !== undefined; ended = await endedBy(ports, ended)) {
    // First: of a dead letter that is sent, all have been notified.
    await extras.ended(ports, ended, message);
    if (ended.status === "failed") await (await import("./dead-letter.ts")).deadLetterOnce(ports, ended, message);
    if (ended.family_leaf !== undefined) {
      const { keepForNextRound } = await import("./keep-for-round.ts");
      await keepForNextRound(ports, ended, message);
    }
    if (ended.status === "cancelled" && ended.family_state !== undefined) {
      await (await import("./request-own-task.ts")).requestCancelChildren(ports, ended);
    }
    message = undefined;
  }
}

/** The parent that has ended with the end of its last child. */
async function endedBy(ports: EndPorts, child: TaskRecord): Promise<TaskRecord | undefined> {
  if (child.family_leaf === undefined) return undefined;
  return (await import("./close-family.ts")).countEnd(ports, child);
}

/**
 * Follows up the end of a task whose record may have the mark `rescued_at`: it stays until all is done, so that the
 * daily reconciliation does it where this process dies.
 */
export async function followMarked(ports: EndPorts, record: TaskRecord, envelope?: Envelope): Promise<void> {
  await followUp(ports, record, envelope);
  const { rescued_at: at, retained_until: until } = record;
  if (at === undefined || until === undefined) return;
  await ports.records.change(record, {
    when: { rescued_at: { is: at }, retained_until: { is: until } },
    set: { purge_at: Math.ceil(Date.parse(until) / 1000) },
    remove: ["rescued_at"],
  });
}
