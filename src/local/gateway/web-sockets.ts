import { randomBytes } from "node:crypto";
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { HttpHandler } from "../lambda/invocation.ts";
import { onlyOnce } from "../net/endpoint.ts";
import { hostRefusalOf } from "../net/guard.ts";
import { Activity } from "../time/activity.ts";
import { startManagementApi } from "./management-api.ts";
import { connectEvent, disconnectEvent, type EventSource, messageEvent } from "./socket-event.ts";

/** Path of WebSocket connections on the API's port. */
export const channelPath = "/_channel";

/** Limits of API Gateway for a connection. */
interface SocketLimits {
  /** A connection without a message in this time is closed, in milliseconds. */
  idleMs: number;
  /** Longest life of a connection, in milliseconds. */
  lifeMs: number;
  /** Largest message of a client, in bytes: API Gateway's limit of a frame. Clients send a message as one frame. */
  messageBytes: number;
  /** A client that does not read can have this number of bytes waiting. */
  waitingBytes: number;
}

const deployedLimits: SocketLimits = {
  idleMs: 600_000,
  lifeMs: 7_200_000,
  messageBytes: 32 * 1024,
  waitingBytes: 1024 * 1024,
};

/** Time in which clients answer the close of a stopping server, in milliseconds. */
const goodbyeMs = 500;

export interface WebSocketOptions {
  /** The function of the WebSocket API. */
  handler: HttpHandler;
  /** Gets a line for each connection that is opened, refused or closed. */
  onEvent(line: string): void;
  /** Default: those of a deployment. */
  limits?: Partial<SocketLimits>;
}

export interface WebSockets {
  /** URL of the management API. */
  url: string;
  /** Answers a request for a connection. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Ids of the open connections. */
  open(): string[];
  /** True while a connection is open, or may become so. */
  areUsed(): boolean;
  /** Closes all connections, and waits for their `$disconnect`. */
  close(): Promise<void>;
}

interface Client extends EventSource {
  socket: WebSocket;
  /** Resolves when the function has answered `$disconnect`. */
  ended: Promise<unknown>;
  stayAwake(): void;
}

/** Starts an emulator of a WebSocket API of API Gateway with one function for all routes, and its management API. */
export async function startWebSockets(options: WebSocketOptions): Promise<WebSockets> {
  const limits = { ...deployedLimits, ...options.limits };
  const clients = new Map<string, Client>();
  const connecting = new Activity();
  let closing = false;
  const server = new WebSocketServer({ noServer: true, maxPayload: limits.messageBytes, clientTracking: false });
  const management = await startManagementApi({
    post: (id, text) => {
      const client = clients.get(id);
      if (client === undefined) return "gone";
      if (client.socket.bufferedAmount > limits.waitingBytes) return "full";
      client.socket.send(text);
      client.stayAwake();
      return "sent";
    },
    end: (id) => {
      clients.get(id)?.socket.close(1000);
      return clients.has(id);
    },
  });
  const upgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const refusal = hostRefusalOf(request);
    if (refusal !== undefined) return refuse(socket, 403, refusal);
    if (closing) return refuse(socket, 503, "The server is stopping.");
    const source = sourceOf(request);
    const answer = await invoke(options, connectEvent(source, request));
    const status = answer?.statusCode ?? 500;
    options.onEvent(`CONNECT ${channelPath} ${status}`);
    if (status < 200 || status > 299) return refuse(socket, status, STATUS_CODES[status] ?? "");
    server.handleUpgrade(request, socket, head, (webSocket) => {
      clients.set(source.connectionId, attend(options, limits, source, webSocket, clients));
      if (closing) webSocket.close(1001);
    });
  };
  return {
    url: management.url,
    upgrade: (request, socket, head) => {
      socket.on("error", () => {});
      void connecting.during(upgrade(request, socket, head));
    },
    open: () => [...clients.keys()],
    areUsed: () => clients.size > 0 || !connecting.isIdle,
    close: onlyOnce(async () => {
      closing = true;
      await closeAll([...clients.values()]);
      await management.close();
    }),
  };
}

/** Listens to a connection until its end. */
function attend(
  options: WebSocketOptions,
  limits: SocketLimits,
  source: EventSource,
  socket: WebSocket,
  clients: Map<string, Client>,
): Client {
  const leave = () => socket.close(1001, "Going away");
  const life = setTimeout(leave, limits.lifeMs);
  const idle = setTimeout(leave, limits.idleMs);
  const stayAwake = () => void idle.refresh();
  socket.on("message", async (data) => {
    stayAwake();
    const { body = "" } = (await invoke(options, messageEvent(source, String(data)))) ?? {};
    if (body !== "" && socket.readyState === socket.OPEN) socket.send(body);
  });
  // An error, such as a message that is too large, is followed by `close`.
  socket.on("error", () => {});
  const ended = new Promise<unknown>((resolve) => {
    socket.on("close", (code, reason) => {
      for (const timer of [life, idle]) clearTimeout(timer);
      clients.delete(source.connectionId);
      options.onEvent(`DISCONNECT ${channelPath} ${code}`);
      resolve(invoke(options, disconnectEvent(source, code, String(reason))));
    });
  });
  return { ...source, socket, ended, stayAwake };
}

async function closeAll(clients: readonly Client[]): Promise<void> {
  for (const { socket } of clients) socket.close(1001, "Going away");
  const timer = setTimeout(() => {
    for (const { socket } of clients) socket.terminate();
  }, goodbyeMs);
  await Promise.all(clients.map(({ ended }) => ended));
  clearTimeout(timer);
}

/** Calls the function. Undefined: it failed. */
async function invoke({ handler, onEvent }: WebSocketOptions, event: object) {
  const context = { functionName: "socket", getRemainingTimeInMillis: () => 15_000 };
  try {
    return await handler(event as never, context as never);
  } catch (error) {
    onEvent(`The function socket failed: ${error instanceof Error ? error.stack : String(error)}`);
    return undefined;
  }
}

const sourceOf = ({ headers, socket }: IncomingMessage): EventSource => ({
  // As API Gateway's ids, with a character that a URL encodes.
  connectionId: `${randomBytes(11).toString("base64url")}=`,
  connectedAt: Date.now(),
  sourceIp: socket.remoteAddress ?? "127.0.0.1",
  userAgent: headers["user-agent"] ?? "",
});

/** Refuses an upgrade with a status, as API Gateway does. */
function refuse(socket: Duplex, status: number, message: string): void {
  const body = JSON.stringify({ message });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.end([...head, "", body].join("\r\n"));
}
