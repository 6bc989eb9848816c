import { internalTypeNames, systemTenant } from "../../model/internal-names.ts";
import { iso, type TaskRecord } from "../../model/record.ts";
import type { DispatchPorts } from "../../ports/steps.ts";
import { internalTypes } from "../../task/internal-types.ts";
import { submit } from "../submit/submit.ts";

/** Longest time, in milliseconds, from a request before the parent's change to that change. */
const changeMs = 10_000;

/**
 * The task of a request runs this long after the request, in milliseconds: usually the request after the change has
 * cancelled all children by then.
 */
const laterMs = 60_000;

/**
 * Requests that the open children of a parent are cancelled, by a task of Offload's own. Repeatable.
 * @param why `before`: the parent is about to be cancelled: the task then runs after that, and does nothing if it did
 * not happen. `stop`: too many of the children have failed, and the parent waits for the others.
 * @throws Problem `unavailable`
 */
export async function requestCancelChildren(
  ports: DispatchPorts,
  parent: TaskRecord,
  why?: "before" | "stop",
): Promise<void> {
  const before = why === "before";
  const { tenant_id, task_id, round, cancel_now: now } = parent;
  await submit(
    { ...ports, types: internalTypes },
    {
      identity: { tenantId: systemTenant, principal: "offload", role: "operator" },
      body: {
        type: internalTypeNames.cancelChildren,
        input: { tenant_id, task_id, ...(now && { now }) },
        retention_seconds: 3600,
        ...(before ? { run_at: iso(Math.ceil((ports.clock.now() + laterMs) / changeMs) * changeMs) } : {}),
      },
      idempotencyKey: `cancel children ${tenant_id} ${task_id} ${round}${now ? " now" : ""}${why === "stop" ? " stop" : ""}${before ? ` ${Math.floor(ports.clock.now() / changeMs)}` : ""}`,
      correlationId: parent.correlation_id,
    },
  );
}
