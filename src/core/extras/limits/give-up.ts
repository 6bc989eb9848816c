import type { TaskRecord } from "../../model/record.ts";
import type { TaskMessage } from "../../task/task-message.ts";
import { passTry } from "./breaker.ts";
import type { FlowPorts } from "./flow-ports.ts";
import { leave, type Place } from "./held-place.ts";

/**
 * Returns to its lines what a task was let go with that cannot start. Not a place that another message's attempt has,
 * or that of a task in its new tier may be about to start with.
 */
export async function giveUp(
  ports: FlowPorts,
  { envelope, delivery, grant }: TaskMessage,
  record: TaskRecord | undefined,
  place: Place | undefined,
): Promise<void> {
  if (record?.status === "processing") {
    // The place of a twin that was let go into another bucket.
    if (place !== undefined && place.bucket !== (record.place_bucket ?? 0))
      await leave(ports, place, envelope, delivery.tier);
    return;
  }
  const isMoved = record?.status === "pending" && record.priority !== delivery.tier;
  if (place !== undefined && !(place.kept && isMoved)) await leave(ports, place, envelope, delivery.tier);
  if (grant?.tryUntilMs !== undefined) await passTry(ports, envelope, grant.tryUntilMs, delivery.tier);
}
