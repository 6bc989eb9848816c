import type { Envelope } from "../model/envelope.ts";
import { AttemptCrashed } from "../model/errors.ts";
import type { TaskRecord } from "../model/record.ts";
import type { DispatchPorts } from "../ports/step-ports.ts";
import { closeList, inputsOf, isList } from "../send/collected-list.ts";
import { storedEnvelope } from "../send/large-input.ts";
import { keptUntil } from "../send/parts.ts";

/**
 * Closes the list of a claimed task, and makes its inputs the task's input: a part that the record names, as after a
 * replacement. Each later attempt, and a replay, reads that part. An attempt that dies before finds the same list.
 * @returns Undefined: the list is empty, as the submit that began it died.
 * @throws PortUnavailable
 */
export async function gather(
  ports: DispatchPorts,
  record: TaskRecord,
): Promise<{ record: TaskRecord; envelope: Envelope } | undefined> {
  if (!isList(record)) return undefined;
  await closeList(ports, record);
  const inputs = await inputsOf(ports, record);
  if (inputs.length === 0) return undefined;
  const envelope: Envelope = { ...(await storedEnvelope(ports, record, inputs)), collected: true };
  const input_part = envelope.message_id;
  await ports.records.savePart(record, `input#${input_part}`, envelope, keptUntil(record.purge_at));
  const changed = await ports.records.change(record, {
    when: { status: { is: "processing" }, attempts_total: { is: record.attempts_total } },
    set: { input_part },
  });
  if (changed.record?.input_part !== input_part) throw new AttemptCrashed("the lease ended before the list was read");
  return { record: changed.record, envelope };
}
