import type { Callback } from "../model/record.ts";
import type { Status } from "../model/status.ts";
import type { TaskView } from "../model/task-view.ts";

/*
 * Messages of the notify queue. Workers and the API's functions send them when something has happened that somebody
 * outside asked to hear of; the function `notify` reads them.
 */

/** Identifies what a notice is about. */
interface About {
  tenant_id: string;
  task_id: string;
  /** Principal that submitted the task: its channels hear of it. */
  requested_by: string;
  type: string;
}

/** A task has ended. One end has one id, however often its notice is sent. */
export interface EndNotice extends About {
  kind: "end";
  /** `msg_` and 43 characters: the `webhook-id`, and the `id` of the event. */
  id: string;
  /** The task as its end left it, without its result. A later round does not change it. */
  task: TaskView;
  /** Absent: the submitter asked for no webhook. */
  callback?: Callback;
  /** True: the tenant has receivers of webhooks. */
  receivers?: true;
  /** True: channels get the result, too, if it is JSON of at most 32 KiB. */
  push_result?: true;
  /** W3C trace context, which webhooks and events hand on. */
  traceparent?: string;
}

/** A task has begun an attempt, reported progress, or waits for its next attempt. Only channels hear of it. */
export interface ChangeNotice extends About {
  kind: "change";
  change: "processing" | "progress" | "pending";
  status: Status;
  progress: number | null;
  /** Absent: the attempt reported none. */
  progress_message?: string | null;
  progress_data?: unknown;
  /** ISO 8601 UTC with milliseconds. */
  at: string;
}

/** A try of a webhook is due. Its body and its earlier tries are in the table. */
export interface TryNotice {
  kind: "try";
  tenant_id: string;
  task_id: string;
  /** `id` of the end. */
  id: string;
  /** Number of the try, from 1. A try that was made already is not made again. */
  number: number;
}

/** An API key was revoked: its connections are closed. */
export interface KeyRevokedNotice {
  kind: "key_revoked";
  tenant_id: string;
  key_id: string;
}

export type Notice = EndNotice | ChangeNotice | TryNotice | KeyRevokedNotice;
