import type { TaskKey } from "../record.ts";

/** Key of an upload's object in the bucket. */
export const uploadKey = (tenantId: string, uploadId: string): string =>
  `${encodeURIComponent(tenantId)}/uploads/${uploadId}`;

/**
 * Key of a result's object in the bucket.
 * @param attempt Number of the attempt over all rounds, as `ResultReference.part`.
 */
export const resultKey = ({ tenant_id, task_id }: TaskKey, attempt: number): string =>
  `${encodeURIComponent(tenant_id)}/${task_id}/result-${attempt}`;
