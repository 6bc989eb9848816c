import * as z from "zod";
import { listChildren } from "../core/control/list.ts";
import { statuses } from "../core/model/status.ts";
import type { FamilyReadPorts } from "../core/pipeline/end/child-results.ts";
import type { FindTaskPorts } from "../operations/task-of-key.ts";
import { identify } from "./api.ts";
import type { ApiResponse, Call } from "./call.ts";
import { findTask } from "./find-task.ts";
import { pageParameters, queryOf } from "./query.ts";
import { type TaskListPorts, viewsOf } from "./task-list.ts";

/** Query of `GET /tasks/{task_id}/children`. */
export const childListSchema = z.object({ ...pageParameters, status: z.enum(statuses).optional() });

/** `GET /tasks/{task_id}/children`. */
export async function childListAnswer(
  ports: TaskListPorts & FamilyReadPorts & FindTaskPorts,
  call: Call,
): Promise<ApiResponse> {
  const identity = identify(call);
  const parent = await findTask(ports, call, identity);
  const { limit, cursor, status } = queryOf(call, childListSchema);
  const scope = { identity, list: "children", filters: { parent: parent.task_id, status } };
  const from = cursor === undefined ? undefined : ports.cursors.read(scope, cursor);
  const page = await listChildren(ports, parent, status, { limit, from });
  call.header("cache-control", "no-store");
  return call.json({
    tasks: await viewsOf(ports, page.items),
    next_cursor: page.next === undefined ? null : ports.cursors.write(scope, page.next),
  });
}
