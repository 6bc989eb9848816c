import type { Identity } from "../identity.ts";
import type { Log } from "../ports.ts";
import { withoutValues } from "../problem.ts";
import type { SubmitPorts } from "../submit.ts";
import type { AppSchedule } from "./app-schedule.ts";
import { countRefusal, type FiringOutcome, isFinal, lateness, submitScheduled } from "./fire-schedule.ts";
import type { FiringProgress, Firings, Tenants } from "./ports.ts";
import type { AppPayload } from "./rule-input.ts";

export interface FireAppPorts extends SubmitPorts {
  /** By name. */
  appSchedules: ReadonlyMap<string, AppSchedule>;
  tenants: Tenants;
  firings: Firings;
  log: Log;
}

/** One scheduled time of one of the app's schedules. */
export interface AppFiring extends AppPayload {
  /** ISO 8601 UTC with milliseconds. */
  scheduled_for: string;
}

/** A firing for each tenant that ran out of time: it goes on where it stopped when it is delivered again. */
export class FiringUnfinished extends Error {
  constructor(submitted: number) {
    super(`out of time after ${submitted} tenants; it goes on when it is delivered again`);
    this.name = "FiringUnfinished";
  }
}

/** Tenants between two notes of how far the firing is. */
const pageSize = 200;

/** Submits that are under way at once. */
const mostAtOnce = 25;

/** No page is begun with less time left than this. */
const reserveMs = 30_000;

/** How long a firing's progress is kept after its time: longer than anything delivers it again. */
const keptSeconds = 7 * 86_400;

/**
 * Submits the task of one scheduled time of the app: for its tenant, or for each known tenant. The tasks' ids follow from
 * tenant, schedule and time, so that nothing is doubled by a second delivery, or by one that goes on after a crash.
 * @param deadlineMs Epoch milliseconds at which this function is stopped.
 * @throws FiringUnfinished, PortUnavailable, so that it is delivered again
 */
export async function fireAppSchedule(
  ports: FireAppPorts,
  firing: AppFiring,
  deadlineMs: number,
): Promise<FiringOutcome> {
  const schedule = ports.appSchedules.get(firing.name);
  const fields = { schedule: firing.name, scheduled_for: firing.scheduled_for };
  if (schedule === undefined) {
    ports.log.info("firing ignored", { ...fields, outcome: "ignored", reason: "the app has no such schedule" });
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

/** A page of tenants after the other; how far it is, is written down after each. */
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
    const outcomes = await eachOf(page.items, (tenantId) => submitFor(ports, schedule, firing, tenantId));
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

/** Works on all items, some at once; their results in any order. */
async function eachOf<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const rest = items.values();
  const lanes = Array.from({ length: mostAtOnce }, async () => {
    for (const item of rest) results.push(await work(item));
  });
  await Promise.all(lanes);
  return results;
}

/** One tenant's refusal, as for its quota, is logged and does not keep the others from their tasks. */
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
    if (!isFinal(error)) throw error;
    if (error.code === "idempotency_key_reused") return "submitted";
    countRefusal(ports, schedule.task);
    ports.log.error("schedule's task refused", {
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
