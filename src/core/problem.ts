/** Every way a request can be refused: HTTP status and title by code. The only list of codes there is. */
export const problemCodes = {
  malformed_request: { status: 400, title: "Malformed request" },
  unauthenticated: { status: 401, title: "Unauthenticated" },
  forbidden: { status: 403, title: "Forbidden" },
  not_found: { status: 404, title: "Not found" },
  method_not_allowed: { status: 405, title: "Method not allowed" },
  conflict: { status: 409, title: "Conflict" },
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

/** One thing that is wrong with the input, at a JSON pointer. */
export interface InputError {
  path: string;
  message: string;
}

export interface ProblemOptions {
  /** What is wrong with which fields. Default: left out. */
  errors?: InputError[];
  /** Whole seconds until another try makes sense; becomes `Retry-After`. Default: left out. */
  retryAfterSeconds?: number;
  /** The allowed methods of a 405; becomes `Allow`. Default: left out. */
  allow?: string[];
  /** Members added to the problem document, such as a failed task's `error`. Default: none. */
  extra?: Record<string, unknown>;
  cause?: unknown;
}

/**
 * A request that is refused. Thrown by use cases and turned into `application/problem+json` at the edge. Its `detail` is
 * written for the caller and never holds anything of the inside.
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

/** A problem in the words of a log: `detail` may repeat a value of the input, its `errors` name fields only. */
export const withoutValues = ({ code, detail, options: { errors } }: Problem): string =>
  `${code}: ${errors?.map(({ path, message }) => `${path || "/"} ${message}`).join("; ") ?? detail}`.slice(0, 500);

/** The one problem for a task that does not exist and for a task that is somebody else's. */
export const noSuchTask = () => new Problem("not_found", "No such task.");
