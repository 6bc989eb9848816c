import type { SentUploads } from "../files/store-files.ts";
import type { Identity } from "../model/identity.ts";
import { Problem } from "../model/problem.ts";
import type { TaskRecord } from "../model/record.ts";
import type { StoredFile } from "../model/stored-file.ts";

/** One call of `submit`. */
export interface SubmitCall {
  identity: Identity;
  /** The request's body as parsed JSON, not yet checked. */
  body: unknown;
  idempotencyKey?: string | undefined;
  correlationId: string;
  /** The client gave the correlation id. Absent: it did not. */
  correlationGiven?: true | undefined;
  traceparent?: string | undefined;
  /** Size of the request's body in bytes. Default: 0, for a submit that is not a client's request. */
  bytes?: number;
  /** Set for a schedule's submit. No `scheduledFor` when an operator ran the schedule by hand. */
  schedule?: { scheduleId: string; scheduledFor?: string };
  /** Set for a handler's submit: the id of the handler's task. */
  parentId?: string;
  /** Set for a submit of `onFailed`: the id of the failed task. */
  causedBy?: string;
  /** Set for a spawned child: the fields of its record that say its place in the parent's family. */
  family?: Pick<TaskRecord, "family_leaf" | "family_place" | "family_round" | "family_awaited">;
  /** Files that came with the submit, by the ids that its body names. They are stored once it has been admitted. */
  sent?: SentUploads;
  /** Set for a spawned child that gets files of its parent. */
  files?: Readonly<Record<string, StoredFile>>;
  /** The version of an input that was stored earlier, such as a schedule's. Default: the type's present version. */
  inputVersion?: number | undefined;
}

/** True for a correlation id that a caller may choose. */
export const isCorrelationId = (given: string): boolean => /^[A-Za-z0-9._:-]{1,128}$/.test(given);

/** @throws Problem `malformed_request` */
export function checkIdempotencyKey(key: string): void {
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return;
  throw new Problem("malformed_request", "Idempotency-Key must be 1 to 255 printable ASCII characters.");
}
