import { chainTenants, mergeTenants, type PageQuery, type ReadOfTenant } from "../core/control/all-tenants.ts";
import { listTasks, taskSortKey } from "../core/control/list.ts";
import { searchTasks } from "../core/control/search.ts";
import { iso, type TaskRecord } from "../core/model/record.ts";
import type { TaskView } from "../core/model/task-view.ts";
import { childrenOf, onFailedOf, type ViewPorts, viewOf } from "../core/pipeline/end/view.ts";
import type { TenantList } from "../core/schedules/ports.ts";
import { isForAll } from "../operations/act.ts";
import { identify } from "./api.ts";
import type { ApiResponse, Call } from "./call.ts";
import type { Cursors } from "./cursor.ts";
import { taskListQuery } from "./query.ts";

export interface TaskListPorts extends ViewPorts {
  cursors: Cursors;
  tenants: TenantList;
}

/** Tasks without their results that are stored beside the records. */
export const viewsOf = (ports: TaskListPorts, records: readonly TaskRecord[]): Promise<TaskView[]> => {
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
  const scope = { identity, list: "tasks", filters: { ...filter, q } };
  const from = cursor === undefined ? undefined : ports.cursors.read(scope, cursor);
  const read: ReadOfTenant<TaskRecord> = (tenantId, page) =>
    q === undefined
      ? listTasks(ports, { ...identity, tenantId }, filter, page)
      : searchTasks(ports, { ...identity, tenantId }, filter, q, page);
  const forAll = isForAll(identity);
  const page = forAll
    ? await readAll(ports, read, { limit, from }, q !== undefined)
    : await read(identity.tenantId, { limit, from });
  const views = await viewsOf(ports, page.items);
  call.header("cache-control", "no-store");
  return call.json({
    tasks: forAll ? views.map((view, at) => ({ ...view, tenant_id: page.items[at]?.tenant_id })) : views,
    next_cursor: page.next === undefined ? null : ports.cursors.write(scope, page.next),
  });
}
