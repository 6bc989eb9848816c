import { noSuchSchedule } from "../../core/schedules/align.ts";
import { appScheduleNamed, type CodeNames } from "../../core/schedules/manage-app-schedules.ts";
import { type ScheduleKey, scheduleIdOf } from "../../core/schedules/schedule-record.ts";
import { type Asked, isUuid } from "./act.ts";

/**
 * Returns the key of the schedule in the path, by its id or as `~name`, in the caller's tenant. A name that the app's
 * code has means that schedule.
 * @throws Problem `not_found`
 */
export function scheduleIn(names: CodeNames, { by, params }: Asked): ScheduleKey {
  const { schedule_id = "" } = params;
  const tenant_id = by.tenantId;
  if (schedule_id[0] === "~") return { tenant_id, schedule_id: idOf(names, tenant_id, schedule_id.slice(1)) };
  if (!isUuid(schedule_id)) throw noSuchSchedule();
  return { tenant_id, schedule_id };
}

const idOf = (names: CodeNames, tenantId: string, name: string): string =>
  appScheduleNamed(names, tenantId, name)?.schedule_id ?? scheduleIdOf(tenantId, name);
