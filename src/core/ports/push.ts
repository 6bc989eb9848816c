import type { Connection, Connections } from "./notify.ts";

/** A channel that was opened, and waits for its connection. */
export type Channel = Omit<Connection, "connection_id" | "connected_at">;

/** Channels by their tickets. All methods throw `PortUnavailable`. Contract suite: `test/contract/channels.ts`. */
export interface Channels {
  /**
   * Counts a channel that a principal wants to open.
   * @param minute Number of minutes since 1970.
   * @returns False when the principal has opened `most` channels in this minute.
   */
  admit(channel: Channel, minute: number, most: number): Promise<boolean>;
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
  /** Number of open connections that hear the same tasks as this one; `most` when there are more. */
  count(connection: Channel, most: number): Promise<number>;
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
