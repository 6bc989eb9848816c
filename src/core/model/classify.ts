import { type ErrorKind, type RetryAfter, TaskError } from "./errors.ts";

/** A type's own rule: the kind of an error, or undefined to leave it to the next rule. */
export type ClassifyRule = (error: unknown) => ErrorKind | undefined;

/** A classified failure. */
export interface Classified {
  kind: ErrorKind;
  /** For people: at most 1,000 characters, without lone surrogates, which the table cannot store. */
  message: string;
  /** The error's class or code, at most 128 characters. */
  type: string;
  /** The other service's `Retry-After`. Absent: it sent none. */
  retryAfterSeconds?: number;
}

/** The record's fields for a classified failure. */
export const errorFields = (failure: Classified) => ({
  error: failure.message,
  error_type: failure.type,
  error_kind: failure.kind,
});

/** An error's class or code that can hardly contain data: an identifier, or the status of an HTTP response. */
const plainType = /^(?:[A-Za-z_$][\w$]{0,63}|HTTP \d{3})$/;

/** The failure of a sensitive type. A handler can put data into an error's name, which is logged. */
export const withPlainType = (failure: Classified): Classified =>
  plainType.test(failure.type) ? failure : { ...failure, type: "Error" };

/** HTTP status codes with a failure class of their own. */
const kindByHttpStatus: Readonly<Record<number, ErrorKind>> = {
  400: "validation",
  404: "not_found",
  409: "conflict",
  410: "not_found",
  412: "conflict",
  422: "validation",
  429: "rate_limited",
  503: "unavailable",
};

/** Failure classes by error name or code: Node's, the AWS SDK's, `fetch`'s. */
const kindByName: Readonly<Record<string, ErrorKind>> = {
  ECONNREFUSED: "unavailable",
  EHOSTDOWN: "unavailable",
  EHOSTUNREACH: "unavailable",
  ENOTFOUND: "transient",
  EAI_AGAIN: "transient",
  ECONNRESET: "transient",
  ECONNABORTED: "transient",
  EPIPE: "transient",
  ETIMEDOUT: "transient",
  UND_ERR_CONNECT_TIMEOUT: "transient",
  UND_ERR_HEADERS_TIMEOUT: "transient",
  UND_ERR_BODY_TIMEOUT: "transient",
  UND_ERR_SOCKET: "transient",
  TimeoutError: "transient",
  ConditionalCheckFailedException: "conflict",
  TransactionConflictException: "conflict",
  TransactionCanceledException: "conflict",
  OptimisticLockException: "conflict",
  Throttling: "rate_limited",
  ThrottlingException: "rate_limited",
  ThrottledException: "rate_limited",
  TooManyRequestsException: "rate_limited",
  ProvisionedThroughputExceededException: "rate_limited",
  RequestLimitExceeded: "rate_limited",
  SlowDown: "rate_limited",
  LimitExceededException: "rate_limited",
  ServiceUnavailable: "unavailable",
  ServiceUnavailableException: "unavailable",
  PortUnavailable: "unavailable",
  ResourceNotFoundException: "not_found",
  NoSuchKey: "not_found",
  NotFound: "not_found",
  ValidationException: "validation",
  ValidationError: "validation",
  ZodError: "validation",
};

/** Number of nested causes that are followed: `fetch` keeps the system's error one level down. */
const deepestCause = 4;

/**
 * Finds the failure class of a thrown value: a type's own rules first, then Offload's errors, names and codes, HTTP status,
 * and the same for its causes; anything else is `transient`. Pure, and never throws, whatever was thrown.
 */
export function classify(error: unknown, rules: readonly ClassifyRule[], nowMs: number): Classified {
  const kind = firstRule(error, rules) ?? commonKind(error) ?? "transient";
  const retryAfterSeconds = isRetryAfter(error) ? error.retryAfterSeconds : retryAfterOf(error, nowMs);
  return {
    kind,
    message: describe(error).slice(0, 1000).toWellFormed(),
    type: typeOf(error).slice(0, 128).toWellFormed(),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

/** By its kind, as it may be of another copy of this package. */
const isRetryAfter = (error: unknown): error is RetryAfter =>
  isA(error, TaskError) && error.kind === "rate_limited" && "retryAfterSeconds" in error;

function firstRule(error: unknown, rules: readonly ClassifyRule[]): ErrorKind | undefined {
  for (const rule of rules) {
    try {
      const kind = rule(error);
      if (kind !== undefined) return kind;
    } catch {
      // A rule that throws counts as undecided: its error must not replace the one to classify.
    }
  }
  return undefined;
}

function commonKind(error: unknown): ErrorKind | undefined {
  for (const one of withCauses(error)) {
    const kind = kindOfOne(one);
    if (kind !== undefined) return kind;
  }
  return undefined;
}

/** An error, its cause, the cause's cause, and so on. */
function withCauses(error: unknown): unknown[] {
  const errors: unknown[] = [];
  for (let one = error; errors.length <= deepestCause && one !== undefined && one !== null; ) {
    errors.push(one);
    one = property(one, "cause");
  }
  return errors;
}

function kindOfOne(error: unknown): ErrorKind | undefined {
  if (isA(error, TaskError)) return error.kind;
  const name = knownName(error);
  if (name !== undefined) return kindByName[name];
  const status = httpStatusOf(error);
  if (status === undefined) return undefined;
  return kindByHttpStatus[status] ?? "transient";
}

/** The code or the name of an error, if it has a failure class. */
const knownName = (error: unknown): string | undefined =>
  [property(error, "code"), property(error, "name")].find(
    (name): name is string => typeof name === "string" && Object.hasOwn(kindByName, name),
  );

/**
 * Reads the HTTP status of a `Response`, of an HTTP client's error (`status`, `statusCode`, `response.status`) or of the AWS
 * SDK.
 */
function httpStatusOf(error: unknown): number | undefined {
  const places = [error, property(error, "response"), property(error, "$metadata")];
  for (const place of places) {
    for (const name of ["status", "statusCode", "httpStatusCode"]) {
      const value = property(place, name);
      if (typeof value === "number" && value >= 300 && value <= 599) return value;
    }
  }
  return undefined;
}

function retryAfterOf(error: unknown, nowMs: number): number | undefined {
  const places = withCauses(error).flatMap((one) => [one, property(one, "response"), property(one, "$response")]);
  for (const place of places) {
    const header = headerOf(property(place, "headers"), "retry-after");
    const seconds = header === undefined ? undefined : parseRetryAfter(header, nowMs);
    if (seconds !== undefined) return seconds;
  }
  return undefined;
}

/** Reads `Retry-After`, whole seconds or an HTTP date; undefined when it is neither. At most 30 days. */
export function parseRetryAfter(header: string, nowMs: number): number | undefined {
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Math.min(Number(text), 2_592_000);
  const at = /[a-z]{3}/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, Math.ceil((at - nowMs) / 1000)), 2_592_000);
}

function headerOf(headers: unknown, name: string): string | undefined {
  if (isA(headers, Headers)) return getHeader(headers, name);
  if (typeof headers !== "object" || headers === null) return undefined;
  for (const key of namesOf(headers)) {
    const value = key.toLowerCase() === name ? property(headers, key) : undefined;
    if (typeof value === "string" || typeof value === "number") return String(value);
  }
  return undefined;
}

/** Headers can throw when they are read, for example behind a proxy object. */
function getHeader(headers: Headers, name: string): string | undefined {
  try {
    return headers.get(name) ?? undefined;
  } catch {
    return undefined;
  }
}

function describe(error: unknown): string {
  if (isA(error, Response)) return `${typeOf(error)} ${property(error, "statusText") ?? ""}`.trim();
  if (typeof error === "string") return error;
  const [message = typeOf(error), ...causes] = withCauses(error).flatMap(messageOf);
  const cause = causes.find((text) => !message.includes(text));
  return cause === undefined ? message : `${message} (${cause})`;
}

function messageOf(error: unknown): string[] {
  const message = property(error, "message");
  return typeof message === "string" && message !== "" ? [message] : [];
}

/** Names that say nothing about the failure. `fetch` throws a `TypeError` when the network fails. */
const vagueNames: readonly unknown[] = ["Error", "TypeError"];

/**
 * The error's class or code. An error with a vague name takes the name of the cause that tells its failure class, so that a
 * network error is not mistaken for an error in the handler's code.
 */
function typeOf(error: unknown): string {
  if (vagueNames.includes(property(error, "name"))) {
    const named = withCauses(error)
      .map(knownName)
      .find((name) => name !== undefined);
    if (named !== undefined) return named;
  }
  const name = property(error, "name");
  if (typeof name === "string" && name !== "" && name !== "Error") return name;
  const code = property(error, "code");
  if (typeof code === "string" && code !== "") return code;
  if (isA(error, Response)) return `HTTP ${property(error, "status") ?? "response"}`;
  return isA(error, Error) ? "Error" : typeof error;
}

/** Reads a property of anything; a getter that throws counts as absent. */
function property(value: unknown, name: string): unknown {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  try {
    return (value as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

/** `instanceof` for any value; a proxy that throws is not an instance. */
function isA<T>(value: unknown, type: abstract new (...args: never[]) => T): value is T {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}

/** The names of an object's members; none when they cannot be listed. */
function namesOf(value: object): string[] {
  try {
    return Object.keys(value);
  } catch {
    return [];
  }
}
