import { iso } from "../model/record.ts";
import type { SubmitPorts } from "../pipeline/submit/submit-ports.ts";
import type { AppSchedule } from "./app-schedule.ts";
import { type AppTime, rewriteState, scheduledTaskOf, withoutTask, withTask } from "./app-schedule-state.ts";
import { overlap } from "./fire-schedule.ts";
import type { AppScheduleState, AppScheduleStates } from "./ports.ts";

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
