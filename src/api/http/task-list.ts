import * as z from "zod";
import { chainTenants, mergeTenants, type PageQuery, type ReadOfTenant } from "../../core/control/all-tenants.ts";
import { listChildren, listTasks, taskSortKey } from "../../core/control/list.ts";
import { searchTasks } from "../../core/control/search.ts";
import { iso, type TaskRecord } from "../../core/model/record.ts";
import type { TaskView } from "../../core/model/task-view.ts";
import { statuses } from "../../core/model/words.ts";
import type { FamilyReadPorts } from "../../core/pipeline/end/child-results.ts";
import { childrenOf, onFailedOf, type ViewPorts, viewOf } from "../../core/pipeline/end/view.ts";
import type { TenantList } from "../../core/schedules/ports.ts";
import { isForAll } from "../acts/act.ts";
import type { FindTaskPorts } from "../acts/task-of-key.ts";
import { identify } from "./api.ts";
import type { ApiResponse, Call } from "./call.ts";
import { type Cursors, pageAnswer } from "./cursor.ts";
import { findTask } from "./find-task.ts";
import { pageParameters, queryOf, taskListQuery } from "./query.ts";

export interface TaskListPorts extends ViewPorts {
  cursors: Cursors;
  tenants: TenantList;
}

/** Tasks without their results that are stored beside the records. */
const viewsOf = (ports: TaskListPorts, records: readonly TaskRecord[]): Promise<TaskView[]> => {
  const nowIso = iso(ports.clock.now());
  return Promise.all(
    records.map(async (record) => {
      const [children, onFailed] = await Promise.all([childrenOf(ports, record), onFailedOf(ports, record)]);
      return viewOf(record, nowIso, { children, onFailed });
    }),
  );
};

/** A search has its own order in each tenant: what it finds comes one tenant after the other. */
const readAll = (ports: TaskListPorts, read: ReadOfTenant<TaskRecord>, page: PageQuery, isSearch: boolean) =>
  isSearch ? chainTenants(ports, read, page) : mergeTenants(ports.tenants, { keyOf: taskSortKey, read }, page);

/** `GET /tasks`. */
export async function listAnswer(ports: TaskListPorts, call: Call): Promise<ApiResponse> {
  const identity = identify(call, "submitter", "all");
  const { filter, limit, cursor, q } = taskListQuery(call);
  const read: ReadOfTenant<TaskRecord> = (tenantId, page) =>
    q === undefined
      ? listTasks(ports, { ...identity, tenantId }, filter, page)
      : searchTasks(ports, { ...identity, tenantId }, filter, q, page);
  const forAll = isForAll(identity);
  const filters = { ...filter, q };
  return pageAnswer(ports, call, { identity, list: "tasks", filters, cursor }, async (from) => {
    const { items, next } = forAll
      ? await readAll(ports, read, { limit, from }, q !== undefined)
      : await read(identity.tenantId, { limit, from });
    const views = await viewsOf(ports, items);
    const tasks = forAll ? views.map((view, at) => ({ ...view, tenant_id: items[at]?.tenant_id })) : views;
    return { items: { tasks }, next };
  });
}

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
