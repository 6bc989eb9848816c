import { ConnectionError, OffloadError, type ProblemBody, ProblemError, UnexpectedAnswer } from "./errors.ts";
import { type CallOptions, follow, mustGoOn, sleep, within } from "./limits.ts";

/** Where the API is, and who calls it. */
export interface ClientOptions {
  /** URL of the API. In a browser it may be relative to the page, such as `/api`. */
  url: string;
  /**
   * API key or JWT. A function is called before every request, so that it can renew a token that expires; after an
   * answer of 401 it is called again, and the request repeated once.
   */
  key: string | (() => string | Promise<string>);
  /**
   * Another tenant than the key's own, or `*` for all in lists, groups and operations; for admins only. Default: the
   * key's own.
   */
  tenant?: string | undefined;
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Most tries of a request that may be repeated, at least 1. Default: 6. */
  maxTries?: number;
  /** Time limit of one try in milliseconds. Default: 30,000. */
  requestTimeoutMs?: number;
}

/** Values of a query by name. Undefined values are not sent. */
export type Query = Readonly<Record<string, string | number | undefined>>;

export interface Request<T> {
  method?: "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Query;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string | undefined>;
  /** True when a second arrival of the request does no harm. Default: not for POST. */
  repeatable?: boolean;
  /** `manual`: an answer that names another place is read itself. Default: it is followed. */
  redirect?: "manual" | undefined;
  /**
   * Reads the answer. `json` returns its JSON object. Default: only that, and undefined for an answer without a body.
   */
  read?: (response: Response, json: () => Promise<object>) => Promise<T>;
}

/**
 * Upper bounds of the random wait before a repeat: for the first one, doubled for each further one, and the largest.
 */
const firstWaitMs = 500;
const longestWaitMs = 20_000;
/** A longer `Retry-After` than this is left to the caller. */
const longestRetryAfterSeconds = 60;

/** Sends requests to one API, and repeats them where that is safe. */
export class Transport {
  readonly #base: string;
  readonly #options: ClientOptions;
  declare readonly maxTries: number;
  /** Sends any request, to any address. */
  declare readonly fetch: NonNullable<ClientOptions["fetch"]>;

  /** @throws TypeError when an option is missing or not valid */
  constructor(options: ClientOptions) {
    this.#base = baseOf(options.url);
    this.#options = options;
    this.maxTries = options.maxTries ?? 6;
    this.fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
    if (typeof options.key !== "function") checkKey(options.key);
  }

  get<T>(path: string, options?: CallOptions, query: Query = {}): Promise<T> {
    return this.call({ path, query }, options);
  }

  /** Sends a POST that can be repeated. */
  post<T>(path: string, body: unknown, options?: CallOptions, headers: Request<T>["headers"] = {}): Promise<T> {
    return this.call({ method: "POST", path, body, headers, repeatable: true }, options);
  }

  /** Sends a POST again only when the API did not take it, as a second arrival could do harm. */
  postOnce<T>(path: string, body: object, options?: CallOptions): Promise<T> {
    return this.call({ method: "POST", path, body }, options);
  }

  /** @throws ProblemError, ConnectionError, UnexpectedAnswer, CallTimeout; the signal's reason */
  call<T>(request: Request<T>, options: CallOptions = {}): Promise<T> {
    return within(options, async (signal) => {
      for (let tries = 1; ; tries++) {
        try {
          return await this.#try(request, signal, tries, typeof this.#options.key !== "string");
        } catch (error) {
          const waitMs = tries < this.maxTries && mayRepeat(request, error) ? waitBefore(error, tries) : undefined;
          if (waitMs === undefined) throw error;
          await sleep(waitMs, signal);
        }
      }
    });
  }

  /** @param mayAsk True when a function can give another key after 401: the first one may just have expired. */
  async #try<T>(request: Request<T>, signal: AbortSignal, tries: number, mayAsk: boolean): Promise<T> {
    const { fetch } = this;
    const { requestTimeoutMs = 30_000 } = this.#options;
    const { method = "GET", redirect = "follow" } = request;
    const { read = async ({ status }, json) => (status === 204 ? undefined : json()) as T } = request;
    // Undefined for a request without a body.
    const body = JSON.stringify(request.body);
    const headers = await this.#headersOf(request);
    mustGoOn(signal);
    const limit = follow(
      signal,
      requestTimeoutMs,
      () => new Error(`the time limit of ${requestTimeoutMs / 1000} s is over`),
    );
    let what = "does not answer";
    try {
      const response = await fetch(this.#urlOf(request), {
        method,
        headers,
        // The browser's cache would answer for a minute with the end of a task that was retried since.
        cache: "no-store",
        redirect,
        signal: limit.signal,
        body,
      });
      what = `answered ${response.status}, but not completely`;
      if (response.status === 401 && mayAsk) return await this.#try(request, signal, tries + 1, false);
      if (response.status > 399) throw await this.#refusalOf(response, tries);
      return await read(response, () => this.#objectIn(response));
    } catch (error) {
      if (error instanceof OffloadError) throw error;
      mustGoOn(signal);
      const cause = limit.signal.aborted ? limit.signal.reason : error;
      const words = (cause as Error & { cause?: Error }).cause?.message || (cause as Error).message;
      throw new ConnectionError(`${this.#base} ${what}: ${words}`, { cause });
    } finally {
      limit.end();
    }
  }

  #urlOf({ path, query }: Request<unknown>): string {
    let url = this.#base + path;
    for (const [name, value] of Object.entries({ ...query, tenant: this.#options.tenant })) {
      if (value === undefined) continue;
      url += `${url.includes("?") ? "&" : "?"}${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
    }
    return url;
  }

  async #headersOf({ headers = {}, body }: Request<unknown>): Promise<Headers> {
    const { key } = this.#options;
    const token = typeof key === "function" ? checkKey(await key()) : key;
    const all = new Headers({ authorization: `Bearer ${token}` });
    if (body !== undefined) all.set("content-type", "application/json");
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) all.set(name, value);
    return all;
  }

  async #refusalOf(response: Response, tries: number): Promise<OffloadError> {
    const { status } = response;
    const retryAfter = retryAfterOf(response);
    const body: ProblemBody = (await jsonObjectIn(response)) ?? {};
    const detail = body.detail ?? body.message;
    if (typeof detail !== "string") return new UnexpectedAnswer(this.#base, status, retryAfter);
    return new ProblemError({ ...body, status, detail }, retryAfter, tries);
  }

  async #objectIn(response: Response): Promise<object> {
    const json = await jsonObjectIn(response);
    if (json === undefined) throw new UnexpectedAnswer(this.#base, response.status);
    return json;
  }
}

/**
 * The URL before each path. React Native's own `URL` tells no parts.
 * @throws TypeError
 */
function baseOf(text: string): string {
  const page = (globalThis as { location?: { href?: string } }).location?.href;
  const url = page ? new URL(text, page).href : text;
  const [base] = /^https?:\/\/[^/?#@\s]+(\/[^?#\s]*)?(?=[?#]|$)/i.exec(url) ?? [];
  if (base === undefined) throw new TypeError("url: expected http(s), without user or password");
  return base.replace(/\/+$/, "");
}

/**
 * A new idempotency key. It has to be new, not secret: pages of plain http have no UUIDs, and React Native may have no
 * `crypto`.
 */
export const newKey = (): string =>
  (globalThis as { crypto?: { randomUUID?: () => string } }).crypto?.randomUUID?.() ??
  "...".replace(/./g, () => Math.random().toString(36));

/** Returns the key. The message never contains it. */
function checkKey(key: string): string {
  if (typeof key === "string" && /^[\x21-\x7e]+$/.test(key)) return key;
  throw new TypeError("key: expected printable ASCII, no spaces");
}

/**
 * True after errors that can pass: all of them when a repeat does no harm, else only those before the request was
 * processed.
 */
function mayRepeat({ method, repeatable = method !== "POST" }: Request<unknown>, error: unknown): boolean {
  if (!(error instanceof OffloadError)) return false;
  const { status, retryAfterSeconds } = error as { status?: number; retryAfterSeconds?: number };
  // A conflict with a time to wait: other requests came in between each time, and this one changed nothing.
  if (status === 408 || status === 429 || (status === 409 && retryAfterSeconds !== undefined)) return true;
  return repeatable && (status === undefined || status >= 500);
}

/** Milliseconds before the next try: random, and after `Retry-After`. Undefined: that is too long. */
function waitBefore(error: unknown, tries: number): number | undefined {
  const { retryAfterSeconds = 0 } = error as { retryAfterSeconds?: number };
  if (retryAfterSeconds > longestRetryAfterSeconds) return undefined;
  return retryAfterSeconds * 1000 + randomWaitMs(tries);
}

/** Milliseconds of a random wait after this number of tries. */
export const randomWaitMs = (tries: number): number =>
  Math.random() * Math.min(longestWaitMs, firstWaitMs * 2 ** (tries - 1));

/** Seconds in `Retry-After`, which has a number of seconds or a date. */
export function retryAfterOf({ headers }: Response): number | undefined {
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

/** Returns the JSON object in an answer. Undefined: there is none. */
async function jsonObjectIn(response: Response): Promise<object | undefined> {
  const text = await response.text();
  try {
    const json: unknown = JSON.parse(text);
    return json instanceof Object && !Array.isArray(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** Builds a path, with each value as one step of it. */
export function path(steps: TemplateStringsArray, ...ids: readonly string[]): string {
  return String.raw(
    steps,
    ...ids.map((id) => {
      if (typeof id !== "string" || /^\.{0,2}$/.test(id))
        throw new TypeError(`expected an id, got ${JSON.stringify(id)}`);
      return encodeURIComponent(id);
    }),
  );
}
