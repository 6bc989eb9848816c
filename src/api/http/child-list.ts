import * as z from "zod";
import { listChildren } from "../../core/control/list.ts";
import { statuses } from "../../core/model/words.ts";
import type { FamilyReadPorts } from "../../core/pipeline/end/child-results.ts";
import type { FindTaskPorts } from "../acts/task-of-key.ts";
import { identify } from "./api.ts";
import type { ApiResponse, Call } from "./call.ts";
import { pageAnswer } from "./cursor.ts";
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
  const filters = { parent: parent.task_id, status };
  return pageAnswer(ports, call, { identity, list: "children", filters, cursor }, async (from) => {
    const { items, next } = await listChildren(ports, parent, status, { limit, from });
    return { items: { tasks: await viewsOf(ports, items) }, next };
  });
}
