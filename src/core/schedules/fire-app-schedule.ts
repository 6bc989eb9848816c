import type { Identity } from "../model/identity.ts";
import { inLanes } from "../model/in-lanes.ts";
import { withoutValues } from "../model/problem.ts";
import type { Log } from "../ports/tasks.ts";
import type { AppSchedule } from "./app-schedule.ts";
import {
  countRefusal,
  type FiringOutcome,
  isFinalRefusal,
  lateness,
  overLimit,
  type ScheduledSubmitPorts,
  submitScheduled,
} from "./fire-schedule.ts";
import type { FiringProgress, Firings, Tenants } from "./ports.ts";
import type { AppPayload } from "./rule-input.ts";

export interface FireAppPorts extends ScheduledSubmitPorts {
  /** By name. */
  appSchedules: ReadonlyMap<string, AppSchedule>;
  tenants: Tenants;
  firings: Firings;
  log: Log;
}

/** One scheduled time of a schedule of the app. */
export interface AppFiring extends AppPayload {
  /** ISO 8601 UTC with milliseconds. */
  scheduled_for: string;
}

/** A firing for all tenants ran out of time. The next delivery continues where it stopped. */
export class FiringUnfinished extends Error {
  constructor(submitted: number) {
    super(`ran out of time after ${submitted} tenants; the next delivery of the firing continues`);
    this.name = "FiringUnfinished";
  }
}

/** Number of tenants after which the firing's progress is saved. */
const pageSize = 200;

/** Maximum number of submits at the same time. */
const mostAtOnce = 25;

/** A page of tenants is started only if at least this time is left, in milliseconds. */
const reserveMs = 30_000;

/** A firing's progress is kept for this time after its scheduled time: longer than the firing may be delivered again. */
const keptSeconds = 7 * 86_400;

/**
 * Submits the task of one scheduled time of a schedule of the app: for its tenant, or for each known tenant. The task ids are
 * derived from tenant, schedule and time, so that repeated deliveries create no second task.
 * @param deadlineMs Epoch milliseconds at which this function is stopped.
 * @throws FiringUnfinished, PortUnavailable: the firing is then delivered again
 */
export async function fireAppSchedule(
  ports: FireAppPorts,
  firing: AppFiring,
  deadlineMs: number,
): Promise<FiringOutcome> {
  const schedule = ports.appSchedules.get(firing.name);
  const fields = { schedule: firing.name, scheduled_for: firing.scheduled_for };
  if (schedule === undefined) {
    ports.log.info("firing ignored", {
      ...fields,
      outcome: "ignored",
      reason: "the app does not define this schedule",
    });
    return "ignored";
  }
  const begun = await ports.firings.load(schedule.schedule_id, firing.scheduled_for);
  const late = begun === undefined ? lateness(schedule, firing.scheduled_for, ports.clock.now()) : undefined;
  if (late !== undefined) {
    ports.log.warn("schedule skipped a time", { ...fields, outcome: "skipped", reason: late });
    return "skipped";
  }
  if (schedule.tenant_id !== undefined) return submitFor(ports, schedule, firing, schedule.tenant_id);
  const { submitted, refused } = await forEachTenant(ports, schedule, firing, { begun, deadlineMs });
  ports.log.info("schedule fired for each tenant", { ...fields, outcome: "submitted", submitted, refused });
  return "submitted";
}

/** Submits a task for each tenant, page by page, and saves the progress after each page. */
async function forEachTenant(
  ports: FireAppPorts,
  schedule: AppSchedule,
  firing: AppFiring,
  { begun, deadlineMs }: { begun: FiringProgress | undefined; deadlineMs: number },
): Promise<FiringProgress> {
  const purgeAt = Math.ceil(Date.parse(firing.scheduled_for) / 1000) + keptSeconds;
  let progress = begun ?? { submitted: 0, refused: 0, done: false };
  while (!progress.done) {
    if (ports.clock.now() > deadlineMs - reserveMs) throw new FiringUnfinished(progress.submitted);
    const page = await ports.tenants.list({ limit: pageSize, from: progress.from });
    const outcomes = await inLanes(page.items, mostAtOnce, (tenantId) => submitFor(ports, schedule, firing, tenantId));
    const refused = outcomes.filter((outcome) => outcome === "refused").length;
    progress = {
      ...(page.next === undefined ? {} : { from: page.next }),
      submitted: progress.submitted + outcomes.length - refused,
      refused: progress.refused + refused,
      done: page.next === undefined,
    };
    await ports.firings.save(schedule.schedule_id, firing.scheduled_for, progress, purgeAt);
  }
  return progress;
}

/** Submits one tenant's task. A refusal is logged, and does not stop the tasks of other tenants. */
async function submitFor(
  ports: FireAppPorts,
  schedule: AppSchedule,
  firing: AppFiring,
  tenantId: string,
): Promise<"submitted" | "refused"> {
  const identity: Identity = { tenantId, principal: `schedule:${schedule.name}`, role: "operator" };
  try {
    await submitScheduled(ports, identity, { ...schedule, scheduled_for: firing.scheduled_for });
    return "submitted";
  } catch (error) {
    const limited = overLimit(error);
    if (limited !== undefined) {
      ports.log.warn("schedule skipped a time", {
        ...{ schedule: schedule.name, schedule_id: schedule.schedule_id, scheduled_for: firing.scheduled_for },
        ...{ tenant_id: tenantId, outcome: "skipped", reason: limited },
      });
      return "refused";
    }
    if (!isFinalRefusal(error)) throw error;
    if (error.code === "idempotency_key_reused") return "submitted";
    countRefusal(ports, schedule.task);
    ports.log.error("a schedule's task was refused", {
      schedule: schedule.name,
      schedule_id: schedule.schedule_id,
      scheduled_for: firing.scheduled_for,
      tenant_id: tenantId,
      outcome: "refused",
      error: withoutValues(error),
    });
    return "refused";
  }
}
