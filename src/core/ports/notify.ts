import type { TaskRecord } from "../model/record.ts";
import type { Notice } from "./notice.ts";

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
