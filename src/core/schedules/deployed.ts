import { internalTypeNames, systemTenant } from "../model/internal-names.ts";
import { submit } from "../pipeline/submit/submit.ts";
import { dayOf } from "../ports/blob.ts";
import type { Deployments } from "../ports/deployments.ts";
import type { DispatchPorts } from "../ports/steps.ts";
import { internalTypes } from "../task/internal-types.ts";

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

export interface DailyPorts extends DispatchPorts {
  /** Looks for open tasks that nothing wakes, until the given time. */
  reconcile(deadlineMs: number): Promise<void>;
  /** Looks for lines without a check, until the given time. */
  lookAtLines(deadlineMs: number): Promise<string>;
}

/** Time that is left for other firings of the same invocation, in milliseconds. */
const reserveMs = 30_000;

/**
 * Does what is due once a day: requests the deletion of stored objects, and looks for open tasks that nothing wakes.
 */
export async function daily(ports: DailyPorts, deadlineMs: number): Promise<string> {
  const requested = await requestPurge(ports);
  await ports.reconcile(deadlineMs - reserveMs);
  return requested;
}

/** Submits the task that deletes stored objects: one a day, however often the rule fires. */
async function requestPurge(ports: DispatchPorts): Promise<string> {
  await submit(
    { ...ports, types: internalTypes },
    {
      identity: { tenantId: systemTenant, principal: "offload", role: "operator" },
      body: { type: internalTypeNames.purgeBlobs, input: {}, retention_seconds: 86_400 },
      idempotencyKey: `purge blobs ${dayOf(ports.clock.now())}`,
      correlationId: ports.newId(),
    },
  );
  return "purge requested";
}
