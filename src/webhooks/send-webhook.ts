import type { IncomingMessage, RequestOptions } from "node:http";
import { hostAndPort, hostOf } from "../core/notify/allowed-hosts.ts";
import { type Receiver, receiverOf } from "../core/notify/callback-url.ts";
import type { WebhookAnswer, WebhookRequest, WebhookSender } from "../core/ports/notify.ts";
import { http, https } from "../util/node-http.ts";
import { abortOf, failureOf } from "./failure.ts";
import { blockedAddresses, guardedLookup } from "./guard.ts";
import { createResolveName, type ResolveName } from "./resolve-name.ts";
import { retryAfterSeconds } from "./retry-after.ts";

/** Bytes of an answer's body that its sender sees. */
const shownBytes = 1024;

/** The most bytes that are read of an answer's body, and of its headers. */
const bodyBytes = 64 * 1024;
const headerBytes = 16 * 1024;

/**
 * Time in milliseconds after which the next address of a name is tried as well. Node's own 250 ms are too short for far
 * receivers.
 */
const nextAddressMs = 1_500;

export interface SenderOptions {
  /** Hosts without a guard, as `parseAllowedHost` returns them. */
  allowedHosts: readonly string[];
  /** Default: asks the DNS servers of this machine. */
  resolve?: ResolveName;
  /** Authorities of certificates, as PEM. Default: those of Node. */
  ca?: string;
  /** Epoch milliseconds. Default: the clock of this machine. */
  now?: () => number;
}

/**
 * Creates the sender of webhooks. It does not follow redirects: their status is the answer. Its connections are never
 * used again, so none that was made without the guard is used with it.
 */
export function createWebhookSender(given: SenderOptions): WebhookSender {
  const { allowedHosts, resolve = createResolveName(), ca, now = Date.now } = given;
  const plain = new http.Agent({ keepAlive: false });
  const secure = { keepAlive: false, maxCachedSessions: 0, rejectUnauthorized: true, ...(ca !== undefined && { ca }) };
  const open = new https.Agent(secure);
  const guarded = new https.Agent({ ...secure, blockList: blockedAddresses() } as typeof secure);

  const connection = ({ url, allowed }: Receiver, signal: AbortSignal): RequestOptions => {
    if (!allowed) return { agent: guarded, lookup: guardedLookup(resolve, signal) };
    return { agent: url.protocol === "https:" ? open : plain };
  };
  return {
    async send(request, signal) {
      try {
        if (signal.aborted) return abortOf(signal);
        const receiver = receiverOf(request.url, allowedHosts);
        if ("fault" in receiver) return { error: `the URL is refused: ${receiver.fault}`, refused: true };
        const options = { ...connection(receiver, signal), ...optionsOf(receiver, request) };
        return await exchange(options, request.body, signal, now);
      } catch (error) {
        return signal.aborted ? abortOf(signal) : failureOf(error);
      }
    },
  };
}

/** @throws Error when a header could change the request */
function optionsOf({ url, host, port }: Receiver, { headers, body }: WebhookRequest): RequestOptions {
  for (const [name, value] of Object.entries(headers)) {
    const isSafe = /^[a-z\d-]+$/.test(name) && !framing.test(name) && /^[\x20-\x7e]*$/.test(value);
    if (!isSafe) throw Object.assign(new Error("a header cannot be sent"), { code: "INVALID_HEADER" });
  }
  const hostHeader = url.port === "" ? hostOf(url) : hostAndPort(url);
  const own = { host: hostHeader, connection: "close", "content-length": String(Buffer.byteLength(body)) };
  return {
    method: "POST",
    protocol: url.protocol,
    ...{ host, port, path: `${url.pathname}${url.search}` },
    headers: { "user-agent": "Offload-Webhooks/1", ...headers, ...own },
    setHost: false,
    maxHeaderSize: headerBytes,
    insecureHTTPParser: false,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: nextAddressMs,
  } as RequestOptions;
}

/** Headers that decide where a request ends, or what the connection becomes. */
const framing = /^(host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*)$/;

/** Sends one request, and closes its connection in any case. */
function exchange(
  options: RequestOptions,
  body: string,
  signal: AbortSignal,
  now: () => number,
): Promise<WebhookAnswer> {
  return new Promise((resolve) => {
    let answer: WebhookAnswer | undefined;
    const start: Buffer[] = [];
    const request = (options.protocol === "https:" ? https : http).request(options);
    const end = (result: WebhookAnswer) => {
      signal.removeEventListener("abort", abort);
      resolve(result);
      request.destroy();
    };
    const abort = () => end(abortOf(signal));
    // The status is the receiver's word, also if the rest of its answer is cut off.
    const finish = (error: unknown) => end(answer === undefined ? failureOf(error) : { ...answer, ...textOf(start) });
    signal.addEventListener("abort", abort, { once: true });
    request.on("error", finish);
    request.on("close", () => finish({ code: "ECONNRESET" }));
    request.on("response", (response) => {
      answer = answerOf(response, now());
      response.on("error", finish);
      response.on("end", finish);
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        if (bytes < shownBytes) start.push(chunk.subarray(0, shownBytes - bytes));
        bytes += chunk.byteLength;
        if (bytes >= bodyBytes) finish(undefined);
      });
    });
    request.end(body);
    if (signal.aborted) abort();
  });
}

const textOf = (start: readonly Buffer[]): { text?: string } =>
  start.length === 0 ? {} : { text: Buffer.concat(start).toString("utf8") };

function answerOf({ statusCode = 0, headers }: IncomingMessage, nowMs: number): WebhookAnswer {
  const seconds = retryAfterSeconds(headers["retry-after"], nowMs);
  return { status: statusCode, ...(seconds !== undefined && { retryAfterSeconds: seconds }) };
}
