import { noSuchSchedule } from "../core/schedules/align.ts";
import { type ScheduleKey, scheduleIdOf } from "../core/schedules/schedule-record.ts";
import { type Asked, isUuid } from "./act.ts";

/**
 * Returns the key of the schedule in the path, by its id or as `~name`, in the caller's tenant.
 * @throws Problem `not_found`
 */
export function scheduleIn(_: unknown, { by, params }: Asked): ScheduleKey {
  const { schedule_id = "" } = params;
  const tenant_id = by.tenantId;
  if (schedule_id[0] === "~") return { tenant_id, schedule_id: scheduleIdOf(tenant_id, schedule_id.slice(1)) };
  if (!isUuid(schedule_id)) throw noSuchSchedule();
  return { tenant_id, schedule_id };
}
