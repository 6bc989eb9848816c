import type { SubmitGate } from "../limits/gate.ts";
import type { Envelope } from "../model/envelope.ts";
import type { Problem } from "../model/problem.ts";
import type { TaskRecord } from "../model/record.ts";
import type { Unique } from "../model/unique-body.ts";
import type { DispatchPorts } from "../ports/step-ports.ts";
import type { NewId } from "../ports/tasks.ts";
import type { Uploads } from "../ports/uploads.ts";
import type { KnownTypes } from "../task/catalog.ts";
import type { SubmitBody } from "./submit-body.ts";
import type { SubmitCall } from "./submit-call.ts";

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
