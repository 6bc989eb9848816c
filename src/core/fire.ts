import * as z from "zod";
import { type DispatchPorts, dispatch } from "./dispatch.ts";
import type { Envelope } from "./envelope.ts";
import type { FirePayload } from "./ports.ts";
import { isKept, iso } from "./record.ts";
import { cleanUp } from "./schedules/align.ts";
import { type FireAppPorts, fireAppSchedule } from "./schedules/fire-app-schedule.ts";
import { type FireSchedulePorts, fireSchedule } from "./schedules/fire-schedule.ts";
import { timeSchema } from "./submit-body.ts";

const scheduledFor = timeSchema.transform(iso);

const payloadSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("task"), tenant_id: z.string(), task_id: z.string() }),
  z.object({
    kind: z.literal("schedule"),
    tenant_id: z.string(),
    schedule_id: z.string(),
    rule_revision: z.number(),
    scheduled_for: scheduledFor,
  }),
  z.object({ kind: z.literal("rule_check"), tenant_id: z.string(), schedule_id: z.string() }),
  z.object({ kind: z.literal("app_schedule"), name: z.string(), scheduled_for: scheduledFor }),
]);

/** A payload from EventBridge Scheduler: the end of a task's wait, one time of a schedule, or a check of a schedule's rule. */
export type Firing = z.output<typeof payloadSchema>;

/** Parses a payload; throws for anything else. */
export const readPayload = (event: unknown): Firing => payloadSchema.parse(event);

/**
 * Handles a firing.
 * @param deadlineMs Epoch milliseconds at which this function is stopped.
 * @throws any error, so that EventBridge Scheduler or Lambda delivers the firing again
 */
export async function fire(
  ports: FireSchedulePorts & FireAppPorts,
  firing: Firing,
  deadlineMs: number,
): Promise<string> {
  if (firing.kind === "task") return fireTask(ports, firing);
  if (firing.kind === "rule_check") {
    await cleanUp(ports, firing);
    return "checked";
  }
  return firing.kind === "schedule" ? fireSchedule(ports, firing) : fireAppSchedule(ports, firing, deadlineMs);
}

/**
 * Dispatches a task whose one-off schedule fired, for the rest of its wait. A task that no longer waits is skipped. A second
 * firing makes a twin, which is harmless.
 * @throws PortUnavailable, so that EventBridge Scheduler fires again
 */
export async function fireTask(ports: DispatchPorts, payload: FirePayload): Promise<"dispatched" | "skipped"> {
  const record = await ports.records.get(payload);
  if (record?.status !== "pending" || !isKept(record, ports.clock.now())) return "skipped";
  const envelope = (await ports.records.loadPart(payload, "envelope")) as Envelope | undefined;
  if (envelope === undefined) {
    ports.log.error("could not dispatch a waiting task: its envelope is not stored", {
      task_id: payload.task_id,
      tenant_id: payload.tenant_id,
    });
    return "skipped";
  }
  await dispatch(ports, record, envelope);
  return "dispatched";
}
