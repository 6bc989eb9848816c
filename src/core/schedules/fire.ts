import * as z from "zod";
import { WrittenLater } from "../model/errors.ts";
import { iso, type TaskKey } from "../model/record.ts";
import { sayLater, taskOfOneOff } from "../pipeline/send/dispatch.ts";
import { timeSchema } from "../pipeline/submit/submit-body.ts";
import type { EndPorts } from "../ports/extra.ts";
import { cleanUp } from "./align.ts";
import { busEventSchema } from "./bus-event.ts";
import type { DailyPorts, DeployedPorts } from "./deployed.ts";
import type { FireAppPorts } from "./fire-app-schedule.ts";
import type { FireEventPorts } from "./fire-event.ts";
import { type FireSchedulePorts, fireSchedule } from "./fire-schedule.ts";
import { fireTask } from "./fire-task.ts";
import { triggerOfRule } from "./trigger.ts";

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
  z.object({ kind: z.literal("purge_blobs") }),
  z.object({
    kind: z.literal("deployed"),
    // Without a time that can be read it still looks at the lines.
    at: scheduledFor.optional().catch(undefined),
    version: z.string().optional(),
    status: z.string().optional(),
  }),
  z.object({
    kind: z.literal("webhook"),
    notice: z.object({
      kind: z.literal("try"),
      tenant_id: z.string(),
      task_id: z.string(),
      id: z.string(),
      number: z.int().min(1),
    }),
  }),
  z.object({
    kind: z.literal("event"),
    trigger: z.string(),
    event: z.preprocess((event) => (typeof event === "string" ? parseJson(event) : event), busEventSchema),
  }),
]);

const kinds = new Set<string>(payloadSchema.options.map(({ shape }) => shape.kind.value));

/**
 * A payload: the end of a task's wait, one time of a schedule, a check of a schedule's rule, or an event for a trigger.
 */
export type Firing = z.output<typeof payloadSchema>;

/** A firing as it arrived, with what its sender wrote beside the payload. */
export interface Arrived {
  payload: unknown;
  /** ARN of the one-off or of the rule. */
  scheduleArn?: string | undefined;
  /** ARN of the rule of an event bus. The payload is then the event itself. */
  ruleArn?: string | undefined;
  /** Time for which it was scheduled. */
  scheduledFor?: string | undefined;
  /** The reason for which the firing could not be delivered. */
  error?: string | undefined;
}

/** Layers that a payload may have around it: texts of JSON and requests, in any order. */
const maxLayers = 5;

/** Characters of an unreadable payload that are logged: more than any payload of ours has. */
const maxLogged = 1_000;

/**
 * Reads a payload. EventBridge Scheduler does not document the body of a dead letter, so this takes the payload itself,
 * the request that should have invoked fire with it, and either of them as JSON text. Returns undefined for anything
 * else.
 */
export function readPayload(event: unknown): Firing | undefined {
  let content = event;
  for (let layer = 0; layer <= maxLayers; layer++) {
    const parsed = payloadSchema.safeParse(content);
    if (parsed.success) return parsed.data;
    content = contentOf(content);
  }
  return undefined;
}

/** True for a payload of a kind that only a later release knows. */
const isLaterKind = (payload: unknown, layers = maxLayers): boolean => {
  const { kind } = (payload ?? {}) as { kind?: unknown };
  if (typeof kind === "string") return !kinds.has(kind);
  return payload !== undefined && layers > 0 && isLaterKind(contentOf(payload), layers - 1);
};

/** Reads an event that EventBridge could not deliver: the trigger's name follows from that of its rule. */
function readEvent({ payload, ruleArn = "" }: Arrived): Firing | undefined {
  const trigger = triggerOfRule(ruleArn);
  const event = busEventSchema.safeParse(typeof payload === "string" ? parseJson(payload) : payload);
  return trigger === undefined || !event.success ? undefined : { kind: "event", trigger, event: event.data };
}

/** The content of a JSON text, also in Base64, or of a request that invokes a function. */
function contentOf(outer: unknown): unknown {
  if (typeof outer === "string") return parseJson(outer) ?? parseJson(Buffer.from(outer, "base64").toString());
  if (typeof outer !== "object" || outer === null) return undefined;
  const { Payload, payload = Payload } = outer as Record<string, unknown>;
  return payload;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export type FirePorts = EndPorts & FireSchedulePorts & FireAppPorts & FireEventPorts & DailyPorts & DeployedPorts;

/**
 * Handles a firing as it arrived. A firing that cannot be read is reported, and not delivered again; if its schedule's
 * name is that of a one-off, the task is dispatched.
 * @param deadlineMs Epoch milliseconds at which this function is stopped.
 * @throws any error, so that EventBridge Scheduler or Lambda delivers the firing again
 */
export async function fireArrived(ports: FirePorts, arrived: Arrived, deadlineMs: number): Promise<string> {
  const firing = readPayload(arrived.payload) ?? readEvent(arrived);
  if (firing !== undefined) return fire(ports, firing, deadlineMs);
  if (isLaterKind(arrived.payload)) {
    const later = new WrittenLater("a kind of firing");
    sayLater(ports, later);
    throw later;
  }
  const key = await findTask(ports, taskOfOneOff(arrived.scheduleArn?.split("/").at(-1) ?? ""));
  const done = key === undefined ? "unreadable" : await fireTask(ports, { kind: "task", ...key });
  const { payload, scheduleArn = "unknown", scheduledFor = "unknown", error = "unknown" } = arrived;
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  ports.metrics.add("schedule_refused", 1, { tier: "normal", type: "unreadable" });
  const followed =
    key === undefined ? "run the missed schedule by hand" : `its schedule's name led to its task, ${done}`;
  ports.log.error(`could not read a firing; ${followed}`, {
    ...key,
    schedule: scheduleArn,
    scheduled_for: scheduledFor,
    outcome: "refused",
    error,
    payload: text?.slice(0, maxLogged),
  });
  return done;
}

/** Looks for a task whose tenant is not known, among all tenants. Only for the rare firing that cannot be read. */
async function findTask(ports: FirePorts, taskId: string | undefined): Promise<TaskKey | undefined> {
  if (taskId === undefined) return undefined;
  let from: string | undefined;
  do {
    const page = await ports.tenants.list({ limit: 100, from });
    const keys = page.items.map((tenant_id) => ({ tenant_id, task_id: taskId }));
    const records = await Promise.all(keys.map((key) => ports.records.get(key)));
    const found = keys.find((_, index) => records[index] !== undefined);
    if (found !== undefined) return found;
    from = page.next;
  } while (from !== undefined);
  return undefined;
}

/**
 * Handles a firing.
 * @param deadlineMs Epoch milliseconds at which this function is stopped.
 * @throws any error, so that EventBridge Scheduler or Lambda delivers the firing again
 */
export async function fire(ports: FirePorts, firing: Firing, deadlineMs: number): Promise<string> {
  if (firing.kind === "task") return fireTask(ports, firing);
  if (firing.kind === "rule_check") {
    await cleanUp(ports, firing);
    return "checked";
  }
  if (firing.kind === "purge_blobs") return (await import("./deployed.ts")).daily(ports, deadlineMs);
  if (firing.kind === "deployed") return (await import("./deployed.ts")).deployed(ports, firing, deadlineMs);
  if (firing.kind === "webhook") {
    await ports.notices.send([firing.notice]);
    return "sent";
  }
  if (firing.kind === "event") return (await import("./fire-event.ts")).fireEvent(ports, firing);
  if (firing.kind === "schedule") return fireSchedule(ports, firing);
  // Most calls of fire dispatch a delayed task.
  return (await import("./fire-app-schedule.ts")).fireAppSchedule(ports, firing, deadlineMs);
}
