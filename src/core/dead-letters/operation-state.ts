import { internalTypeNames } from "../internal-names.ts";
import type { Clock, Records } from "../ports.ts";
import { isKept, iso, statusAt, type TaskKey, type TaskRecord } from "../record.ts";
import type { Status } from "../status.ts";
import type { Tier } from "../tier.ts";

/*
 * An operation replays or discards many dead letters. It is a task of one of Offload's own types: its id is the task's id, its
 * status is the task's status. Its list of dead letters and its progress are stored as parts of the task's record.
 */

export const operationActions = ["replay", "discard"] as const;
export type OperationAction = (typeof operationActions)[number];

/** Progress of an operation. Written when it is accepted, then by its attempts. */
export interface OperationState {
  /** Number of dead letters when the operation was accepted, which its chunks list. Never changes. */
  matched: number;
  /** Number of given ids that were not dead letters at that time. Never changes. */
  missed: number;
  /** Tiers of the matched dead letters. Never changes. */
  tiers: Tier[];
  done: number;
  skipped: number;
  failed: number;
  /** Number of dead letters, in the order of the chunks, that are counted in `done`, `skipped` and `failed`. */
  position: number;
  /** Number of dead letters from `position` on that an interrupted attempt may have processed but not counted. */
  window: number;
}

/** Task id and `dead_letter_at` of one dead letter in a chunk. */
export type ChunkEntry = readonly [taskId: string, deadLetterAt: string];

/** Number of entries in a chunk: about 70 KB, well below the 400 KB of an item in the table. */
export const chunkSize = 1_000;

/** An operation as clients see it: names and order of the fields are part of the API. */
export interface OperationView {
  operation_id: string;
  status: Status;
  matched: number;
  done: number;
  skipped: number;
  failed: number;
}

export const loadState = async (records: Records, key: TaskKey): Promise<OperationState | undefined> =>
  (await records.loadPart(key, "operation")) as OperationState | undefined;

/** Finds an operation of the tenant, with its task's record. Undefined: there is none. */
export async function findOperation(
  ports: { records: Records; clock: Clock },
  tenantId: string,
  operationId: string,
): Promise<{ record: TaskRecord; view: OperationView } | undefined> {
  const key = { tenant_id: tenantId, task_id: operationId };
  const record = await ports.records.get(key);
  const now = ports.clock.now();
  if (record === undefined || !isKept(record, now)) return undefined;
  if (!operationActions.some((action) => internalTypeNames[action] === record.type)) return undefined;
  const state = await loadState(ports.records, key);
  return state === undefined ? undefined : { record, view: viewOf(record, state, iso(now)) };
}

/** Adds `missed` to `skipped` only when the rest is counted, so that clients do not see the final sum too early. */
function viewOf(record: TaskRecord, state: OperationState, nowIso: string): OperationView {
  const counted = state.position >= state.matched;
  return {
    operation_id: record.task_id,
    status: statusAt(record, nowIso),
    matched: state.matched,
    done: state.done,
    skipped: state.skipped + (counted ? state.missed : 0),
    failed: state.failed,
  };
}
