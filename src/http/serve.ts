import { isUtf8 } from "node:buffer";
import { Problem } from "../core/model/problem.ts";
import type { Api, GatewayEvent } from "./api.ts";
import { problemResponse } from "./problem.ts";

/** An answer as API Gateway takes it from a function. */
export interface GatewayAnswer {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
  isBase64Encoded: boolean;
}

type Handler = (event: GatewayEvent, context?: unknown) => Promise<GatewayAnswer>;

/** Methods that a Fetch `Request` cannot have. They are answered like any method that a route does not support. */
const forbiddenMethods = new Set(["TRACE", "TRACK", "CONNECT"]);

/**
 * Returns the Lambda handler of an app. It accepts every event that a gateway can send; each answer is the app's, or a
 * problem.
 */
export function serve(api: Api): Handler {
  loadFetch();
  return async (event) => {
    const named = event.rawPath.includes("/~");
    const path = named ? (await import("./named-path.ts")).pathOf(event) : event.rawPath;
    const request = requestOf(event, path);
    return answerOf(request === undefined ? unreadable() : await api.fetch(request, { event }));
  };
}

/**
 * Makes Node load its Fetch classes, which it does when the first one is used. This happens at the function's start,
 * when Lambda provides more CPU than for a request, so that the first request is faster.
 */
function loadFetch(): void {
  void new Request("http://localhost/");
}

/**
 * Builds the Fetch request of an event: without a body for GET and HEAD, and without the forbidden methods. A HEAD is a
 * GET, whose body the gateway leaves out; so both have the same headers. Undefined: the event has a path that is none.
 */
function requestOf(event: GatewayEvent, path: string): Request | undefined {
  const { method } = event.requestContext.http;
  const bodiless = method === "GET" || method === "HEAD";
  const url = `https://${event.requestContext.domainName}${path}`;
  const headers = headersOf(event);
  const body = bodiless || !event.body ? undefined : Buffer.from(event.body, event.isBase64Encoded ? "base64" : "utf8");
  if (body !== undefined) headers.set("content-length", String(body.byteLength));
  try {
    return new Request(event.rawQueryString ? `${url}?${event.rawQueryString}` : url, {
      method: bodiless ? "GET" : forbiddenMethods.has(method) ? "OPTIONS" : method,
      headers,
      ...(body !== undefined && { body }),
    });
  } catch {
    return undefined;
  }
}

/** A name as a header has it (RFC 9110). */
const token = /^[!#$%&'*+.^_`|~\w-]+$/;

/**
 * Replaces characters that no header can have by a character that no route accepts, so that the route refuses the
 * value.
 */
const headerText = (value: string): string => value.replaceAll(/[^\t\x20-\x7e\x80-\xff]/gu, "\u00bf");

/** The event's headers. No route reads cookies. */
function headersOf({ headers: given = {} }: GatewayEvent): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given)) {
    if (value && token.test(name) && name.toLowerCase() !== "cookie") headers.set(name, headerText(value));
  }
  return headers;
}

const unreadable = (): Response =>
  problemResponse(new Problem("malformed_request", "The request's path or method is not valid."), crypto.randomUUID());

/**
 * Builds the answer for the gateway. Text that is UTF-8 goes as it is, all other bytes in Base64: what a client reads
 * are the bytes of the response, whatever its media type says. A byte order mark goes in Base64, as decoders remove it.
 */
async function answerOf(response: Response): Promise<GatewayAnswer> {
  const bytes = Buffer.from(await response.arrayBuffer());
  const isText = isUtf8(bytes) && !(bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf);
  return {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    body: bytes.toString(isText ? "utf8" : "base64"),
    isBase64Encoded: !isText,
  };
}
