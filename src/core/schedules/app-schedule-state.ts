import { taskIdOf } from "../model/idempotency.ts";
import { iso } from "../model/record.ts";
import type { SubmitPorts } from "../pipeline/submit/submit-ports.ts";
import { wholeDeployment } from "../ports/audit.ts";
import { changesTooFast } from "./align.ts";
import type { AppSchedule } from "./app-schedule.ts";
import { overlap } from "./fire-schedule.ts";
import type { AppScheduleState, AppScheduleStates } from "./ports.ts";
import { firingKey, type ScheduleKey } from "./schedule-record.ts";

/** Number of the latest skipped times that a state keeps. */
const maxRemembered = 32;

/** Number of tries of a write while others change the same state. */
const maxTries = 5;

/** The key of the state that a firing of the schedule reads first. */
export const ownKeyOf = ({ schedule_id, tenant_id = wholeDeployment }: AppSchedule): ScheduleKey => ({
  tenant_id,
  schedule_id,
});

/** The principal of the tasks of a schedule of the app. */
export const principalOf = (name: string): string => `schedule:${name}`;

/** The task of a scheduled time: its id follows from the schedule, the tenant and the time. */
export const scheduledTaskOf = ({ name, schedule_id }: AppSchedule, tenantId: string, at: string): string =>
  taskIdOf(tenantId, principalOf(name), firingKey(schedule_id, at));

type Change = (current: AppScheduleState) => AppScheduleState | undefined | Promise<AppScheduleState | undefined>;

/**
 * Changes a state, which may not exist yet. Starts again when another writer changed it in between.
 * @param change Returns the new state, or undefined to store nothing.
 * @returns The state as it is then.
 * @throws PortUnavailable, ChangedMeanwhile
 */
export async function rewriteState(
  states: AppScheduleStates,
  { tenant_id, schedule_id }: ScheduleKey,
  now: string,
  change: Change,
): Promise<AppScheduleState> {
  for (let tries = 0; tries < maxTries; tries++) {
    const before = await states.get({ tenant_id, schedule_id });
    const current = before ?? { tenant_id, schedule_id, revision: 0, skipped: 0, skips: [], updated_at: now };
    const after = await change(current);
    if (after === undefined) return current;
    const next = { ...after, revision: current.revision + 1, updated_at: now };
    if (await states.save(next, before?.revision)) return next;
  }
  throw changesTooFast();
}

/** A scheduled time of a schedule of the app, as its firing has it. */
export interface AppTime {
  at: string;
  /** The interval by which the schedule's times are counted. Undefined: it has a cron. */
  everySeconds: number | undefined;
}

type ChangeAtOnce = (current: AppScheduleState) => AppScheduleState | undefined;

/** Counts a skipped time once, however often it is delivered. */
export const withSkip =
  (time: AppTime, reason: string): ChangeAtOnce =>
  (current) =>
    current.skips.includes(time.at)
      ? undefined
      : {
          ...withLatest(current, time),
          skips: [...current.skips, time.at].slice(-maxRemembered),
          skipped: current.skipped + 1,
          last_skip_reason: reason,
        };

/** Notes a time that got its task, or its tasks. */
export const withRun =
  (time: AppTime, taskId?: string): Change =>
  ({ last_error: _, last_error_at: __, ...current }) => {
    const next = withLatest(current, time);
    if ((current.last_run_at ?? "") >= time.at) return next === current ? undefined : next;
    return { ...next, last_run_at: time.at, ...(taskId !== undefined && { last_task_id: taskId }) };
  };

/** Notes the newest task before it is submitted, where the next time is to know of it. */
export const withTask =
  (time: AppTime, taskId: string): ChangeAtOnce =>
  ({ last_error: _, last_error_at: __, ...current }) => {
    if (current.last_task_id === taskId) return undefined;
    const { last_run_at: last = "" } = current;
    const isLater = time.at > last;
    return { ...withLatest(current, time), ...(isLater && { last_run_at: time.at }), last_task_id: taskId };
  };

/** Restores the last run that a state had before a task which was not accepted. */
export const withoutTask =
  (taskId: string, before: AppScheduleState, change: ChangeAtOnce): Change =>
  (current) => {
    if (current.last_task_id !== taskId) return change(current);
    const { last_run_at: _, last_task_id: __, ...rest } = current;
    const { last_run_at, last_task_id } = before;
    const restored = { ...rest, ...(last_run_at && { last_run_at }), ...(last_task_id && { last_task_id }) };
    return change(restored) ?? restored;
  };

/** Notes why the task of a time was refused. */
export const withError =
  (time: AppTime, error: string): ChangeAtOnce =>
  (current) => ({ ...withLatest(current, time), last_error: error, last_error_at: time.at });

/** Notes the latest time. A firing may be delivered after those of later times. */
function withLatest(current: AppScheduleState, { at, everySeconds }: AppTime): AppScheduleState {
  const { last_every_seconds, ...rest } = current;
  const { last_time: last = "" } = current;
  if (last > at || (last === at && last_every_seconds === everySeconds)) return current;
  return { ...rest, last_time: at, ...(everySeconds !== undefined && { last_every_seconds: everySeconds }) };
}

interface OverlapPorts extends Pick<SubmitPorts, "records" | "clock"> {
  appStates: AppScheduleStates;
}

/** A task that is noted before it is submitted. */
export interface Taken {
  taskId: string;
  /** The state before it. */
  before: AppScheduleState;
}

/**
 * Notes a tenant's task before it is submitted, unless the one before it has not ended: of two times that are delivered
 * at once, one finds the task of the other.
 * @returns The reason for which the time gets no task, or what is noted.
 */
export async function takeTime(
  ports: OverlapPorts,
  schedule: AppSchedule,
  time: AppTime,
  tenantId: string,
): Promise<{ reason: string } | Taken> {
  const { schedule_id } = schedule;
  const taskId = scheduledTaskOf(schedule, tenantId, time.at);
  const key = { tenant_id: tenantId, schedule_id };
  let taken: { reason: string } | Taken | undefined;
  await rewriteState(ports.appStates, key, iso(ports.clock.now()), async (before) => {
    const { last_task_id = taskId } = before;
    const reason =
      last_task_id === taskId
        ? undefined
        : await overlap(ports, { overlap: "skip", tenant_id: tenantId, last_task_id });
    // An earlier delivery may have submitted the task of this time.
    const isSubmitted = reason !== undefined && (await ports.records.get({ tenant_id: tenantId, task_id: taskId }));
    taken = reason === undefined || isSubmitted ? { taskId, before } : { reason };
    return reason === undefined ? withTask(time, taskId)(before) : undefined;
  });
  return taken as NonNullable<typeof taken>;
}

/** Restores the last run before a task that was not accepted. */
export const giveBack = (
  ports: OverlapPorts,
  { schedule_id }: AppSchedule,
  tenant_id: string,
  { taskId, before }: Taken,
) =>
  rewriteState(
    ports.appStates,
    { tenant_id, schedule_id },
    iso(ports.clock.now()),
    withoutTask(taskId, before, () => undefined),
  );
