import type { Callback, TaskRecord } from "../model/record.ts";
import type { TaskView } from "../model/task-view.ts";
import type { Status } from "../model/words.ts";

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

/** The notify queue, and the subscribers of a task's end. */
export interface Notices {
  /** True: the deployment sends each end of a task as an event. */
  readonly events: boolean;
  /**
   * Sends notices.
   * @param delaySeconds Whole seconds, 0 to 900. Default: 0.
   * @throws PortUnavailable when one of them could not be sent
   */
  send(notices: readonly Notice[], delaySeconds?: number): Promise<void>;
  /**
   * True when the tenant has receivers of webhooks. A mark that was made 2.5 s before this call counts in any case.
   * @throws PortUnavailable
   */
  receives(tenantId: string): Promise<boolean>;
  /**
   * True when a channel may be open that hears this task.
   * @param fresh True: a channel that was opened before this call counts in any case. False: the answer may be two
   * seconds old.
   * @throws PortUnavailable
   */
  hears(record: Pick<TaskRecord, "tenant_id" | "requested_by">, fresh: boolean): Promise<boolean>;
}

/** An event for the deployment's event bus. */
export interface OutgoingEvent {
  /** `Task Completed`, `Task Failed`, `Task Cancelled` or `Task Expired`. */
  detailType: string;
  /** The task without its result, and `id`: the same for each event of one end. */
  detail: Readonly<Record<string, unknown>>;
  /** ISO 8601 UTC. */
  time: string;
  /** W3C trace context. */
  traceparent?: string | undefined;
}

/** The deployment's event bus. */
export interface EventBus {
  /**
   * Puts events, at most 10 in a request of AWS.
   * @returns The error of each event, in their order; undefined: the bus has it.
   */
  put(events: readonly OutgoingEvent[]): Promise<readonly (Error | undefined)[]>;
}

/** A request to a webhook's receiver. */
export interface WebhookRequest {
  url: string;
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** Answer of a receiver, or why there is none. */
export type WebhookAnswer =
  /**
   * `retryAfterSeconds`: from `Retry-After`, as seconds or as a date. `text`: the start of the body, at most 1,024
   * bytes of it.
   */
  | { status: number; retryAfterSeconds?: number; text?: string }
  /**
   * One line without the URL's path and query. `refused`: the address may not be reached, so no later try can succeed.
   */
  | { error: string; refused?: true };

/** Sends webhooks to receivers. It never connects to an address that is not public, except to the allowed hosts. */
export interface WebhookSender {
  /** Never throws. Ends when the signal does, with its reason as the error. */
  send(request: WebhookRequest, signal: AbortSignal): Promise<WebhookAnswer>;
}

/** Secrets that sign a tenant's webhooks. */
export interface WebhookSecrets {
  /**
   * The tenant's secrets as `whsec_` texts, newest first: one, or two for 24 hours after a rotation. @throws
   * PortUnavailable
   */
  of(tenantId: string): Promise<readonly string[]>;
}

/** An open connection of a channel. */
export interface Connection {
  connection_id: string;
  channel_id: string;
  tenant_id: string;
  principal: string;
  /** `own`: tasks that the principal submitted. `tenant`: all tasks of the tenant. */
  scope: "own" | "tenant";
  /** ISO 8601 UTC. */
  connected_at: string;
}

/** Connections that hear tasks, by tenant and principal. */
export interface Connections {
  /**
   * The connections that hear a task of this principal, those of the scope `tenant` included. @throws PortUnavailable
   */
  hearing(tenantId: string, principal: string): Promise<readonly Connection[]>;
  /** Forgets a connection that is gone. */
  remove(connection: Connection): Promise<void>;
}

/**
 * Outcome of a message to a connection. `gone`: it is closed. `busy`: its client does not read, or too many messages
 * are sent.
 */
export type Posted = "sent" | "gone" | "busy";

/** Sends messages to connections. */
export interface Socket {
  /** @throws PortUnavailable */
  post(connectionId: string, text: string): Promise<Posted>;
  /** Closes a connection. Does nothing when it is closed. @throws PortUnavailable */
  close(connectionId: string): Promise<void>;
}

/** A channel that was opened, and waits for its connection. */
export type Channel = Omit<Connection, "connection_id" | "connected_at">;

/** Channels by their tickets. All methods throw `PortUnavailable`. Contract suite: `test/contract/channels.ts`. */
export interface Channels {
  /**
   * Counts a channel that a principal wants to open.
   * @param minute Number of minutes since 1970.
   * @returns False when the principal has opened `max` channels in this minute.
   */
  admit(channel: Channel, minute: number, max: number): Promise<boolean>;
  /** Stores a channel until `expiresAtMs`. The ticket itself is never stored. */
  create(ticketHash: string, channel: Channel, expiresAtMs: number): Promise<void>;
  /**
   * Takes the channel for one connection. Repeatable for the same connection.
   * @returns Undefined: no such ticket, another connection has used it, or it has expired.
   */
  redeem(ticketHash: string, connectionId: string, nowMs: number): Promise<Channel | undefined>;
}

/** Open connections. All methods throw `PortUnavailable`. Contract suite: `test/contract/connections.ts`. */
export interface OpenConnections extends Connections {
  /** Number of open connections that hear the same tasks as this one; `max` when there are more. */
  count(connection: Channel, max: number): Promise<number>;
  /** Stores a connection. From then on `hearing` returns it. */
  add(connection: Connection): Promise<void>;
  /**
   * Announces a stored connection. From then on `hears` is true for its tasks, until `hearing` has found no connection.
   */
  announce(connection: Connection): Promise<void>;
  /** Reads consistently. */
  find(connectionId: string): Promise<Connection | undefined>;
}

/** Tells cheaply if a channel may be open. Contract suite: `test/contract/connections.ts`. */
export interface Listeners {
  /**
   * True when a channel may be open that hears the tasks of this principal.
   * @param fresh True: a connection that was announced before this call counts. False: the answer may be two seconds
   * old.
   * @throws PortUnavailable
   */
  hears(tenantId: string, principal: string, fresh: boolean): Promise<boolean>;
}

/** Longest life of a connection, in seconds: API Gateway closes it after two hours. */
export const connectionSeconds = 2 * 3600;

/** Time for which connections are kept, in seconds: more than their life, as clocks differ. */
export const keepSeconds = connectionSeconds + 600;

/** The work that the code of an attempt has under way outside of the context's calls. */
export type Activity =
  /** All that the code has started is over. */
  | "none"
  /** It may be over: a connection that has not answered, a process or a thread that may stay. */
  | "perhaps"
  /** A timer or a request is under way. */
  | "some";

/** Follows the work that some code starts from the first call on. */
export interface Following {
  now(): Activity;
  end(): void;
}

/**
 * Begins to follow work. It takes time of the whole process while it lasts.
 * @param isOwn True when the code that runs now is followed.
 */
export type Follow = (isOwn: () => boolean) => Following;
