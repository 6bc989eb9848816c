import type { ClientRequest, Agent as HttpAgent, IncomingMessage } from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import type { Readable } from "node:stream";
import { http, https } from "../util/node-http.ts";
import { callSignal, callTimeFactor, nextTry, timeLeftMs } from "./call-times.ts";

/** A signed request, as the SDK's clients and our own hand it over. */
export interface WireRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number | undefined;
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | null>> | undefined;
  readonly headers: Record<string, string>;
  readonly body?: string | Uint8Array | Readable | undefined;
}

/** An answer. The body is a `Buffer`, or a stream where `handle` says so. */
export interface WireAnswer {
  statusCode: number;
  headers: Record<string, string>;
  body: unknown;
}

/** Limits of a try. */
export interface TryBounds {
  /** Milliseconds until its reader has what it wants. */
  readonly ms: number;
  /** True when the call ends with this try. */
  readonly isLast: boolean;
  /** Milliseconds without a byte in either direction that end it. Default: `ms` alone bounds it. */
  readonly stallMs?: number;
}

/** Longest answer that is read, in bytes. DynamoDB's longest are 16 MB of items. */
const maxBytes = 40 * 1024 * 1024;

/** Time for a new connection, in milliseconds. */
const connectMs = 2_000;

/** Connections of a client at the same time to one host, as many as those of the SDK's clients. */
const maxSockets = 50;

/**
 * Sends requests over connections that it keeps, each within the time of one try, and reads the whole answers. The
 * SDK's clients and our own use it.
 */
export class BoundedHttpHandler {
  /** For the SDK's clients, which choose parts of a request by it. */
  readonly metadata = { handlerProtocol: "http/1.1" };
  #http: HttpAgent | undefined;
  #https: HttpsAgent | undefined;

  /** No caller passes an abort signal: `callSignal` has it. */
  async handle(request: WireRequest): Promise<{ response: WireAnswer }> {
    return this.try(request, nextTry(), async (answer) => answerOf(answer, await wholeBody(answer)));
  }

  destroy(): void {
    this.#http?.destroy();
    this.#https?.destroy();
  }

  /**
   * Sends a request, and reads its answer.
   * @param read Takes what it wants of the answer. The try's time ends with it.
   * @throws AbortError; OutOfTime; TimeoutError; AnswerTooLarge; Error with Node's code
   */
  protected try<T>(request: WireRequest, bounds: TryBounds, read: (answer: IncomingMessage) => Promise<T>): Promise<T> {
    const signal = callSignal();
    if (signal?.aborted) throw named("AbortError", "the call is no longer needed");
    if (bounds.ms <= 0) throw named("OutOfTime", "there was no time left for another try");
    const agent = this.#agentFor(request);
    return new Promise<T>((resolve, reject) => {
      const sent = open(request, agent);
      const watch = new TryWatch(sent, bounds, signal);
      const fail = (error: unknown) => {
        watch.end();
        if (!signal?.aborted) endIdleConnections(agent);
        // A late request was ended here: its error says nothing, and the SDK would try again after it.
        reject(watch.isLate ? tooSlow(bounds) : error);
      };
      sent.on("error", fail);
      sent.on("response", (answer: IncomingMessage) => {
        read(answer).then((value) => {
          watch.end();
          resolve(value);
        }, fail);
      });
      sendBody(sent, request.body);
    });
  }

  #agentFor({ protocol }: WireRequest): HttpAgent {
    const options = { keepAlive: true, maxSockets };
    if (protocol === "https:") {
      this.#https ??= new https.Agent(options);
      return this.#https;
    }
    this.#http ??= new http.Agent(options);
    return this.#http;
  }
}

/** Ends a request whose time is over, or that nobody needs any more. */
class TryWatch {
  /** True when the try has used up its time. */
  isLate = false;
  #timer: NodeJS.Timeout;
  readonly #signal: AbortSignal | undefined;
  readonly #cancel: () => void;

  constructor(sent: ClientRequest, { ms, stallMs }: TryBounds, signal: AbortSignal | undefined) {
    const expire = () => {
      this.isLate = true;
      sent.destroy();
    };
    const maxMs = Math.min(ms, longestTimerMs);
    const untilConnectedMs = Math.min(maxMs, connectMs * callTimeFactor());
    // One timer: most requests have a connection, and are answered before it ends.
    this.#timer = setTimeout(() => {
      if (untilConnectedMs === maxMs) return expire();
      if (sent.socket === null || sent.socket.connecting)
        return void sent.destroy(named("TimeoutError", `no connection within ${untilConnectedMs} ms`));
      this.#timer = setTimeout(expire, maxMs - untilConnectedMs);
    }, untilConnectedMs);
    if (stallMs !== undefined)
      sent.setTimeout(stallMs, () => sent.destroy(named("TimeoutError", `no byte within ${stallMs} ms`)));
    this.#signal = signal;
    this.#cancel = () => sent.destroy(named("AbortError", "the call is no longer needed"));
    signal?.addEventListener("abort", this.#cancel);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#cancel);
  }
}

/** The longest wait of a Node timer. A longer one would end immediately. */
const longestTimerMs = 2 ** 31 - 1;

function open({ protocol, hostname, port, method, path, query, headers }: WireRequest, agent: HttpAgent) {
  const { request: send } = protocol === "https:" ? https : http;
  // The address of IPv6 in a URL is in brackets.
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return send({ host, port, method, path: `${path}${searchOf(query)}`, headers, agent });
}

/** The query with all characters encoded that a signature encodes. */
export function searchOf(query: WireRequest["query"] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) =>
      one === null ? percentEncode(name) : `${percentEncode(name)}=${percentEncode(one)}`,
    ),
  );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

/** Encodes all but the characters that a signature leaves as they are. */
export const percentEncode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

function sendBody(sent: ClientRequest, body: WireRequest["body"]): void {
  if (body === undefined || typeof body === "string" || body instanceof Uint8Array) {
    sent.end(body);
    return;
  }
  body.on("error", (error) => sent.destroy(error));
  body.pipe(sent);
}

export const answerOf = ({ statusCode = 0, headers }: IncomingMessage, body: unknown): { response: WireAnswer } => ({
  response: { statusCode, headers: headers as Record<string, string>, body },
});

/**
 * Ends the connections that no request uses, so that the next try opens one. Lambda freezes an idle environment, and
 * AWS closes its connections meanwhile: after the thaw each try would meet another dead one.
 */
function endIdleConnections({ freeSockets }: HttpAgent): void {
  for (const sockets of Object.values(freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

/** The clients' settings for requests: three tries, each with a bound. */
export const boundedTries = () => ({ maxAttempts: 3, requestHandler: new BoundedHttpHandler() });

/** Reads the body of an answer. @throws AnswerTooLarge; Error with Node's code when it is cut */
export const wholeBody = (answer: Readable): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    answer.on("data", (chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) answer.destroy(named("AnswerTooLarge", `the answer has more than ${maxBytes} bytes`));
      else chunks.push(chunk);
    });
    answer.on("error", reject);
    answer.on("end", () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
  });

/** The error of a try that took too long. The clients try again after a `TimeoutError`, but not after `OutOfTime`. */
const tooSlow = ({ ms, isLast }: TryBounds): Error =>
  named(!isLast && timeLeftMs() > 0 ? "TimeoutError" : "OutOfTime", `no complete answer came within ${ms} ms`);

/** An error with a name by which the adapters recognize it. */
export const named = (name: string, message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { name });
