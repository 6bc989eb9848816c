import { inLanes } from "../../util/in-lanes.ts";
import { PortUnavailable } from "../model/errors.ts";
import { internalTypeNames, systemTenant } from "../model/internal-names.ts";
import type { TaskRecord } from "../model/record.ts";
import { submit } from "../pipeline/submit/submit.ts";
import { dayOf } from "../ports/blob.ts";
import type { WaitQueues } from "../ports/flow.ts";
import type { DispatchPorts } from "../ports/steps.ts";
import type { OpenTasks } from "../ports/tasks.ts";
import { internalTypes } from "../task/internal-types.ts";
import type { Deployments } from "./ports.ts";

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

/*
 * A release that fails, or that is rolled back, may have received the checks of lines and have lost them: its queue
 * hides them for as long as an attempt may take. So the end of each deployment looks for lines without a check.
 */

interface LookPorts extends DispatchPorts {
  openTasks: OpenTasks;
  lines: WaitQueues;
}

/** Parts of the table that a look reads, at most: with 1 MB each, $0.03. The daily pass reads the rest. */
const maxParts = 2_000;

/** Lines that a look remembers, at most. */
const maxLines = 100_000;

/** A check that should have come this long ago is lost, or in a tier that is behind, in milliseconds. */
const lostMs = 60_000;

/** Lines that are looked at together. */
const lanes = 10;

/**
 * Sends a check to each line in which tasks wait and whose own check is missing or overdue. Each step may be repeated.
 * @param deadlineMs Epoch milliseconds at which it must have ended.
 */
export async function lookAtLines(ports: LookPorts, deadlineMs: number): Promise<string> {
  const seen = new Set<string>();
  let checked = 0;
  let from: string | undefined;
  for (let parts = 0; parts < maxParts && ports.clock.now() < deadlineMs; parts++) {
    const part = await ports.openTasks.part(from);
    const fresh = part.items.filter((record) => waitsInNew(seen, record));
    await inLanes(fresh, lanes, async (record) => {
      if (await checkLost(ports, record)) checked += 1;
    });
    from = part.next;
    if (from === undefined || seen.size >= maxLines) break;
  }
  ports.log.info("looked at the lines after a deployment", { lines: seen.size, checked, whole: from === undefined });
  return "looked";
}

/** True for the first task that is found in its line. */
function waitsInNew(seen: Set<string>, { status, line }: TaskRecord): boolean {
  if (status !== "pending" || line === undefined || seen.has(line)) return false;
  seen.add(line);
  return true;
}

/** Sends a check to a line that has none on its way. A line that cannot be looked at is left to the daily pass. */
async function checkLost(ports: LookPorts, { line = "", priority: tier }: TaskRecord): Promise<boolean> {
  try {
    const { check } = await ports.lines.state(line);
    if (check !== undefined && check.atMs > ports.clock.now() - lostMs) return false;
    await ports.queues.sendCheck({ tier, check: { line, check_id: ports.newId() }, delaySeconds: 0 });
    return true;
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    return false;
  }
}
