import { noSuchSchedule } from "../core/schedules/align.ts";
import type { ScheduleKey } from "../core/schedules/schedule-record.ts";
import { type Asked, isUuid } from "./act.ts";

/**
 * Returns the key of the schedule in the path, in the caller's tenant.
 * @throws Problem `not_found`
 */
export function scheduleIn(_: unknown, { by, params }: Asked): ScheduleKey {
  const { schedule_id = "" } = params;
  if (!isUuid(schedule_id)) throw noSuchSchedule();
  return { tenant_id: by.tenantId, schedule_id };
}
