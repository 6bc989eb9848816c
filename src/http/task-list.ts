import { listTasks } from "../core/control/list.ts";
import { searchTasks } from "../core/control/search.ts";
import { childrenOf, type ViewPorts, viewOf } from "../core/end/view.ts";
import { iso, type TaskRecord } from "../core/model/record.ts";
import type { TaskView } from "../core/model/task-view.ts";
import { type Call, identify } from "./api.ts";
import type { Cursors } from "./cursor.ts";
import { taskListQuery } from "./query.ts";

export interface TaskListPorts extends ViewPorts {
  cursors: Cursors;
}

/** Tasks without their results that are stored beside the records. */
export const viewsOf = (ports: TaskListPorts, records: readonly TaskRecord[]): Promise<TaskView[]> => {
  const nowIso = iso(ports.clock.now());
  return Promise.all(records.map(async (record) => viewOf(record, nowIso, undefined, await childrenOf(ports, record))));
};

/** `GET /tasks`. */
export async function listAnswer(ports: TaskListPorts, call: Call): Promise<Response> {
  const identity = identify(call);
  const { filter, limit, cursor, q } = taskListQuery(call);
  const scope = { identity, list: "tasks", filters: { ...filter, q } };
  const from = cursor === undefined ? undefined : ports.cursors.read(scope, cursor);
  const page =
    q === undefined
      ? await listTasks(ports, identity, filter, { limit, from })
      : await searchTasks(ports, identity, filter, q, { limit, from });
  call.header("cache-control", "no-store");
  return call.json({
    tasks: await viewsOf(ports, page.items),
    next_cursor: page.next === undefined ? null : ports.cursors.write(scope, page.next),
  });
}
