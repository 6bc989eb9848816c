import { type ControlPorts, cancel } from "../../control/control.ts";
import { longestKey, taskIdOf, uniqueKeyOf } from "../../model/idempotency.ts";
import { Problem } from "../../model/problem.ts";
import { isKept, type TaskKey, type TaskRecord } from "../../model/record.ts";
import type { Holder } from "../../ports/unique.ts";
import { fill, fillAsText } from "../../schedules/event-path.ts";
import { EventRefused, type RefusalPorts, refusalOf, refused, tenantOf } from "../../schedules/fire-event.ts";
import type { FiringOutcome } from "../../schedules/fire-schedule.ts";
import type { AppTrigger, EventFiring, TriggerAct } from "../../schedules/trigger.ts";
import type { KnownType } from "../../task/catalog.ts";
import type { SignalPorts } from "../steps/signal.ts";

export interface ActOnEventPorts extends Omit<ControlPorts & SignalPorts, "types">, RefusalPorts {
  types: ReadonlyMap<string, KnownType>;
}

/** Time in seconds for which it is noted which task an event meant: longer than it may be delivered again. */
const notedSeconds = 2 * 86_400;

/**
 * Cancels the task of a key, or sends it a signal. An event that is delivered again means the task that it meant first,
 * also when another one has the key by then. Without a task that can be cancelled or signalled it has no effect.
 * @throws any error that can pass: the event is then delivered again
 */
export async function actOnEvent(
  ports: ActOnEventPorts,
  firing: EventFiring,
  trigger: AppTrigger,
  act: TriggerAct,
): Promise<FiringOutcome> {
  const { event } = firing;
  const fields = { trigger: trigger.name, event_id: event.id, event_source: event.source };
  const ignored = (reason: string): FiringOutcome => {
    ports.log.info("event ignored", { ...fields, outcome: "ignored", reason });
    return "ignored";
  };
  try {
    const record = await taskMeant(ports, firing, trigger, act);
    if (record === undefined) return ignored("no task has the key");
    // Few triggers send signals.
    const { signal } = await import("../steps/signal.ts");
    await (act.signal === undefined
      ? cancel(ports, record)
      : signal(ports, record, fillAsText(act.signal.name, event), fill(act.signal.body, event), event.id));
    const { tenant_id, task_id } = record;
    const outcome = act.signal === undefined ? "cancelled" : "signalled";
    ports.log.info("trigger fired", { ...fields, outcome, tenant_id, task_id });
    return "submitted";
  } catch (error) {
    if (error instanceof Problem && error.code === "conflict") return ignored(error.detail);
    const reason = refusalOf(error);
    if (reason === undefined) throw error;
    return refused(ports, firing, { type: act.type }, reason);
  }
}

/** The task that has the key now, or had it when the event was delivered first. */
async function taskMeant(
  ports: ActOnEventPorts,
  { event }: EventFiring,
  trigger: AppTrigger,
  { type, key: template }: TriggerAct,
): Promise<TaskRecord | undefined> {
  const tenant_id = tenantOf(trigger, event);
  const key = fillAsText(template, event);
  if (key === "" || key.length > longestKey) throw new EventRefused(`the key has ${key.length} characters`);
  const note = { tenant_id, type: "", unique_key: taskIdOf(tenant_id, `trigger:${trigger.name}`, event.id) };
  const meant = await ports.uniqueKeys.holder(note);
  if (meant !== undefined) return recordOf(ports, tenant_id, meant);
  const by = { tenantId: tenant_id, principal: trigger.name, role: "operator" } as const;
  const holder = await ports.uniqueKeys.holder({ tenant_id, type, unique_key: uniqueKeyOf(by, { key }) });
  if (holder === undefined) return undefined;
  const { task_id, created_at } = holder;
  const purgeAt = Math.ceil(ports.clock.now() / 1000) + notedSeconds;
  const isFirst = await ports.uniqueKeys.take(note, { task_id, created_at }, undefined, purgeAt);
  return recordOf(ports, tenant_id, isFirst ? holder : ((await ports.uniqueKeys.holder(note)) ?? holder));
}

async function recordOf(
  { records, clock }: ActOnEventPorts,
  tenant_id: string,
  { task_id, created_at }: Holder,
): Promise<TaskRecord | undefined> {
  const key: TaskKey = { tenant_id, task_id };
  const record = await records.get(key, "consistently");
  return record?.created_at === created_at && isKept(record, clock.now()) ? record : undefined;
}
