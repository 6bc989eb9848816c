import { inLanes } from "../../util/in-lanes.ts";
import { withoutValues } from "../model/problem.ts";
import { iso } from "../model/record.ts";
import type { Identity } from "../model/words.ts";
import type { Log } from "../ports/tasks.ts";
import { bestEffort } from "./align.ts";
import { type AppSchedule, notATimeOf } from "./app-schedule.ts";
import {
  type AppTime,
  ownKeyOf,
  principalOf,
  rewriteState,
  scheduledTaskOf,
  type Taken,
  withError,
  withoutTask,
  withRun,
  withSkip,
} from "./app-schedule-state.ts";
import {
  countMissed,
  countRefusal,
  type FiringOutcome,
  isFinalRefusal,
  isMissed,
  lateness,
  overLimit,
  type ScheduledSubmitPorts,
  submitScheduled,
} from "./fire-schedule.ts";
import type { AppScheduleState, AppScheduleStates, FiringProgress, Firings, Tenants } from "./ports.ts";
import type { AppPayload } from "./rule-input.ts";

export interface FireAppPorts extends ScheduledSubmitPorts {
  /** By name. */
  appSchedules: ReadonlyMap<string, AppSchedule>;
  tenants: Tenants;
  firings: Firings;
  appStates: AppScheduleStates;
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
const maxAtOnce = 25;

/** A page of tenants is started only if at least this time is left, in milliseconds. */
const reserveMs = 30_000;

/**
 * A firing's progress is kept for this time after its scheduled time: longer than the firing may be delivered again.
 */
const keptSeconds = 7 * 86_400;

/**
 * Submits the task of one scheduled time of a schedule of the app: for its tenant, or for each known tenant. The task
 * ids are derived from tenant, schedule and time, so that repeated deliveries create no second task.
 * @param deadlineMs Epoch milliseconds at which this function is stopped.
 * @throws FiringUnfinished, PortUnavailable: the firing is then delivered again
 */
export async function fireAppSchedule(
  ports: FireAppPorts,
  firing: AppFiring,
  deadlineMs: number,
): Promise<FiringOutcome> {
  const schedule = ports.appSchedules.get(firing.name);
  if (schedule === undefined) return ignored(ports, firing, "the app does not define this schedule");
  const notATime = notATimeOf(schedule, firing.scheduled_for);
  if (notATime !== undefined) {
    // This may come every minute.
    ports.log.debug("firing ignored", { ...fieldsOf(firing), outcome: "ignored", reason: notATime });
    return "ignored";
  }
  const state = await ports.appStates.get(ownKeyOf(schedule));
  if (state?.skips.includes(firing.scheduled_for)) {
    return ignored(ports, firing, "an earlier delivery skipped this time");
  }
  const { tenant_id: tenantId } = schedule;
  return tenantId === undefined
    ? fireForEach(ports, schedule, firing, { state, deadlineMs })
    : fireForOne(ports, schedule, firing, { state, tenantId });
}

const timeOf = ({ every_seconds }: AppSchedule, { scheduled_for }: AppFiring): AppTime => ({
  at: scheduled_for,
  everySeconds: every_seconds,
});

const fieldsOf = (firing: AppFiring) => ({ schedule: firing.name, scheduled_for: firing.scheduled_for });

function ignored(ports: FireAppPorts, firing: AppFiring, reason: string): "ignored" {
  ports.log.info("firing ignored", { ...fieldsOf(firing), outcome: "ignored", reason });
  return "ignored";
}

/** Stores and logs that a time got no task. */
async function skip(
  ports: FireAppPorts,
  schedule: AppSchedule,
  firing: AppFiring,
  { reason, tenantId, taken }: { reason: string; tenantId?: string | undefined; taken?: Taken | undefined },
): Promise<"skipped"> {
  const { schedule_id } = schedule;
  const key = tenantId === undefined ? ownKeyOf(schedule) : { schedule_id, tenant_id: tenantId };
  const skipped = withSkip(timeOf(schedule, firing), reason);
  const change = taken === undefined ? skipped : withoutTask(taken.taskId, taken.before, skipped);
  const { skips, last_run_at } = await rewriteState(ports.appStates, key, iso(ports.clock.now()), change);
  ports.log.warn("schedule skipped a time", {
    ...fieldsOf(firing),
    schedule_id,
    ...(tenantId !== undefined && { tenant_id: tenantId }),
    ...{ outcome: "skipped", reason },
  });
  if (reason.startsWith(pausedWord)) return "skipped";
  if (isMissed({ ...schedule, skips: skips.slice(0, -1), ...(last_run_at && { last_run_at }) }, reason)) {
    countMissed(ports, schedule.task);
    countWatched(ports, schedule);
  }
  return "skipped";
}

/** Counts a time without a task of a schedule that has an alarm of its own. */
function countWatched({ metrics }: FireAppPorts, { alarm, name }: AppSchedule): void {
  if (alarm) metrics.add("watched_schedule_missed", 1, { tier: "normal", type: name });
}

const pausedBy = (state: AppScheduleState | undefined): string | undefined =>
  state?.paused_since === undefined ? undefined : `${pausedWord} since ${state.paused_since}`;

const pausedWord = "paused";

async function fireForOne(
  ports: FireAppPorts,
  schedule: AppSchedule,
  firing: AppFiring,
  { state, tenantId }: { state: AppScheduleState | undefined; tenantId: string },
): Promise<FiringOutcome> {
  const at = firing.scheduled_for;
  // An earlier delivery has submitted the task of this time: the same submit answers with it.
  const isRepeat = state?.last_run_at === at;
  const reason = isRepeat ? undefined : (pausedBy(state) ?? lateness(schedule, at, ports.clock.now()));
  if (reason !== undefined) return skip(ports, schedule, firing, { reason, tenantId });
  const { outcome, error } = await submitFor(ports, schedule, firing, tenantId);
  if (outcome === "submitted" && !isRepeat && schedule.overlap === undefined) {
    await note(ports, schedule, withRun(timeOf(schedule, firing), scheduledTaskOf(schedule, tenantId, at)));
  }
  if (error !== undefined) await note(ports, schedule, withError(timeOf(schedule, firing), error));
  return outcome;
}

/** The tasks of the time exist even if the schedule's state cannot be stored. */
const note = (ports: FireAppPorts, schedule: AppSchedule, change: ReturnType<typeof withRun>): Promise<void> =>
  bestEffort(() => rewriteState(ports.appStates, ownKeyOf(schedule), iso(ports.clock.now()), change));

async function fireForEach(
  ports: FireAppPorts,
  schedule: AppSchedule,
  firing: AppFiring,
  { state, deadlineMs }: { state: AppScheduleState | undefined; deadlineMs: number },
): Promise<FiringOutcome> {
  const at = firing.scheduled_for;
  const begun = await ports.firings.load(schedule.schedule_id, at);
  if (begun?.done !== true) {
    // A firing that has begun is finished, however late; a pause ends it where it is.
    const late = begun === undefined ? lateness(schedule, at, ports.clock.now()) : undefined;
    const reason = pausedBy(state) ?? late;
    if (reason !== undefined) return skip(ports, schedule, firing, { reason });
  }
  const { error, ...counts } = await submitForEach(ports, schedule, firing, { begun, deadlineMs });
  const { submitted, skipped = 0, refused } = counts;
  const { log } = ports;
  log.info("schedule fired for each tenant", {
    ...fieldsOf(firing),
    outcome: "submitted",
    submitted,
    skipped,
    refused,
  });
  await note(ports, schedule, withRun(timeOf(schedule, firing)));
  if (error !== undefined) {
    await note(ports, schedule, withError(timeOf(schedule, firing), `${refused} tenants: ${error}`));
  }
  return "submitted";
}

/** Submits a task for each tenant, page by page, and saves the progress after each page. */
async function submitForEach(
  ports: FireAppPorts,
  schedule: AppSchedule,
  firing: AppFiring,
  { begun, deadlineMs }: { begun: FiringProgress | undefined; deadlineMs: number },
): Promise<FiringProgress & { error?: string | undefined }> {
  const purgeAt = Math.ceil(Date.parse(firing.scheduled_for) / 1000) + keptSeconds;
  let progress = begun ?? { submitted: 0, refused: 0, done: false };
  let error: string | undefined;
  while (!progress.done) {
    if (ports.clock.now() > deadlineMs - reserveMs) throw new FiringUnfinished(progress.submitted);
    const page = await ports.tenants.list({ limit: pageSize, from: progress.from });
    const results = await submitForPage(ports, schedule, firing, page.items);
    const countOf = (outcome: FiringOutcome) => results.filter((result) => result.outcome === outcome).length;
    error = results.find((result) => result.error !== undefined)?.error ?? error;
    progress = {
      ...(page.next === undefined ? {} : { from: page.next }),
      submitted: progress.submitted + countOf("submitted"),
      skipped: (progress.skipped ?? 0) + countOf("skipped"),
      refused: progress.refused + countOf("refused"),
      done: page.next === undefined,
    };
    await ports.firings.save(schedule.schedule_id, firing.scheduled_for, progress, purgeAt);
  }
  return { ...progress, error };
}

/** Submits a task for each tenant of a page, but for those that have paused the schedule. */
async function submitForPage(
  ports: FireAppPorts,
  schedule: AppSchedule,
  firing: AppFiring,
  tenantIds: readonly string[],
): Promise<Submitted[]> {
  const [first, last] = [tenantIds[0], tenantIds.at(-1)];
  if (first === undefined || last === undefined) return [];
  const found = await ports.appStates.between(schedule.schedule_id, first, last);
  const states = new Map(found.map((state) => [state.tenant_id, state]));
  return inLanes(tenantIds, maxAtOnce, async (tenantId): Promise<Submitted> => {
    const state = states.get(tenantId);
    if (state?.skips.includes(firing.scheduled_for)) return { outcome: "skipped" };
    const reason = pausedBy(state);
    if (reason !== undefined) return { outcome: await skip(ports, schedule, firing, { reason, tenantId }) };
    return submitFor(ports, schedule, firing, tenantId);
  });
}

/** The outcome of one tenant's time. */
interface Submitted {
  outcome: "submitted" | "skipped" | "refused";
  /** The reason why the task was refused. */
  error?: string;
}

/** Submits one tenant's task, unless its last task does not allow that. */
async function submitFor(
  ports: FireAppPorts,
  schedule: AppSchedule,
  firing: AppFiring,
  tenantId: string,
): Promise<Submitted> {
  if (schedule.overlap === undefined) return submitTaken(ports, schedule, firing, { tenantId });
  const { takeTime } = await import("./app-schedule-state.ts");
  const taken = await takeTime(ports, schedule, timeOf(schedule, firing), tenantId);
  if ("taskId" in taken) return submitTaken(ports, schedule, firing, { tenantId, taken });
  return { outcome: await skip(ports, schedule, firing, { ...taken, tenantId }) };
}

/** Submits one tenant's task. A refusal is logged, and does not stop the tasks of other tenants. */
async function submitTaken(
  ports: FireAppPorts,
  schedule: AppSchedule,
  firing: AppFiring,
  { tenantId, taken }: { tenantId: string; taken?: Taken },
): Promise<Submitted> {
  const identity: Identity = { tenantId, principal: principalOf(schedule.name), role: "operator" };
  try {
    await submitScheduled(ports, identity, { ...schedule, scheduled_for: firing.scheduled_for });
    return { outcome: "submitted" };
  } catch (error) {
    const limited = overLimit(error);
    if (limited !== undefined) {
      return { outcome: await skip(ports, schedule, firing, { reason: limited, tenantId, taken }) };
    }
    if (!isFinalRefusal(error)) throw error;
    if (error.code === "idempotency_key_reused") return { outcome: "submitted" };
    if (taken !== undefined) await (await import("./app-schedule-state.ts")).giveBack(ports, schedule, tenantId, taken);
    countRefusal(ports, schedule.task);
    countWatched(ports, schedule);
    ports.log.error("a schedule's task was refused", {
      ...fieldsOf(firing),
      ...{ schedule_id: schedule.schedule_id, tenant_id: tenantId, outcome: "refused", error: withoutValues(error) },
    });
    return { outcome: "refused", error: error.detail };
  }
}
