import type { Clock, Records } from "../ports.ts";
import { isKept, iso, statusAt, type TaskKey, type TaskRecord } from "../record.ts";
import type { Status } from "../status.ts";
import type { Tier } from "../tier.ts";

/*
 * An operation replays or discards many dead letters. It is a task of Offload's own, on its own pipeline: its id is the
 * task's id, its status the task's status. Beside the task's record are kept what it is to do and how far it is.
 */

export const operationActions = ["replay", "discard"] as const;
export type OperationAction = (typeof operationActions)[number];

/** The task types that Offload submits itself. No catalogue of clients has them. */
export const internalTypeNames = {
  replay: "offload.replay",
  discard: "offload.discard",
  sweep: "offload.sweep",
} as const;

/** The tenant of the system's own work: no key and no `?tenant=` can have this name, so nobody sees its tasks. */
export const systemTenant = "$offload";

/** How far an operation is. Written when it is accepted, then by its attempts. */
export interface OperationState {
  /** The dead letters there were when it was accepted: so many are in the chunks. Never changes. */
  matched: number;
  /** Of the ids that were given, those that were no dead letters then. Never changes. */
  missed: number;
  /** The tiers of the matched. Never changes. */
  tiers: Tier[];
  done: number;
  skipped: number;
  failed: number;
  /** The matched before this one are counted. */
  position: number;
  /** So many from `position` on may have been acted on by an attempt that broke off before it counted them. */
  window: number;
}

/** Task id and `dead_letter_at` of one matched dead letter, in a chunk. */
export type ChunkEntry = readonly [taskId: string, deadLetterAt: string];

/** Entries of one chunk: some 70 KB, well below what an item of the table holds. */
export const chunkSize = 1_000;

/** An operation as clients see it: the fields and order of the contract. */
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

/** An operation of the tenant, with its task's record; undefined when there is none. */
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

/** Ids that were no dead letters count as skipped once the rest is counted: not before, as the sum would then end too early. */
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
