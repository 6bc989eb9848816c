import type { Envelope } from "../../model/envelope.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { EndPorts, Extra } from "../../ports/extra.ts";

/**
 * Starts the `onFailed` of a task that has become a dead letter. Repeatable: its id follows from the failed round. A
 * dead letter that is sent has started it.
 */
async function start(ports: EndPorts, record: TaskRecord, envelope?: Envelope): Promise<void> {
  if (record.status !== "failed" || record.buried_at !== undefined) return;
  await (await import("./start.ts")).startOnFailed(ports, record, envelope);
}

/** The task that runs a type's `onFailed`. */
export const onFailed: Extra = { name: "on failed", field: "on_failed_attempts", ended: start, beforeRound: start };
