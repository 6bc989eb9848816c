import type { Deployments } from "../ports/deployments.ts";
import type { DailyPorts } from "./daily.ts";

export interface DeployedPorts extends Pick<DailyPorts, "lookAtLines"> {
  deployments: Pick<Deployments, "note">;
}

/** The end of a deployment, as its rule tells fire. */
export interface DeployedFiring {
  /** Absent: an earlier release sent it, without the time. */
  at?: string | undefined;
  version?: string | undefined;
  /** The stack's status in CloudFormation. */
  status?: string | undefined;
}

/** Stores that a deployment has ended, and looks at the lines. A repeat stores the same. */
export async function deployed(
  { deployments, lookAtLines }: DeployedPorts,
  { at, version = "unknown", status = "" }: DeployedFiring,
  deadlineMs: number,
): Promise<string> {
  if (at !== undefined) {
    await deployments.note({ deployed_at: at, version, rolled_back: status.includes("ROLLBACK") });
  }
  return lookAtLines(deadlineMs);
}
