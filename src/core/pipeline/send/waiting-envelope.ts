import { type Envelope, latestCreatedAt } from "../../model/envelope.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { Clock, NewId, Records } from "../../ports/tasks.ts";
import { keptEnvelope } from "./kept-input.ts";

/** A waiting task's message, from its record or the copy beside it; not that of an earlier task with the same id. */
export async function waitingEnvelope(
  ports: { clock: Clock; newId: NewId; records: Records },
  record: TaskRecord,
): Promise<Envelope | undefined> {
  const kept = keptEnvelope(ports, record);
  if (kept !== undefined) return kept;
  const envelope = (await ports.records.loadPart(record, "envelope")) as Envelope | undefined;
  return envelope !== undefined && record.created_at <= latestCreatedAt(envelope) ? envelope : undefined;
}
