import type { CountRequest } from "../limits/gate.ts";
import { taskIdOf } from "../model/idempotency.ts";
import type { Identity } from "../model/identity.ts";
import { internalTypeNames, systemTenant } from "../model/internal-names.ts";
import { longestQueueLifeSeconds, type TaskRecord } from "../model/record.ts";
import type { Tier } from "../model/tier.ts";
import { submit } from "../pipeline/submit/submit.ts";
import type { DispatchPorts } from "../ports/steps.ts";
import { internalTypes } from "../task/internal-types.ts";
import { type ChunkEntry, chunkSize, type OperationAction, type OperationState } from "./operation-state.ts";

/** An operation to start. */
export interface OperationStart {
  action: OperationAction;
  matched: readonly ChunkEntry[];
  /** Tiers in whose DLQs the operation leaves stale messages. */
  tiers: readonly Tier[];
  /** Number of given ids that did not match. */
  missed: number;
  /** Maximum number of replays or retries per second. Default: no limit. */
  perSecond?: number | undefined;
  /** Of a cancel: true when attempts that do not stop are ended with their processes. */
  now?: boolean | undefined;
  /** The caller. An operation on all tenants belongs to `systemTenant`, so that no tenant sees it. */
  identity: Identity;
  correlationId: string;
  traceparent?: string | undefined;
}

/** An operation's parts are kept for this time, in seconds: longer than its record. */
const partsSeconds = longestQueueLifeSeconds + 2_592_000;

/** Operations that start work again. No limit refuses the others: they may be what ends a flood. */
const counted: ReadonlySet<OperationAction> = new Set(["replay", "retry", "redeliver"]);

export interface StartPorts extends DispatchPorts {
  /** Absent: operations have no rate. */
  countRequest?: CountRequest;
}

/**
 * Accepts an operation: stores its list of tasks first, then submits its task. Returns the operation's id.
 * @throws PortUnavailable, Problem `unavailable`, `rate_limited`
 */
export async function startOperation(ports: StartPorts, start: OperationStart): Promise<string> {
  const { identity, matched } = start;
  if (counted.has(start.action) && identity.tenantId !== systemTenant) await ports.countRequest?.(identity.tenantId);
  const idempotencyKey = `operation ${ports.newId()}`;
  const operationId = taskIdOf(identity.tenantId, identity.principal, idempotencyKey);
  const key = { tenant_id: identity.tenantId, task_id: operationId };
  const purgeAt = partsPurgeAt(ports.clock.now());
  const chunks = chunksOf(matched);
  await Promise.all(chunks.map((chunk, number) => ports.records.savePart(key, `operation#${number}`, chunk, purgeAt)));
  await ports.records.savePart(key, "operation", initialState(start), purgeAt);
  await submit(
    { ...ports, types: internalTypes },
    {
      identity,
      body: {
        type: internalTypeNames[start.action],
        input: {
          ...(start.perSecond !== undefined && { per_second: start.perSecond }),
          ...(start.now && { now: true }),
        },
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

/** The list of tasks of an operation, and the tiers whose DLQs it leaves messages in. */
export const onTasks = (tenantId: string, action: OperationAction, matched: readonly TaskRecord[]) => ({
  matched: matched.map((record) => entryIn(tenantId, action, record)),
  tiers: tiersOf(action, matched),
});

/** The entry of a task in the list of an operation of a tenant. */
function entryIn(tenantId: string, action: OperationAction, record: TaskRecord): ChunkEntry {
  const [taskId, mark, deadLetterAt] = entryOf(action, record);
  if (record.tenant_id !== tenantId) return [taskId, mark, deadLetterAt ?? "", record.tenant_id];
  return deadLetterAt === undefined ? [taskId, mark] : [taskId, mark, deadLetterAt];
}

function entryOf(action: OperationAction, { task_id, dead_letter_at, round, due_at }: TaskRecord): ChunkEntry {
  if (action === "run_now") return [task_id, due_at];
  if (action === "replay" || action === "discard") return [task_id, dead_letter_at ?? ""];
  if (action === "retry" && dead_letter_at !== undefined) return [task_id, String(round), dead_letter_at];
  return [task_id, String(round)];
}

/** Cancelled tasks, and those that wait, have no message in a DLQ, and of retried ones only the dead letters do. */
const tiersOf = (action: OperationAction, matched: readonly TaskRecord[]): Tier[] =>
  action === "cancel" || action === "run_now"
    ? []
    : [...new Set(matched.filter((record) => record.dead_letter_at !== undefined).map(({ priority }) => priority))];

const initialState = ({ matched, missed, tiers }: OperationStart): OperationState => ({
  matched: matched.length,
  missed,
  tiers: [...tiers],
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
