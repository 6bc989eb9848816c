import type { Identity } from "../../core/model/words.ts";
import type { GatewayEvent } from "./event.ts";

/** The answer to a request. */
export interface ApiResponse {
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
}

/** Facts of a request that are found while it is answered. */
export interface Variables {
  correlationId: string;
  /** The client gave the correlation id. Undefined: it did not. */
  correlationGiven: true | undefined;
  /** W3C trace context of the request's span. Undefined: there is no trace. */
  traceparent: string | undefined;
  identity: Identity;
  /** Adds to the target of the request's audit entry, before the change. Undefined: the request has no entry. */
  addTarget: ((more: Readonly<Record<string, string>>) => Promise<void>) | undefined;
}

/** The request of a client. */
class ApiRequest {
  /** A HEAD is a GET, whose body the gateway leaves out; so both have the same headers. */
  readonly method: string;
  readonly path: string;
  /** The steps of the path that have braces in the route, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly #event: GatewayEvent;
  #query: Readonly<Record<string, string>> | undefined;
  #bytes: Uint8Array | undefined;

  constructor(event: GatewayEvent, path: string, params: Readonly<Record<string, string>>) {
    this.method = methodOf(event);
    this.path = path;
    this.params = params;
    this.#event = event;
  }

  /** @param name In lower case. */
  header(name: string): string | undefined {
    const { headers } = this.#event;
    const value = headers !== undefined && Object.hasOwn(headers, name) ? headers[name] : undefined;
    return value ? headerText(value) : undefined;
  }

  /** Of a name that is repeated it has the first value. */
  get query(): Readonly<Record<string, string>> {
    this.#query ??= firstOfEach(new URLSearchParams(this.#event.rawQueryString));
    return this.#query;
  }

  /** The body. A GET has none. */
  bytes(): Uint8Array {
    const { body, isBase64Encoded } = this.#event;
    const isEmpty = !body || this.method === "GET";
    this.#bytes ??= isEmpty ? new Uint8Array() : Buffer.from(body, isBase64Encoded ? "base64" : "utf8");
    return this.#bytes;
  }
}

const noQuery: Readonly<Record<string, string>> = Object.freeze({});

function firstOfEach(query: URLSearchParams): Readonly<Record<string, string>> {
  if (query.size === 0) return noQuery;
  const first = new Map<string, string>();
  for (const [name, value] of query) if (!first.has(name)) first.set(name, value);
  return Object.fromEntries(first);
}

/**
 * Replaces characters that no header can have by a character that no route accepts, so that the route refuses the
 * value.
 */
const headerText = (value: string): string => value.replaceAll(/[^\t\x20-\x7e\x80-\xff]/gu, "\u00bf").trim();

/** The method whose routes answer a request. */
export const methodOf = ({ requestContext }: GatewayEvent): string =>
  requestContext.http.method === "HEAD" ? "GET" : requestContext.http.method;

/** One request: what it asks for, what is known of it, and the headers of its answer. */
export class Call {
  readonly event: GatewayEvent;
  readonly req: ApiRequest;
  readonly #known: Partial<Variables> = {};
  readonly #headers: Record<string, string> = {};

  constructor(event: GatewayEvent, path: string, params: Readonly<Record<string, string>>) {
    this.event = event;
    this.req = new ApiRequest(event, path, params);
  }

  get<Name extends keyof Variables>(name: Name): Variables[Name] {
    return this.#known[name] as Variables[Name];
  }

  set<Name extends keyof Variables>(name: Name, value: Variables[Name]): void {
    this.#known[name] = value;
  }

  /**
   * Sets a header of the answer. A problem has its own headers only.
   * @param name In lower case.
   */
  header(name: string, value: string): void {
    this.#headers[name] = value;
  }

  json(value: unknown, status = 200): ApiResponse {
    this.header("content-type", "application/json");
    return this.body(JSON.stringify(value), status);
  }

  /** JSON that no cache stores. */
  unstored(value: unknown, status = 200): ApiResponse {
    this.header("cache-control", "no-store");
    return this.json(value, status);
  }

  body(body: ApiResponse["body"], status = 200): ApiResponse {
    return { status, headers: this.#headers, body };
  }
}
