import { Problem } from "../model/problem.ts";
import { iso } from "../model/record.ts";
import type { Identity } from "../model/words.ts";
import { submit } from "../pipeline/submit/submit.ts";
import type { Accepted, SubmitCall, SubmitPorts } from "../pipeline/submit/submit-ports.ts";
import { wholeDeployment } from "../ports/audit.ts";
import type { Clock, Records } from "../ports/tasks.ts";
import { bestEffort, orConflict } from "./align.ts";
import type { AppSchedule } from "./app-schedule.ts";
import { ownKeyOf, principalOf, rewriteState, scheduledTaskOf } from "./app-schedule-state.ts";
import { nextTimes, timesFromKnown } from "./calendar.ts";
import type { AppScheduleState, AppScheduleStates } from "./ports.ts";
import type { ScheduleKey, ScheduleView } from "./schedule-record.ts";

export interface CodeNames {
  /** The app's schedules, by name. */
  appSchedules: ReadonlyMap<string, AppSchedule>;
}

/** The schedules of the app that a tenant sees: its own and those for each tenant. `wholeDeployment` sees all. */
const visible = (schedule: AppSchedule, tenantId: string): boolean =>
  tenantId === wholeDeployment || schedule.tenant_id === undefined || schedule.tenant_id === tenantId;

/** Finds a schedule of the app by its name. Undefined: there is none that the tenant sees. */
export function appScheduleNamed({ appSchedules }: CodeNames, tenantId: string, name: string): AppSchedule | undefined {
  const schedule = appSchedules.get(name);
  return schedule !== undefined && visible(schedule, tenantId) ? schedule : undefined;
}

/**
 * Keeps two schedules of one name apart: a name of the app's code means that schedule.
 * @throws Problem `defined_in_code`
 */
export function refuseCodeName(names: Partial<CodeNames>, tenantId: string, name: string): void {
  const { appSchedules } = names;
  const schedule = appSchedules && appScheduleNamed({ appSchedules }, tenantId, name);
  if (schedule === undefined) return;
  throw new Problem(
    "defined_in_code",
    `The app's code has a schedule named ${JSON.stringify(name)}: choose another name, or change it there, and deploy.`,
    { extra: { schedule_id: schedule.schedule_id } },
  );
}

export interface AppSchedulePorts extends CodeNames {
  clock: Clock;
  appStates: AppScheduleStates;
}

export interface AppScheduleReadPorts extends AppSchedulePorts {
  records: Pick<Records, "get">;
}

/** Finds a schedule of the app by its id. Undefined: there is none that the tenant sees. */
export function findAppSchedule(
  { appSchedules }: Pick<AppSchedulePorts, "appSchedules">,
  { tenant_id, schedule_id }: ScheduleKey,
): AppSchedule | undefined {
  for (const schedule of appSchedules.values()) {
    if (schedule.schedule_id === schedule_id) return visible(schedule, tenant_id) ? schedule : undefined;
  }
  return undefined;
}

/** The schedules of the app that a tenant sees, in the order of their ids, after one of them. */
export const listAppSchedules = (
  { appSchedules }: Pick<AppSchedulePorts, "appSchedules">,
  tenantId: string,
  after: string,
): AppSchedule[] =>
  [...appSchedules.values()]
    .filter((schedule) => schedule.schedule_id > after && visible(schedule, tenantId))
    .sort((a, b) => (a.schedule_id < b.schedule_id ? -1 : 1));

/** Only the code changes the rule of a schedule of the app, and only its next deployment. */
export const definedInCode = (): Problem =>
  new Problem(
    "defined_in_code",
    "This schedule is defined in the app's code: change it there, and deploy. Here it can be paused, resumed and run.",
  );

/** Shows schedules of the app as one tenant, or for `wholeDeployment` an admin, sees them. */
export async function appScheduleViews(
  ports: AppScheduleReadPorts,
  tenantId: string,
  schedules: readonly AppSchedule[],
): Promise<ScheduleView[]> {
  const keys = new Map(
    schedules.flatMap((schedule) => {
      const own = ownKeyOf(schedule);
      return [own, { ...own, tenant_id: tenantOf(schedule, tenantId) }].map((key) => [textOf(key), key] as const);
    }),
  );
  const states = new Map(
    (await ports.appStates.getMany([...keys.values()])).map((state) => [textOf(state), state] as const),
  );
  return Promise.all(
    schedules.map((schedule) => {
      const own = ownKeyOf(schedule);
      const ofTenant = { ...own, tenant_id: tenantOf(schedule, tenantId) };
      return viewOf(ports, schedule, {
        tenantId: ofTenant.tenant_id,
        own: states.get(textOf(own)),
        ofTenant: states.get(textOf(ofTenant)),
      });
    }),
  );
}

const textOf = ({ tenant_id, schedule_id }: ScheduleKey): string => `${tenant_id} ${schedule_id}`;

/** The tenant as which a schedule is seen: an admin who asks for all tenants sees one for a tenant as that tenant. */
const tenantOf = (schedule: AppSchedule, tenantId: string): string => schedule.tenant_id ?? tenantId;

interface States {
  tenantId: string;
  /** The state that a firing reads first. */
  own: AppScheduleState | undefined;
  /** The tenant's; the same, unless the schedule is for each tenant. */
  ofTenant: AppScheduleState | undefined;
}

async function viewOf(ports: AppScheduleReadPorts, schedule: AppSchedule, states: States): Promise<ScheduleView> {
  const { tenantId, own, ofTenant } = states;
  const pause = [own, ofTenant].find((state) => state?.paused_since !== undefined);
  const [nextMs] = pause === undefined ? appScheduleTimes(schedule, own, ports.clock.now(), 1) : [];
  return {
    schedule_id: schedule.schedule_id,
    name: schedule.name,
    source: "code",
    for_each_tenant: schedule.tenant_id === undefined,
    cron: schedule.cron ?? null,
    every_seconds: schedule.every_seconds ?? null,
    timezone: schedule.timezone,
    enabled: pause === undefined,
    paused_since: pause?.paused_since ?? null,
    paused_by: pause?.paused_by ?? null,
    starts_at: schedule.starts_at ?? null,
    ends_at: null,
    overlap: schedule.overlap ?? "allow",
    alarm: schedule.alarm ?? false,
    task: schedule.task,
    next_run_at: nextMs === undefined ? null : iso(nextMs),
    ...(await lastRun(ports, schedule, states)),
    ...skipsOf(tenantId === wholeDeployment ? [own] : [own, ofTenant]),
    last_error: own?.last_error ?? null,
    last_error_at: own?.last_error_at ?? null,
    created_by: principalOf(schedule.name),
    created_at: null,
    updated_at: (ofTenant ?? own)?.updated_at ?? null,
  };
}

/** The skipped times of a schedule: for all tenants, and for one. */
function skipsOf(states: readonly (AppScheduleState | undefined)[]) {
  const found = [...new Set(states)].filter((state) => state !== undefined);
  const lastOf = ({ skips }: AppScheduleState) => skips.at(-1) ?? "";
  const newest = found.toSorted((a, b) => (lastOf(a) > lastOf(b) ? -1 : 1))[0];
  return {
    skipped: found.reduce((sum, { skipped }) => sum + skipped, 0),
    last_skipped_at: newest?.skips.at(-1) ?? null,
    last_skip_reason: newest?.last_skip_reason ?? null,
  };
}

/**
 * The last run as the tenant had it: by a firing for all tenants, whose task's id follows from its time, or on request.
 */
async function lastRun(
  { records }: AppScheduleReadPorts,
  schedule: AppSchedule,
  { tenantId, own, ofTenant }: States,
): Promise<Pick<ScheduleView, "last_run_at" | "last_task_id">> {
  const requested = { last_run_at: ofTenant?.last_run_at ?? null, last_task_id: ofTenant?.last_task_id ?? null };
  const at = own?.last_run_at;
  if (schedule.tenant_id !== undefined || at === undefined || (requested.last_run_at ?? "") >= at) return requested;
  if (tenantId === wholeDeployment) return { last_run_at: at, last_task_id: null };
  if (ofTenant?.skips.includes(at)) return requested;
  const task_id = scheduledTaskOf(schedule, tenantId, at);
  // The tenant may be newer than the time, or its task may be gone.
  const record = await records.get({ tenant_id: tenantId, task_id });
  return record === undefined ? requested : { last_run_at: at, last_task_id: task_id };
}

/**
 * Returns the next times of a schedule of the app after `afterMs`. An interval without a start counts from its rule's
 * creation or change, which only its firings tell: before the first of them with this interval, its times are not
 * known.
 */
export function appScheduleTimes(
  schedule: AppSchedule,
  own: AppScheduleState | undefined,
  afterMs: number,
  count: number,
): number[] {
  const { every_seconds } = schedule;
  if (every_seconds === undefined || schedule.starts_at !== undefined)
    return nextTimes(schedule, iso(afterMs), afterMs, count);
  if (own?.last_time === undefined || own.last_every_seconds !== every_seconds) return [];
  return timesFromKnown(schedule, Date.parse(own.last_time), afterMs, count);
}

/** The next times of a schedule of the app; none while it is paused. */
export async function nextAppTimes(
  { appStates, clock }: AppSchedulePorts,
  schedule: AppSchedule,
  tenantId: string,
  count: number,
): Promise<number[]> {
  const own = await appStates.get(ownKeyOf(schedule));
  const ofTenant =
    schedule.tenant_id === undefined
      ? await appStates.get({ schedule_id: schedule.schedule_id, tenant_id: tenantId })
      : own;
  if (own?.paused_since !== undefined || ofTenant?.paused_since !== undefined) return [];
  return appScheduleTimes(schedule, own, clock.now(), count);
}

/**
 * Pauses a schedule of the app, or resumes it: for the tenant, or for all where the tenant is `wholeDeployment`. A
 * pause holds over deployments. Times of a paused schedule are skipped and counted.
 * @throws Problem `conflict` for a resume by a tenant while the schedule is paused for all, and while others change it
 */
export async function setAppSchedulePaused(
  ports: AppSchedulePorts,
  schedule: AppSchedule,
  { tenantId, principal }: Pick<Identity, "tenantId" | "principal">,
  paused: boolean,
): Promise<void> {
  const { schedule_id } = schedule;
  const tenant_id = tenantOf(schedule, tenantId);
  if (!paused && schedule.tenant_id === undefined && tenantId !== wholeDeployment) {
    const all = await ports.appStates.get(ownKeyOf(schedule));
    if (all?.paused_since !== undefined) {
      throw new Problem("conflict", `This schedule is paused for all tenants since ${all.paused_since}.`);
    }
  }
  const now = iso(ports.clock.now());
  await orConflict(() =>
    rewriteState(ports.appStates, { schedule_id, tenant_id }, now, (current) => {
      if ((current.paused_since !== undefined) === paused) return undefined;
      const { paused_since: _, paused_by: __, ...rest } = current;
      return paused ? { ...rest, paused_since: now, paused_by: principal } : rest;
    }),
  );
}

/**
 * Submits the task of a schedule of the app now, for one tenant, with the caller as the principal.
 * @throws Problem those of submit; PortUnavailable
 */
export async function runAppSchedule(
  ports: AppSchedulePorts & SubmitPorts,
  schedule: AppSchedule,
  call: Omit<SubmitCall, "body" | "schedule">,
): Promise<Accepted> {
  const { schedule_id, task } = schedule;
  const accepted = await submit(ports, { ...call, body: task, schedule: { scheduleId: schedule_id } });
  const { task_id, created_at } = accepted.record;
  const key = { schedule_id, tenant_id: call.identity.tenantId };
  // The task is accepted even if the schedule's last run cannot be saved.
  await bestEffort(() =>
    rewriteState(ports.appStates, key, created_at, (current) =>
      (current.last_run_at ?? "") > created_at
        ? undefined
        : { ...current, last_run_at: created_at, last_task_id: task_id },
    ),
  );
  return accepted;
}
