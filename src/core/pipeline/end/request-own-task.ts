import { internalTypeNames, systemTenant } from "../../model/internal-names.ts";
import { iso, type TaskRecord } from "../../model/record.ts";
import type { Tier } from "../../model/words.ts";
import type { DispatchPorts } from "../../ports/steps.ts";
import { internalTypes } from "../../task/internal-types.ts";
import { submit } from "../submit/submit.ts";

/** Sweeps that are requested in the same interval of this length, in milliseconds, become one task. */
const sweepBucketMs = 5_000;

const bucketOf = (atMs: number): number => Math.floor(atMs / sweepBucketMs) + 1;

/**
 * Requests a sweep of a tier's DLQ, a few seconds after `afterMs` (epoch milliseconds; default: now). Requests in the
 * same interval become one task, which runs after the interval.
 * @throws Problem `unavailable`
 */
export async function requestSweep(
  ports: DispatchPorts,
  tier: Tier,
  correlationId: string,
  afterMs = ports.clock.now(),
): Promise<void> {
  const run_at = iso(bucketOf(afterMs) * sweepBucketMs);
  await submit(
    { ...ports, types: internalTypes },
    {
      identity: { tenantId: systemTenant, principal: "offload", role: "operator" },
      body: { type: internalTypeNames.sweep, input: { tier }, run_at, retention_seconds: 3600 },
      idempotencyKey: `sweep ${tier} ${run_at}`,
      correlationId,
    },
  );
}

/**
 * Requests the sweep that deletes the message of a dead letter whose task is about to start again. It is requested
 * before the change, and runs after it: a process that dies in between leaves no message in the DLQ for ever. A task
 * that is no dead letter costs nothing.
 * @throws Problem `unavailable`
 */
export async function sweepBeforeNextRound(
  ports: DispatchPorts,
  { dead_letter_at, priority, correlation_id }: TaskRecord,
): Promise<void> {
  if (dead_letter_at === undefined) return;
  await requestSweep(ports, priority, correlation_id, ports.clock.now() + sweepBucketMs);
}

/** Requests these sweeps for many tasks: one request for each tier and interval. */
export function sweepsOfMany(ports: DispatchPorts): (record: TaskRecord) => Promise<void> {
  const requested = new Map<Tier, { bucket: number; sweep: Promise<void> }>();
  return (record) => {
    const { priority: tier } = record;
    const bucket = bucketOf(ports.clock.now());
    const earlier = requested.get(tier);
    if (record.dead_letter_at === undefined) return Promise.resolve();
    if (earlier?.bucket === bucket) return earlier.sweep;
    const sweep = sweepBeforeNextRound(ports, record);
    requested.set(tier, { bucket, sweep });
    sweep.catch(() => requested.delete(tier));
    return sweep;
  };
}

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
