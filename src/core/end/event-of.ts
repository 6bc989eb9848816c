import type { TaskView } from "../model/task-view.ts";
import type { EndNotice } from "../ports/notice.ts";
import type { OutgoingEvent } from "../ports/notify.ts";

/** `detail-type` of the events, by the status of the ended task. */
const detailTypes: Readonly<Partial<Record<TaskView["status"], string>>> = {
  completed: "Task Completed",
  failed: "Task Failed",
  cancelled: "Task Cancelled",
  expired: "Task Expired",
};

/** The event of a task's end: the same one, however often its notice arrives. It never contains the task's result. */
export function eventOf({ id, tenant_id, task: ended, traceparent }: EndNotice): OutgoingEvent {
  const { result: _, ...task } = ended;
  const detailType = detailTypes[task.status];
  if (detailType === undefined) throw new Error(`the task ${task.task_id} has not ended: it is ${task.status}`);
  return {
    detailType,
    detail: { id, tenant_id, ...task },
    time: task.finished_at ?? task.updated_at,
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}
