import type { Deployments } from "../ports/deployments.ts";
import type { DailyPorts } from "./daily.ts";

export interface DeployedPorts extends Pick<DailyPorts, "lookAtLines"> {
  deployments: Deployments;
}

/** The end of a deployment, as its rule tells fire. */
export interface DeployedFiring {
  /** Absent: an earlier release sent it, without the time. */
  at?: string | undefined;
  version?: string | undefined;
  /** The stack's status in CloudFormation. */
  status?: string | undefined;
}

/** Status of a stack whose deployment has started. */
const started = "UPDATE_IN_PROGRESS";

/** Stores that a deployment has started or ended. At the end it looks at the lines. A repeat stores the same. */
export async function deployed(
  { deployments, lookAtLines }: DeployedPorts,
  { at, version = "unknown", status = "" }: DeployedFiring,
  deadlineMs: number,
): Promise<string> {
  if (status === started) {
    if (at !== undefined) await deployments.begin(at);
    return "started";
  }
  if (at !== undefined) {
    const started_at = await startOf(deployments, at);
    await deployments.note({ started_at, deployed_at: at, version, rolled_back: status.includes("ROLLBACK") });
  }
  return lookAtLines(deadlineMs);
}

/** The start of the deployment that ended at a time. A start before the end of another deployment is not its own. */
async function startOf(deployments: Deployments, end: string): Promise<string> {
  const [begun, all] = await Promise.all([deployments.begun(), deployments.newest()]);
  const known = all.find(({ deployed_at }) => deployed_at === end);
  if (known !== undefined) return known.started_at;
  const before = all.find(({ deployed_at }) => deployed_at < end)?.deployed_at ?? "";
  return begun !== undefined && begun > before && begun < end ? begun : end;
}
