import { Problem } from "../model/problem.ts";
import { wholeDeployment } from "../ports/audit.ts";
import type { AppSchedule } from "./app-schedule.ts";

export interface CodeNames {
  /** The app's schedules, by name. */
  appSchedules: ReadonlyMap<string, AppSchedule>;
}

/** The schedules of the app that a tenant sees: its own and those for each tenant. `wholeDeployment` sees all. */
export const visible = (schedule: AppSchedule, tenantId: string): boolean =>
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
