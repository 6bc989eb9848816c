import { AsyncResource, createHook } from "node:async_hooks";
import { type ChannelListener, subscribe, unsubscribe } from "node:diagnostics_channel";
import { Socket } from "node:net";
import type { Activity, Follow, Following } from "../core/ports/notify.ts";

/**
 * Resources that are no work: they wait for something else, or stay when it is done. Sockets are looked at for
 * themselves.
 */
const ignored = new Set(
  (
    "PROMISE TickObject Microtask TCPWRAP TLSWRAP PIPEWRAP TTYWRAP UDPWRAP MESSAGEPORT ZLIB FILEHANDLE HTTP2SESSION " +
    "HTTPINCOMINGMESSAGE FSEVENTWRAP STATWATCHER SIGNALWRAP STREAM_END_OF_STREAM TCPSERVERWRAP PIPESERVERWRAP"
  ).split(" "),
);

/** Processes and threads may be kept for later. */
const staying = new Set(["PROCESSWRAP", "WORKER"]);

/** Resources that a use leaves behind until they are collected, as Node does not say when the use is over. */
const leftBehind = new Set(["BLOBREADER", "DIRHANDLE", "DNSCHANNEL", "ELDHISTOGRAM"]);

/** Looks after which something that is left behind is no longer work: its use takes less than a second. */
const looksLeftBehind = 4;

/** A resource of Node, with what is read of it. */
interface Resource {
  hasRef?(): boolean;
  /** Node calls it at the end of a calculation. A calculation that blocks, such as `randomUUID()`, has none. */
  ondone?: unknown;
  _repeat?: number | null;
  /** A request by `node:http`, with its response. */
  req?: { res?: unknown };
}

/** A resource that the code has made. */
interface Work {
  type: string;
  resource: Resource;
  looks: number;
}

/** A request of `fetch`, or of the package undici. */
interface Fetched {
  answered: boolean;
}

/** A socket that the code has written to or connects. */
interface Used {
  /** Bytes that had been read at the last write. */
  readAtWrite: number;
  readAtLook: number;
}

class Followed implements Following {
  readonly isOwn: () => boolean;
  readonly #works = new Map<unknown, Work>();
  readonly #fetched = new Map<unknown, Fetched>();
  readonly #sockets = new Map<Socket, Used>();
  /** True when something was started since the last look. */
  #started = false;

  constructor(isOwn: () => boolean) {
    this.isOwn = isOwn;
  }

  started(id: number, type: string, resource: Resource): void {
    this.#started = true;
    this.#works.set(id, { type, resource, looks: 0 });
  }

  fetchStarted(request: unknown): void {
    this.#started = true;
    this.#fetched.set(request, { answered: false });
  }

  fetchAnswered(request: unknown): void {
    const fetched = this.#fetched.get(request);
    if (fetched !== undefined) fetched.answered = true;
  }

  over(key: unknown): void {
    this.#works.delete(key);
    this.#fetched.delete(key);
  }

  used(socket: Socket): void {
    this.#started = true;
    const { bytesRead } = socket;
    this.#sockets.set(socket, { readAtWrite: bytesRead, readAtLook: bytesRead });
  }

  now(): Activity {
    const found: Activity[] = [...this.#works.values()].map(activityOf);
    for (const { answered } of this.#fetched.values()) found.push(answered ? "perhaps" : "some");
    for (const [socket, used] of this.#sockets) found.push(this.#lookAt(socket, used));
    // Between two pieces of work nothing is under way: what has just ended may start the next one.
    if (this.#started) found.push("perhaps");
    this.#started = false;
    return found.includes("some") ? "some" : found.includes("perhaps") ? "perhaps" : "none";
  }

  /** A connection that others opened, such as one of a pool, is at work from a write until its answer has come. */
  #lookAt(socket: Socket, used: Used): Activity {
    const { bytesRead, destroyed, connecting } = socket;
    const secureConnecting = (socket as { secureConnecting?: boolean }).secureConnecting === true;
    if (destroyed) this.#sockets.delete(socket);
    const isBusy = connecting || secureConnecting || bytesRead === used.readAtWrite || bytesRead !== used.readAtLook;
    used.readAtLook = bytesRead;
    return !destroyed && isBusy ? "perhaps" : "none";
  }

  end(): void {
    followed.delete(this);
    if (followed.size === 0) stop();
  }
}

/** Node names the calculations of `node:crypto` so, and requests. */
const isLeftBehind = (type: string, { ondone }: Resource): boolean =>
  leftBehind.has(type) || (type.endsWith("REQUEST") && type !== "HTTPCLIENTREQUEST" && ondone === undefined);

function activityOf(work: Work): Activity {
  const { type, resource } = work;
  work.looks += 1;
  if (resource.hasRef?.() === false) return "none";
  if (isLeftBehind(type, resource)) return work.looks > looksLeftBehind ? "none" : "perhaps";
  const isInterval = type === "Timeout" && typeof resource._repeat === "number";
  return isInterval || staying.has(type) || resource.req?.res != null ? "perhaps" : "some";
}

const followed = new Set<Followed>();

const ownerNow = (): Followed | undefined => {
  for (const one of followed) if (one.isOwn()) return one;
  return undefined;
};

const over = (key: unknown): void => {
  for (const one of followed) one.over(key);
};

const hook = createHook({
  init(id, type, _trigger, resource) {
    // An AsyncResource of JavaScript ends when it is collected.
    if (!ignored.has(type) && !(resource instanceof AsyncResource)) ownerNow()?.started(id, type, resource as Resource);
  },
  destroy: over,
  // Promises are no work, and to follow them would take most of the time.
  trackPromises: false,
});

/** Events of `fetch` and of the package undici, which sends many requests on one connection. */
const requestOf = (message: unknown) => (message as { request: unknown }).request;
const channels: Readonly<Record<string, ChannelListener>> = {
  "undici:request:create": (message) => ownerNow()?.fetchStarted(requestOf(message)),
  "undici:request:headers": (message) => {
    for (const one of followed) one.fetchAnswered(requestOf(message));
  },
  "undici:request:trailers": (message) => over(requestOf(message)),
  "undici:request:error": (message) => over(requestOf(message)),
};

/** Notes the sockets whose method is called, as long as somebody is followed. */
function noting(name: "write" | "connect"): () => void {
  const prototype = Socket.prototype as unknown as Record<string, (...given: unknown[]) => unknown>;
  const own = Object.getOwnPropertyDescriptor(prototype, name);
  const original = prototype[name];
  const noted = function (this: Socket, ...given: unknown[]): unknown {
    if (this !== process.stdout && this !== process.stderr) ownerNow()?.used(this);
    return original?.apply(this, given);
  };
  prototype[name] = noted;
  return () => {
    // Code that has replaced it meanwhile still calls it, and nobody is followed.
    if (prototype[name] !== noted) return;
    if (own === undefined) delete prototype[name];
    else Object.defineProperty(prototype, name, own);
  };
}

let releases: (() => void)[] = [];

function begin(): void {
  hook.enable();
  for (const [name, listener] of Object.entries(channels)) subscribe(name, listener);
  releases = [noting("write"), noting("connect")];
}

function stop(): void {
  hook.disable();
  for (const [name, listener] of Object.entries(channels)) unsubscribe(name, listener);
  for (const release of releases.splice(0)) release();
}

/** Follows timers, requests, connections, files, processes and threads that code starts. */
export const follow: Follow = (isOwn) => {
  const one = new Followed(isOwn);
  followed.add(one);
  if (followed.size === 1) begin();
  return one;
};
