import { systemTenant } from "../model/internal-names.ts";
import type { Records } from "../ports/tasks.ts";

/** Result of a pass. Times are ISO 8601 UTC. */
export interface ReconcilePass {
  at: string;
  /** True when it read the table to its end. */
  whole: boolean;
  /** Open tasks that it saw, and those that it sent again, ended, or whose family or line it went on with. */
  open: number;
  sent: number;
  ended: number;
  /** Late tasks that it left alone: their tier is behind, or their message is the only copy of their input. */
  left: number;
  /** Where the next pass goes on. Absent: at the beginning. */
  next?: string;
}

const stateKey = { tenant_id: systemTenant, task_id: "rescue" };

/** The state is kept for this time after a pass, in seconds. */
const stateSeconds = 90 * 86_400;

/** Stores what a pass found. */
export const saveReconcile = (
  { records }: { records: Pick<Records, "savePart"> },
  pass: ReconcilePass,
): Promise<void> => records.savePart(stateKey, "rescue", pass, Math.floor(Date.parse(pass.at) / 1000) + stateSeconds);

/** The last pass. Undefined: there was none. */
export const lastReconcile = async ({
  records,
}: {
  records: Pick<Records, "loadPart">;
}): Promise<ReconcilePass | undefined> => (await records.loadPart(stateKey, "rescue")) as ReconcilePass | undefined;
