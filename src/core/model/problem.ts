/** All problems: HTTP status and title by code. */
export const problemCodes = {
  malformed_request: { status: 400, title: "Malformed request" },
  unauthenticated: { status: 401, title: "Unauthenticated" },
  forbidden: { status: 403, title: "Forbidden" },
  not_found: { status: 404, title: "Not found" },
  input_not_kept: { status: 404, title: "Input not kept" },
  method_not_allowed: { status: 405, title: "Method not allowed" },
  request_timeout: { status: 408, title: "Request timeout" },
  conflict: { status: 409, title: "Conflict" },
  defined_in_code: { status: 409, title: "Defined in the code" },
  not_waiting: { status: 409, title: "Not waiting" },
  gone: { status: 410, title: "Gone" },
  too_large: { status: 413, title: "Too large" },
  unsupported_media_type: { status: 415, title: "Unsupported media type" },
  invalid_input: { status: 422, title: "Invalid input" },
  unknown_task_type: { status: 422, title: "Unknown task type" },
  idempotency_key_reused: { status: 422, title: "Idempotency key reused" },
  rate_limited: { status: 429, title: "Rate limited" },
  quota_exceeded: { status: 429, title: "Quota exceeded" },
  internal: { status: 500, title: "Internal error" },
  queue_full: { status: 503, title: "Queue full" },
  unavailable: { status: 503, title: "Unavailable" },
} as const;

export type ProblemCode = keyof typeof problemCodes;

/** One fault of the input, at a JSON pointer. */
export interface InputError {
  path: string;
  message: string;
}

export interface ProblemOptions {
  /** Faults by field. Default: left out. */
  errors?: InputError[];
  /** Whole seconds before another try; becomes `Retry-After`. Default: left out. */
  retryAfterSeconds?: number;
  /** The allowed methods of a 405; becomes `Allow`. Default: left out. */
  allow?: string[];
  /** Members added to the problem document, such as a failed task's `error`. Default: none. */
  extra?: Record<string, unknown>;
  cause?: unknown;
}

/**
 * A refused request. Use cases throw it, and the HTTP layer turns it into `application/problem+json`. Its `detail` is
 * written for the caller and contains nothing internal.
 */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly detail: string;
  readonly options: ProblemOptions;

  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Problem";
    this.code = code;
    this.detail = detail;
    this.options = options;
  }
}

/** A problem for a log line, without values of the input: `errors` name fields only, `detail` may quote a value. */
export const withoutValues = ({ code, detail, options: { errors } }: Problem): string =>
  `${code}: ${errors?.map(({ path, message }) => `${path || "/"} ${message}`).join("; ") ?? detail}`.slice(0, 500);

/** The same problem for a task that does not exist and for another caller's task. */
export const noSuchTask = () => new Problem("not_found", "No such task.");
