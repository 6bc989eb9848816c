import { endId } from "../../model/idempotency.ts";
import { iso, noteIn, type TaskRecord } from "../../model/record.ts";
import { noteView } from "../../model/task-view.ts";
import { childrenOf, viewOf } from "../../pipeline/end/view.ts";
import type { EndPorts } from "../../ports/extra.ts";
import type { ChangeNotice, EndNotice } from "../../ports/notify.ts";

/** The notice of a task's end, with the task as the end left it. */
export async function endNotice(ports: EndPorts, record: TaskRecord, receives: boolean): Promise<EndNotice> {
  const children = await childrenOf(ports, record);
  const { callback, push_result, traceparent } = record;
  return {
    kind: "end",
    id: endId(record),
    ...aboutOf(record),
    task: { ...viewOf(record, iso(ports.clock.now()), { children }), result: null },
    ...(callback && { callback }),
    ...(receives && { receivers: true }),
    ...(push_result && { push_result }),
    ...(traceparent !== undefined && { traceparent }),
  };
}

/** The notice of a change that is not an end. */
export function changeNotice({ clock }: EndPorts, record: TaskRecord, change: ChangeNotice["change"]): ChangeNotice {
  const { status, progress = null } = record;
  const note = noteIn(record) && noteView(record);
  return { kind: "change", ...aboutOf(record), change, status, progress, ...note, at: iso(clock.now()) };
}

const aboutOf = ({ tenant_id, task_id, requested_by, type }: TaskRecord) => ({
  tenant_id,
  task_id,
  requested_by,
  type,
});
