import {
  type Channel,
  type Channels,
  type Connection,
  keepSeconds,
  type Listeners,
  type OpenConnections,
  type Posted,
  type Socket,
} from "../core/ports/notify.ts";
import type { Clock } from "../core/ports/tasks.ts";
import { copy } from "./copy.ts";

/** Channels in memory. Nothing deletes them. */
export class MemoryChannels implements Channels {
  readonly #opened = new Map<string, number>();
  readonly #channels = new Map<string, { channel: Channel; expiresAtMs: number; takenBy?: string }>();

  async admit({ tenant_id, principal }: Channel, minute: number, max: number): Promise<boolean> {
    const name = JSON.stringify([tenant_id, principal, minute]);
    const opened = this.#opened.get(name) ?? 0;
    if (opened >= max) return false;
    this.#opened.set(name, opened + 1);
    return true;
  }

  async create(ticketHash: string, channel: Channel, expiresAtMs: number): Promise<void> {
    if (!this.#channels.has(ticketHash)) this.#channels.set(ticketHash, { channel: { ...channel }, expiresAtMs });
  }

  async redeem(ticketHash: string, connectionId: string, nowMs: number): Promise<Channel | undefined> {
    const found = this.#channels.get(ticketHash);
    if (found === undefined || found.expiresAtMs <= nowMs) return undefined;
    found.takenBy ??= connectionId;
    return found.takenBy === connectionId ? { ...found.channel } : undefined;
  }

  /** Hashes of all tickets, for tests. */
  get ticketHashes(): string[] {
    return [...this.#channels.keys()];
  }
}

type Hearing = Pick<Channel, "tenant_id" | "principal" | "scope">;

const hearingOf = ({ tenant_id, principal, scope }: Hearing): string =>
  JSON.stringify(scope === "tenant" ? [tenant_id] : [tenant_id, principal]);

/** Open connections in memory, and their marks. */
export class MemoryConnections implements OpenConnections, Listeners {
  readonly #clock: Clock;
  readonly #connections = new Map<string, Connection>();
  /** Epoch seconds by what is heard. */
  readonly #marks = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async count(of: Channel, max: number): Promise<number> {
    return Math.min(max, this.#of(of).length);
  }

  async add(connection: Connection): Promise<void> {
    this.#connections.set(connection.connection_id, { ...connection });
  }

  async announce(connection: Connection): Promise<void> {
    this.#marks.set(hearingOf(connection), Math.ceil(Date.parse(connection.connected_at) / 1000) + keepSeconds);
  }

  async find(connectionId: string): Promise<Connection | undefined> {
    return copy(this.#connections.get(connectionId));
  }

  async hearing(tenantId: string, principal: string): Promise<Connection[]> {
    return scopesOf(tenantId, principal).flatMap((of) => {
      if (!this.#marks.has(hearingOf(of))) return [];
      const connections = this.#of(of);
      if (connections.length === 0) this.#marks.delete(hearingOf(of));
      return connections;
    });
  }

  async remove({ connection_id }: Connection): Promise<void> {
    this.#connections.delete(connection_id);
  }

  async hears(tenantId: string, principal: string): Promise<boolean> {
    const now = this.#clock.now() / 1000;
    return scopesOf(tenantId, principal).some((of) => (this.#marks.get(hearingOf(of)) ?? 0) > now);
  }

  #of(hearing: Hearing): Connection[] {
    const all = [...this.#connections.values()].filter((one) => hearingOf(one) === hearingOf(hearing));
    return copy(all);
  }
}

const scopesOf = (tenant_id: string, principal: string): Hearing[] =>
  (["own", "tenant"] as const).map((scope) => ({ tenant_id, principal, scope }));

/** Keeps the messages of each connection. A test sets the answers of connections that are not open. */
export class MemorySocket implements Socket {
  readonly messages: { connectionId: string; text: string }[] = [];
  readonly answers = new Map<string, () => Posted>();
  readonly closed: string[] = [];

  async post(connectionId: string, text: string): Promise<Posted> {
    const answer = this.answers.get(connectionId)?.() ?? "sent";
    if (answer === "sent") this.messages.push({ connectionId, text });
    return answer;
  }

  async close(connectionId: string): Promise<void> {
    this.closed.push(connectionId);
  }
}
