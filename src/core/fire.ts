import * as z from "zod";
import type { DispatchPorts } from "./dispatch.ts";
import type { Envelope } from "./envelope.ts";
import type { FirePayload, Log } from "./ports.ts";
import { dispatchAgain } from "./settle.ts";

export interface FirePorts extends DispatchPorts {
  log: Log;
}

const payloadSchema = z.object({ kind: z.literal("task"), tenant_id: z.string(), task_id: z.string() });

/** Reads what a schedule handed over; throws for anything else. */
export const readPayload = (event: unknown): FirePayload => payloadSchema.parse(event);

/**
 * Dispatches a task whose one-off schedule fired, for the rest of its wait. A task that does not wait any more is left alone;
 * a second firing makes a twin, which is harmless.
 * @throws PortUnavailable, so that EventBridge Scheduler fires again
 */
export async function fireTask(ports: FirePorts, payload: FirePayload): Promise<"dispatched" | "skipped"> {
  const record = await ports.records.get(payload);
  if (record?.status !== "pending") return "skipped";
  const envelope = (await ports.records.loadPart(payload, "envelope")) as Envelope | undefined;
  if (envelope === undefined) {
    ports.log.error("a waiting task has no envelope", { task_id: payload.task_id, tenant_id: payload.tenant_id });
    return "skipped";
  }
  await dispatchAgain(ports, record, envelope);
  return "dispatched";
}
