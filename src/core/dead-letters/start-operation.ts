import type { DispatchPorts } from "../dispatch.ts";
import { taskIdOf } from "../idempotency.ts";
import type { Identity } from "../identity.ts";
import { internalTypeNames } from "../internal-names.ts";
import { internalTypes, systemTenant } from "../internal-types.ts";
import type { NewId } from "../ports.ts";
import { iso, longestQueueLifeSeconds, type TaskRecord } from "../record.ts";
import { submit } from "../submit.ts";
import type { Tier } from "../tier.ts";
import { type ChunkEntry, chunkSize, type OperationAction, type OperationState } from "./operation-state.ts";

export interface StartPorts extends DispatchPorts {
  newId: NewId;
}

/** An operation to start. */
export interface OperationStart {
  action: OperationAction;
  /** The dead letters to replay or discard. */
  matched: readonly TaskRecord[];
  /** Number of given ids that are not dead letters. */
  missed: number;
  /** Maximum number of replays per second. Default: no limit. */
  perSecond?: number | undefined;
  identity: Identity;
  correlationId: string;
  traceparent?: string | undefined;
}

/** An operation's parts are kept for this time, in seconds: longer than its record. */
const partsSeconds = longestQueueLifeSeconds + 2_592_000;

/**
 * Accepts an operation: stores its list of dead letters first, then submits its task. Returns the operation's id.
 * @throws PortUnavailable, Problem `unavailable`
 */
export async function startOperation(ports: StartPorts, start: OperationStart): Promise<string> {
  const { identity, matched } = start;
  const idempotencyKey = `operation ${ports.newId()}`;
  const operationId = taskIdOf(identity.tenantId, identity.principal, idempotencyKey);
  const key = { tenant_id: identity.tenantId, task_id: operationId };
  const purgeAt = partsPurgeAt(ports.clock.now());
  const chunks = chunksOf(matched.map((record): ChunkEntry => [record.task_id, record.dead_letter_at ?? ""]));
  await Promise.all(chunks.map((chunk, number) => ports.records.savePart(key, `operation#${number}`, chunk, purgeAt)));
  await ports.records.savePart(key, "operation", initialState(start), purgeAt);
  await submit(
    { ...ports, types: internalTypes },
    {
      identity,
      body: {
        type: internalTypeNames[start.action],
        input: start.perSecond === undefined ? {} : { per_second: start.perSecond },
      },
      idempotencyKey,
      correlationId: start.correlationId,
      traceparent: start.traceparent,
    },
  );
  return operationId;
}

/** Returns the time, in epoch seconds, from which an operation's parts may be deleted. */
export const partsPurgeAt = (nowMs: number): number => Math.ceil(nowMs / 1000) + partsSeconds;

const initialState = ({ matched, missed }: OperationStart): OperationState => ({
  matched: matched.length,
  missed,
  tiers: [...new Set(matched.map((record) => record.priority))],
  done: 0,
  skipped: 0,
  failed: 0,
  position: 0,
  window: 0,
});

function chunksOf(entries: readonly ChunkEntry[]): (readonly ChunkEntry[])[] {
  const count = Math.ceil(entries.length / chunkSize);
  return Array.from({ length: count }, (_, index) => entries.slice(index * chunkSize, (index + 1) * chunkSize));
}

/** Sweeps that are requested in the same interval of this length, in milliseconds, become one task. */
const sweepBucketMs = 5_000;

/**
 * Requests a sweep of a tier's DLQ, a few seconds after `afterMs` (epoch milliseconds; default: now). Requests in the same
 * interval become one task, which runs after the interval.
 * @throws Problem `unavailable`
 */
export async function requestSweep(
  ports: StartPorts,
  tier: Tier,
  correlationId: string,
  afterMs = ports.clock.now(),
): Promise<void> {
  const bucket = Math.floor(afterMs / sweepBucketMs) + 1;
  const run_at = iso(bucket * sweepBucketMs);
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
