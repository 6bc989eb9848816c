import type { Identity } from "./identity.ts";

/** One call of `submit`. */
export interface SubmitCall {
  identity: Identity;
  /** The request's body as parsed JSON, not yet checked. */
  body: unknown;
  idempotencyKey?: string | undefined;
  correlationId: string;
  traceparent?: string | undefined;
  /** Size of the request's body in bytes. Default: 0, for a submit that is not a client's request. */
  bytes?: number;
  /** Set for a schedule's submit. No `scheduledFor` when an operator ran the schedule by hand. */
  schedule?: { scheduleId: string; scheduledFor?: string };
  /** Set for a handler's submit: the id of the handler's task. */
  parentId?: string;
  /** The version of an input that was stored earlier, such as a schedule's. Default: the type's present version. */
  inputVersion?: number | undefined;
}
