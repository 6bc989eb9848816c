import { listTasks } from "../core/list.ts";
import type { Clock, Records } from "../core/ports.ts";
import { iso } from "../core/record.ts";
import { viewOf } from "../core/view.ts";
import { type Call, identify } from "./api.ts";
import type { Cursors } from "./cursor.ts";
import { taskListQuery } from "./query.ts";

export interface TaskListPorts {
  clock: Clock;
  records: Records;
  cursors: Cursors;
}

/** `GET /tasks`. */
export async function listAnswer(ports: TaskListPorts, call: Call): Promise<Response> {
  const identity = identify(call);
  const { filter, limit, cursor } = taskListQuery(call);
  const scope = { identity, list: "tasks", filters: { ...filter } };
  const from = cursor === undefined ? undefined : ports.cursors.read(scope, cursor);
  const page = await listTasks(ports, identity, filter, { limit, from });
  const nowIso = iso(ports.clock.now());
  call.header("cache-control", "no-store");
  return call.json({
    tasks: page.items.map((record) => viewOf(record, nowIso)),
    next_cursor: page.next === undefined ? null : ports.cursors.write(scope, page.next),
  });
}
