import type { CountRequest } from "../limits/gate.ts";
import { taskIdOf } from "../model/idempotency.ts";
import { internalTypeNames, systemTenant } from "../model/internal-names.ts";
import { isKept, iso, longestQueueLifeSeconds, statusAt, type TaskKey, type TaskRecord } from "../model/record.ts";
import { type Identity, isTerminal, type Status, type Tier } from "../model/words.ts";
import { submit } from "../pipeline/submit/submit.ts";
import type { DispatchPorts } from "../ports/steps.ts";
import type { Clock, Records } from "../ports/tasks.ts";
import { internalTypes } from "../task/internal-types.ts";

/*
 * An operation replays or discards many dead letters, cancels, retries or runs many tasks now, or delivers many
 * webhooks again. It is a task of one of Offload's own types: its id is the task's id, its status is the task's status.
 * Its list of tasks and its progress are stored as parts of the task's record.
 */

const operationActions = ["replay", "discard", "cancel", "retry", "run_now", "redeliver"] as const;
export type OperationAction = (typeof operationActions)[number];

/** Actions that start tasks, whose rate matters to what the tasks call. */
export const startingActions: readonly OperationAction[] = ["replay", "retry", "run_now"];

/** Progress of an operation. Written when it is accepted, then by its attempts. */
export interface OperationState {
  /** Number of tasks that matched when the operation was accepted, which its chunks list. Never changes. */
  matched: number;
  /** Number of given ids that did not match at that time. Never changes. */
  missed: number;
  /** Tiers in whose DLQs the operation leaves stale messages. Never changes. */
  tiers: Tier[];
  done: number;
  skipped: number;
  failed: number;
  /** Number of tasks, in the order of the chunks, that are counted in `done`, `skipped` and `failed`. */
  position: number;
  /** Number of tasks from `position` on that an interrupted attempt may have processed but not counted. */
  window: number;
  /** Reason why the operation cancelled itself. */
  stopped?: string;
}

/**
 * One matched task in a chunk. `mark` is what the operation's action finds the task by, as it matched: of a replay or
 * discard its `dead_letter_at`, of a cancel or retry its round, of a run-now its due time, of a redeliver the id of the
 * delivery. `deadLetterAt`: of a retry, if the task was a dead letter; else empty or absent. `tenantId`: of an
 * operation on all tenants. Absent: the operation's own tenant.
 */
export type ChunkEntry = readonly [taskId: string, mark: string, deadLetterAt?: string, tenantId?: string];

/** Number of entries in a chunk: at most about 100 KB, well below the 400 KB of an item in the table. */
export const chunkSize = 1_000;

/** An operation as clients see it: names and order of the fields are part of the API. */
export interface OperationView {
  operation_id: string;
  status: Status;
  matched: number;
  done: number;
  skipped: number;
  failed: number;
  /** Reason why the operation cancelled itself: what it had started all failed again. Absent: it did not. */
  stopped?: string | undefined;
}

export const loadState = async (records: Records, key: TaskKey): Promise<OperationState | undefined> =>
  (await records.loadPart(key, "operation")) as OperationState | undefined;

/** Finds an operation of the tenant, with its task's record. Undefined: there is none. */
export async function findOperation(
  ports: { records: Records; clock: Clock },
  tenantId: string,
  operationId: string,
  how?: "consistently",
): Promise<{ record: TaskRecord; view: OperationView } | undefined> {
  const key = { tenant_id: tenantId, task_id: operationId };
  const record = await ports.records.get(key, how);
  const now = ports.clock.now();
  if (record === undefined || !isKept(record, now)) return undefined;
  const action = operationActions.find((one) => internalTypeNames[one] === record.type);
  const state = action === undefined ? undefined : await loadState(ports.records, key);
  if (action === undefined || state === undefined) return undefined;
  const status = statusAt(record, iso(now));
  if (isTerminal(status)) await countInterrupted(ports.records, { key, action, state });
  return { record, view: viewOf(record, state, status) };
}

/** One matched task: where it is, and how it was when it matched. */
export interface Matched {
  key: TaskKey;
  entry: ChunkEntry;
}

/** Reads the matched tasks at a position, of one chunk. Undefined: the chunk is no longer stored. */
async function readMatched(
  records: Records,
  key: TaskKey,
  position: number,
  count: number,
): Promise<Matched[] | undefined> {
  const chunk = (await records.loadPart(key, `operation#${Math.floor(position / chunkSize)}`)) as
    | readonly ChunkEntry[]
    | undefined;
  return chunk && matchedIn(chunk, key, position % chunkSize, count);
}

/** The matched tasks in a part of a chunk. */
export const matchedIn = (chunk: readonly ChunkEntry[], { tenant_id }: TaskKey, start: number, count: number) =>
  chunk
    .slice(start, start + count)
    .map((entry): Matched => ({ key: { tenant_id: entry[3] ?? tenant_id, task_id: entry[0] }, entry }));

/** True when a task looks as the action leaves it. */
const looksDone: Readonly<Record<OperationAction, (record: TaskRecord, mark: string) => boolean>> = {
  replay: ({ dead_letter_at }, mark) => dead_letter_at !== mark,
  discard: ({ dead_letter_at }, mark) => dead_letter_at !== mark,
  cancel: ({ status, cancel_requested_at }) => status === "cancelled" || cancel_requested_at !== undefined,
  retry: ({ round }, mark) => round !== Number(mark),
  run_now: ({ due_at }, mark) => due_at !== mark,
  // The task does not tell whether its webhook was sent again, so a webhook of an interrupted attempt is not counted.
  redeliver: () => false,
};

/**
 * An attempt that died may have processed tasks that no later one has counted, as the operation was cancelled or failed
 * then: their records tell.
 */
async function countInterrupted(
  records: Records,
  { key, action, state }: { key: TaskKey; action: OperationAction; state: OperationState },
): Promise<void> {
  if (state.window === 0) return;
  const matched = (await readMatched(records, key, state.position, state.window)) ?? [];
  const found = await records.getMany(matched.map((one) => one.key));
  state.done += matched.filter(({ entry }, at) => {
    const record = found[at];
    return record !== undefined && looksDone[action](record, entry[1]);
  }).length;
}

/** Adds `missed` to `skipped` only when the rest is counted, so that clients do not see the final sum too early. */
function viewOf(record: TaskRecord, state: OperationState, status: Status): OperationView {
  const counted = state.position >= state.matched;
  return {
    operation_id: record.task_id,
    status,
    matched: state.matched,
    done: state.done,
    skipped: state.skipped + (counted ? state.missed : 0),
    failed: state.failed,
    ...(state.stopped !== undefined && { stopped: state.stopped }),
  };
}

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
