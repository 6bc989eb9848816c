import { createHash } from "../../util/node-crypto.ts";
import type { TaskRecord } from "./record.ts";

/**
 * Id of a task's end: the same for each notice, webhook and event of it. A later round of the task has another end, and
 * so has a later task under the same idempotency key.
 */
export const endId = ({ tenant_id, task_id, created_at, round }: TaskRecord): string =>
  `msg_${createHash("sha256")
    .update(JSON.stringify([tenant_id, task_id, created_at, round]))
    .digest("base64url")}`;
