import { Problem } from "../../core/model/problem.ts";
import { checkIdempotencyKey, type SubmitPorts } from "../../core/pipeline/submit/submit-ports.ts";
import type { Queues } from "../../core/ports/tasks.ts";
import type { ApiPorts } from "./api.ts";
import type { Call } from "./call.ts";

export interface SubmitApiPorts extends SubmitPorts, ApiPorts {
  /** Ports of a batch, in place of those of one submit. Default: the same. */
  batch?: {
    /** Collects messages that are sent at the same time into calls of SQS. */
    queues: Queues;
    /** Runs `work` with more time for its AWS calls together than one submit has. */
    longer<T>(work: () => Promise<T>): Promise<T>;
  };
}

/**
 * Returns the ports with those that store files.
 * @throws Problem `unavailable` when the deployment stores no files
 */
export function withFiles(ports: SubmitApiPorts) {
  const { uploads } = ports;
  if (uploads === undefined) {
    throw new Problem("unavailable", "This deployment does not store files.", { retryAfterSeconds: 60 });
  }
  return { ...ports, uploads };
}

/** @throws Problem `malformed_request` */
export function idempotencyKeyOf(call: Call): string | undefined {
  // Read from the event itself: the adapter would percent-encode other characters than ASCII, and they would be
  // accepted.
  const given = call.event?.headers?.["idempotency-key"];
  const key = typeof given === "string" ? given : call.req.header("idempotency-key");
  if (key !== undefined) checkIdempotencyKey(key);
  return key;
}
