import type { TaskRecord } from "../../model/record.ts";
import { waitsForTurn } from "../../model/suspension.ts";
import { startInTurn } from "../../pipeline/end/turn.ts";
import type { DispatchPorts } from "../../ports/steps.ts";

/**
 * Starts the task that has the key of an ended one, if it waited for that end. A task whose message is not known to be
 * sent is left to its submit, which may still withdraw it. Repeatable.
 * @throws PortUnavailable
 */
export async function startNext(ports: DispatchPorts, ended: TaskRecord, unique_key: string): Promise<void> {
  const { tenant_id, type } = ended;
  const holder = await ports.uniqueKeys.holder({ tenant_id, type, unique_key });
  if (holder === undefined || holder.unsent !== undefined || holder.task_id === ended.task_id) return;
  const next = await ports.records.get({ tenant_id, task_id: holder.task_id }, "consistently");
  if (next?.created_at !== holder.created_at || next.status !== "pending" || !waitsForTurn(next)) return;
  await startInTurn(ports, next);
}
