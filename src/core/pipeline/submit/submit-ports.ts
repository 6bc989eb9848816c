import type { SentUploads } from "../../extras/files/uploads.ts";
import type { SubmitGate } from "../../limits/gate.ts";
import type { Envelope } from "../../model/envelope.ts";
import { Problem } from "../../model/problem.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { StoredFile } from "../../model/stored-file.ts";
import type { Identity } from "../../model/words.ts";
import type { Uploads } from "../../ports/blob.ts";
import type { DispatchPorts } from "../../ports/steps.ts";
import type { NewId } from "../../ports/tasks.ts";
import type { KnownTypes } from "../../task/catalog.ts";
import type { SubmitBody, Unique } from "./submit-body.ts";

/** The ports of `submit`. */
export interface SubmitPorts extends DispatchPorts {
  newId: NewId;
  types: KnownTypes;
  /** True for a body that certainly fits `submitSchema`. Absent: the schema, with zod, reads every body. */
  isUsualBody?: (body: unknown) => boolean;
  /** Limits what clients submit. Absent: no limits, as for submits of handlers and schedules. */
  gate?: SubmitGate;
  /** Saves the tenant in the directory of tenants; never throws. Absent: no schedule needs the directory. */
  noteTenant?: (tenantId: string) => Promise<void>;
  /** Returns why a callback's URL is refused. Absent: clients do not submit by these ports. */
  callbackFault?: (url: string) => Promise<string | undefined>;
  /**
   * Uploads that become files of tasks. Absent: the submitted tasks have no files, as those of handlers and schedules.
   */
  uploads?: Uploads;
  /**
   * Cancels the tasks that a task waits for, and starts it once they are over: `supersede`, which an edge loads with
   * its first use. Absent: the worker that gets the task's message does it.
   */
  supersede?: (record: TaskRecord, envelope?: Envelope) => Promise<TaskRecord>;
  /** `submitUnique`, which an edge loads with the first unique submit. Absent: none of these submits is unique. */
  submitUnique?: SubmitUnique;
}

/** Accepts a submit with the member `unique`. */
export type SubmitUnique = (
  ports: SubmitPorts,
  call: SubmitCall,
  body: SubmitBody,
  unique: Unique,
) => Promise<Accepted>;

/** An accepted task. `replayed` is true when an earlier request with the same key made it. */
export interface Accepted {
  record: TaskRecord;
  replayed: boolean;
  /** Number of the input in the list of the task that collects it, from 1. Absent: the task collects none. */
  collected?: number;
}

/** The answer to an entry of a batch: an accepted task, or why the entry was refused. */
export type BatchEntry = { accepted: Accepted } | { refused: Problem };

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
