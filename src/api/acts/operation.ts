import { findOperation } from "../../core/control/operation.ts";
import { systemTenant } from "../../core/model/internal-names.ts";
import { Problem } from "../../core/model/problem.ts";
import type { Clock } from "../../core/ports/tasks.ts";
import { type Answer, type Asked, isForAll, isUuid } from "./act.ts";
import { pollHeaders } from "./task.ts";

export type FindPorts = Parameters<typeof findOperation>[0];
export type FoundOperation = NonNullable<Awaited<ReturnType<typeof findOperation>>>;

/** Admins may act on operations on all tenants. */
export const ofOperators = { role: "operator", reach: "all" } as const;

export const shownOperation = (ports: { clock: Clock }, { record, view }: FoundOperation): Answer => ({
  json: view,
  headers: pollHeaders(ports, record),
});

/**
 * Returns the operation in the path: one of the caller's tenant, or for an admin one on all tenants.
 * @throws Problem `not_found`
 */
export async function operationIn(
  ports: FindPorts,
  { by, params: { operation_id: id = "" } }: Asked,
  how?: "consistently",
): Promise<FoundOperation> {
  const places = [...(isForAll(by) ? [] : [by.tenantId]), ...(by.role === "admin" ? [systemTenant] : [])];
  for (const tenantId of isUuid(id) ? places : []) {
    const operation = await findOperation(ports, tenantId, id, how);
    if (operation !== undefined) return operation;
  }
  throw new Problem("not_found", "No such operation.");
}
