import type { TaskKey, TaskRecord } from "./record.ts";

/** A tenant's name as one part of a key: names may have `/`, and no two names make the same part. */
const part = (text: string): string => encodeURIComponent(text);

/** Key of an announced upload. */
export const uploadKey = (tenantId: string, uploadId: string): string => `${part(tenantId)}/uploads/${uploadId}`;

/** The upload that a key is of. Undefined: it is another object's. */
export const uploadIdOf = (key: string): string | undefined => /^[^/]+\/uploads\/([^/]+)$/.exec(key)?.[1];

/** Key of a task's large input. The checksum makes it the same for every repeat of the request. */
export const inputKey = ({ tenant_id, task_id }: TaskKey, sha256: string): string =>
  `${part(tenant_id)}/${task_id}/input-${sha256}`;

/** Key of the result of the running attempt, so that a late attempt cannot overwrite a newer result. */
export const resultKey = ({ tenant_id, task_id, created_at, attempts_total }: TaskRecord): string =>
  `${part(tenant_id)}/${task_id}/result-${Date.parse(created_at).toString(36)}-${attempts_total}`;
