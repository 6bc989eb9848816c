import type { TaskRecord } from "./record.ts";

/** The task types that Offload submits itself. Clients can neither list nor submit them. */
export const internalTypeNames = {
  replay: "offload.replay",
  discard: "offload.discard",
  cancel: "offload.cancel",
  retry: "offload.retry",
  run_now: "offload.run_now",
  redeliver: "offload.redeliver",
  sweep: "offload.sweep",
  cancelChildren: "offload.cancel_children",
  purgeBlobs: "offload.purge_blobs",
} as const;

/**
 * The type of the tasks that run `onFailed`, which is code of authors. Clients cannot submit it; it obeys pauses, and
 * can be cancelled, as other tasks.
 */
export const onFailedName = "offload.on_failed";

const names: readonly string[] = Object.values(internalTypeNames);

/** True for a task of Offload's own. */
export const isInternal = ({ type }: Pick<TaskRecord, "type">): boolean => names.includes(type);

/** True for the name of a type of Offload's own, also a type of a later release. */
export const isOwnName = (type: string): boolean => type.startsWith("offload.");

/** Tenant of Offload's own tasks. No key and no `?tenant=` can have this name, so that no client sees them. */
export const systemTenant = "$offload";
