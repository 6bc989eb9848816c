import { isA, isOfFetch, namesOf, property, quiet } from "../../util/foreign-value.ts";
import { awsLimits, awsThrottles, awsTimeouts } from "./aws-errors.ts";
import { type Described, describeError, innerErrors, withCauses } from "./describe-error.ts";
import { type ErrorKind, errorKinds, Misuse, type RetryAfter, TaskError } from "./errors.ts";
import { firstPlaceIn } from "./stack.ts";

/** A type's own rule: the kind of an error, or undefined to leave it to the next rule. */
export type ClassifyRule = (error: unknown) => ErrorKind | undefined;

/** A classified failure. */
export interface Classified extends Described {
  kind: ErrorKind;
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

const named = (kind: ErrorKind, names: readonly string[]): Record<string, ErrorKind> =>
  Object.fromEntries(names.map((name) => [name, kind]));

/**
 * Credentials of AWS that have ended, a clock that is wrong, rights that are not there yet: the next attempt has
 * others.
 */
const otherRights = (
  "ExpiredToken ExpiredTokenException TokenRefreshRequired InvalidToken UnrecognizedClientException InvalidClientTokenId " +
  "MissingAuthenticationToken MissingAuthenticationTokenException AuthFailure InvalidSignatureException " +
  "SignatureDoesNotMatch IncompleteSignature IncompleteSignatureException RequestExpired RequestInTheFuture " +
  "RequestTimeTooSkewed CredentialsProviderError AccessDenied AccessDeniedException"
).split(" ");

/** Failure classes by error name or code: Node's, the AWS SDK's, `fetch`'s. */
const kindByName: Readonly<Record<string, ErrorKind>> = {
  ...named("rate_limited", [...awsThrottles, ...awsLimits]),
  ...named("transient", [...awsTimeouts, ...otherRights, "InternalServerError"]),
  ConditionalCheckFailedException: "conflict",
  TransactionConflictException: "conflict",
  TransactionCanceledException: "conflict",
  ReplicatedWriteConflictException: "conflict",
  ResourceInUseException: "conflict",
  ServiceUnavailable: "unavailable",
  ServiceUnavailableException: "unavailable",
  ResourceNotFoundException: "not_found",
  NoSuchKey: "not_found",
  NotFound: "not_found",
  ValidationException: "validation",
  ValidationError: "validation",
  ECONNREFUSED: "unavailable",
  EHOSTDOWN: "unavailable",
  EHOSTUNREACH: "unavailable",
  ENETUNREACH: "transient",
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
  OptimisticLockException: "conflict",
  PortUnavailable: "unavailable",
  ZodError: "validation",
};

/**
 * Finds the failure class of a thrown value: a type's own rules first, then Offload's errors, names and codes, HTTP
 * status, and the same for its causes; anything else is `transient`. Pure, and never throws, whatever was thrown.
 */
export function classify(error: unknown, rules: readonly ClassifyRule[], nowMs: number): Classified {
  const kind = firstRule(error, rules) ?? commonKind(error) ?? "transient";
  const retryAfterSeconds = isRetryAfter(error) ? error.retryAfterSeconds : retryAfterOf(error, nowMs);
  return {
    kind,
    ...describeError(error, knownName),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

/** By its kind, as it may be of another copy of this package. */
const isRetryAfter = (error: unknown): error is RetryAfter =>
  isA(error, TaskError) && error.kind === "rate_limited" && "retryAfterSeconds" in error;

function firstRule(error: unknown, rules: readonly ClassifyRule[]): ErrorKind | undefined {
  for (const rule of rules) {
    try {
      const kind: unknown = rule(error);
      // An answer that is no kind counts as undecided, as a promise does.
      if (isKind(kind)) return kind;
      quiet(kind);
    } catch {
      // A rule that throws counts as undecided: its error must not replace the one to classify.
    }
  }
  return undefined;
}

/** True when one of a type's own rules tells the kind of an error. */
export const isRuled = (error: unknown, rules: readonly ClassifyRule[]): boolean =>
  firstRule(error, rules) !== undefined;

const isKind = (kind: unknown): kind is ErrorKind => (errorKinds as readonly unknown[]).includes(kind);

/**
 * The kind of the first of an error and its causes that has one; else that of the errors in it, if all of them have the
 * same.
 */
function commonKind(error: unknown): ErrorKind | undefined {
  for (const one of withCauses(error)) {
    const kind = kindOfOne(one) ?? kindOfInner(one);
    if (kind !== undefined) return kind;
  }
  return undefined;
}

/** A `SuppressedError` has the kind of the error that came first. */
function kindOfInner(error: unknown): ErrorKind | undefined {
  const kinds = innerErrors(error)
    .slice(0, 100)
    .map((inner) =>
      withCauses(inner)
        .map(kindOfOne)
        .find((kind) => kind !== undefined),
    );
  if (property(error, "suppressed") !== undefined) return kinds.find((kind) => kind !== undefined);
  return new Set(kinds).size === 1 ? kinds[0] : undefined;
}

function kindOfOne(error: unknown): ErrorKind | undefined {
  if (isA(error, TaskError) || isA(error, Misuse)) return error.kind;
  const name = knownName(error);
  if (name !== undefined) return kindByName[name];
  const retryable = property(error, "$retryable");
  if (typeof retryable === "object" && retryable !== null) {
    return property(retryable, "throttling") === true ? "rate_limited" : "transient";
  }
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
 * Reads the HTTP status of a `Response`, of an HTTP client's error (`status`, `statusCode`, `response.status`) or of
 * the AWS SDK.
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
  if (typeof headers !== "object" || headers === null) return undefined;
  if (isOfFetch(headers, "Headers")) return getHeader(headers as Headers, name);
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

/** The last words of a process about an attempt that ended with it. It is a part beside the task's record. */
export interface CrashNote {
  /** `blocked`: its event loop was blocked until the process was ended. `exited`: a handler called `process.exit`. */
  cause: "blocked" | "exited" | "out_of_memory";
  /** Attempt whose code did it: this one, another one in the same process, or nobody knows which. */
  by: "this" | "another" | "unknown";
  /** Number of attempts in the process. */
  attempts: number;
  exit_code?: number;
  /** Memory that the process used, and the limit of its heap or of all its memory, in megabytes. */
  used_mb?: number;
  limit_mb?: number;
  limit_of?: "heap" | "process";
  /** Where the code was, as `stackText` writes it. Absent: the process could not tell. */
  stack?: string;
}

const typeOf = { blocked: "EventLoopBlocked", exited: "ProcessExited", out_of_memory: "OutOfMemory" } as const;

/** The failure of an attempt whose process ended. Pure. */
export function crashFailure(attempt: number, note: CrashNote | undefined): Classified {
  if (note === undefined) {
    const message = `the worker died, or lost its lease, during attempt ${attempt}`;
    return { kind: "crashed", type: "AttemptCrashed", message };
  }
  if (note.by === "another") {
    const message = `the worker died during attempt ${attempt}: another attempt in its process ${didWhat(note)}`;
    return { kind: "crashed", type: "AttemptCrashed", message };
  }
  const place = firstPlaceIn(note.stack);
  const who =
    note.by === "this" ? `attempt ${attempt}` : `one of ${note.attempts} attempts in the process of attempt ${attempt}`;
  const message = `${who} ${didWhat(note)}${place === undefined ? "" : `, at ${place}`}`;
  return { kind: "crashed", type: typeOf[note.cause], message };
}

function didWhat({ cause, exit_code, used_mb, limit_mb, limit_of }: CrashNote): string {
  if (cause === "exited") return `called process.exit(${exit_code ?? ""})`;
  if (cause === "blocked") return "blocked the event loop until its process was ended";
  const limited = limit_of === "heap" ? "objects in it" : "it";
  return `ran out of memory: its process used ${used_mb} MB, and ${limited} may use ${limit_mb} MB`;
}
