import type { ErrorKind } from "../model/errors.ts";
import type { TaskKey } from "../model/record.ts";
import type { Random } from "../ports/tasks.ts";

/** The end of a task that failed for good, as its `onFailed` gets it. */
export interface TaskFailure {
  /** Id of the failed task. */
  readonly taskId: string;
  /** Message of the last error. */
  readonly error: string;
  /** Name of the error's class. */
  readonly errorType: string;
  readonly errorKind: ErrorKind;
  /** Number of attempts of the round that failed. */
  readonly attempts: number;
  /** ISO 8601 UTC with milliseconds. */
  readonly failedAt: string;
}

/** The input of a task that runs `onFailed`. */
export interface FailedTask {
  task_id: string;
  type: string;
  error: string;
  error_type: string;
  error_kind: ErrorKind;
  attempts: number;
  failed_at: string;
}

/** Reads the input with which an attempt of Offload's own type starts. */
export type ReadInput = (record: TaskKey, given: unknown) => Promise<unknown>;

/**
 * Jitter of waits: `additive` adds up to `jitterRatio` of the wait, `full` draws from 0 up to the wait, `none` keeps
 * it.
 */
export type Jitter = "additive" | "full" | "none";

/** Waits between attempts: a fixed list, or exponential growth. */
export interface Backoff {
  /** Whole seconds before attempt 2, 3, ..., at least one; the last one repeats. Not with `baseSeconds`. */
  waitsSeconds?: readonly number[];
  /** Wait before attempt 2 in seconds; each later one is `factor` times longer. */
  baseSeconds?: number;
  /** Default: 2. */
  factor?: number;
  /** No wait is longer than this many seconds before jitter. Default: 43200 (12 h). */
  capSeconds?: number;
  /** Default: `additive`. */
  jitter?: Jitter;
  /** The most that `additive` adds, as a share of the wait, 0 to 1. Default: 0.5. */
  jitterRatio?: number;
  /** Retries for this kind of failure in one round, apart from `max_attempts`. Default: no limit of its own. */
  maxRetries?: number;
}

/** A type's policy: one backoff for all kinds, and others for single kinds; `stop` makes a kind final. */
export interface RetryPolicy extends Backoff {
  /** Policies of single kinds of failure; `stop` makes a kind final. Default: the kind's own. */
  kinds?: { readonly [kind in ErrorKind]?: Backoff | "stop" };
}

/** The common waits in seconds, as the contract has them. */
export const defaultWaitsSeconds = [30, 120, 480, 1800, 7200] as const;

/** The default of each kind of failure. `minSeconds` is also the least wait of a type's own policy for the kind. */
const kindDefaults: Readonly<Record<ErrorKind, "stop" | (Backoff & { minSeconds?: number })>> = {
  transient: {},
  rate_limited: {},
  conflict: { baseSeconds: 1, maxRetries: 3 },
  unavailable: { minSeconds: 60 },
  crashed: {},
  timed_out: {},
  not_found: "stop",
  validation: "stop",
  business_rule: "stop",
  permanent: "stop",
  children_failed: "stop",
};

/** A failed attempt. */
export interface Failure {
  kind: ErrorKind;
  /** The number of the failed attempt in its round, from 1. */
  attempt: number;
  maxAttempts: number;
  /** Earlier failures of the same kind in this round. */
  earlierOfKind: number;
  /** From `Retry-After`: least seconds before the next attempt, and about the most of the first retry. */
  retryAfterSeconds?: number | undefined;
  /** Earlier failures of this round by the same bug of the handler's own code. Absent: the failure is no such bug. */
  earlierOfBug?: number | undefined;
}

/** A bug of the handler's own code is tried once more, close after the first attempt, as no wait mends it. */
const bugBackoff: Backoff = { baseSeconds: 2, maxRetries: 1 };

/**
 * A wait that a service asks for is lengthened by up to this share, so that the callers that it has sent away do not
 * come back together.
 */
const askedJitter = 0.2;

/** Retry after whole seconds, at least 1; or stop. */
export type RetryDecision = { retry: true; waitSeconds: number } | { retry: false };

/**
 * Decides what follows a failed attempt. Pure: the same policy, failure and random number make the same decision.
 * @param timeScale Multiplies waits, never `Retry-After`. Default: 1.
 */
export function decideRetry(policy: RetryPolicy, failure: Failure, random: Random, timeScale = 1): RetryDecision {
  if (failure.attempt >= failure.maxAttempts) return { retry: false };
  if (failure.earlierOfBug !== undefined && leavesBugs(policy))
    return decideBug(failure.earlierOfBug, random, timeScale);
  const own = policy.kinds?.[failure.kind];
  const common = kindDefaults[failure.kind];
  if (own === "stop" || (own === undefined && common === "stop")) return { retry: false };
  const backoff = backoffFor(policy, own, common);
  if (backoff.maxRetries !== undefined && failure.earlierOfKind >= backoff.maxRetries) return { retry: false };
  const minSeconds = typeof common === "object" ? (common.minSeconds ?? 0) : 0;
  const retryNumber = own !== undefined || hasWaits(common) ? failure.earlierOfKind : failure.attempt - 1;
  const plain = Math.max(minSeconds, waitBeforeJitter(backoff, retryNumber));
  const drawn = random();
  const scaled =
    Math.max(
      minSeconds,
      jittered(backoff, plain, () => drawn),
    ) * timeScale;
  return { retry: true, waitSeconds: Math.max(1, Math.round(heeded(scaled, failure, drawn))) };
}

/**
 * Heeds `Retry-After` where it is longer than the own wait, and where it is shorter: twice as long after each earlier
 * failure of the kind, up to the own wait, so that a service that asks for seconds over and over does not use up all
 * attempts at once.
 */
function heeded(ownSeconds: number, { retryAfterSeconds = 0, earlierOfKind }: Failure, drawn: number): number {
  if (retryAfterSeconds === 0) return ownSeconds;
  const asked = retryAfterSeconds * 2 ** earlierOfKind * (1 + askedJitter * drawn);
  return Math.max(retryAfterSeconds, Math.min(ownSeconds, asked));
}

/** True for a policy that says nothing of its own about common failures. */
const leavesBugs = ({ kinds, ...common }: RetryPolicy): boolean =>
  kinds?.transient === undefined && Object.values(common).every((value) => value === undefined);

function decideBug(earlier: number, random: Random, timeScale: number): RetryDecision {
  if (earlier >= (bugBackoff.maxRetries ?? 0)) return { retry: false };
  const waitSeconds = Math.max(
    1,
    Math.round(jittered(bugBackoff, waitBeforeJitter(bugBackoff, 0), random) * timeScale),
  );
  return { retry: true, waitSeconds };
}

const hasWaits = (backoff: "stop" | Backoff) =>
  backoff !== "stop" && (backoff.waitsSeconds !== undefined || backoff.baseSeconds !== undefined);

/**
 * The backoff of a kind: the type's own for the kind, else the default of the kind if it has waits, else the type's.
 */
function backoffFor(policy: RetryPolicy, own: Backoff | undefined, common: "stop" | Backoff): Backoff {
  if (own !== undefined) return own;
  return hasWaits(common) ? (common as Backoff) : policy;
}

/** @param retryNumber 0 for the first retry. */
function waitBeforeJitter(backoff: Backoff, retryNumber: number): number {
  const cap = backoff.capSeconds ?? 43_200;
  if (backoff.baseSeconds !== undefined) {
    return Math.min(cap, backoff.baseSeconds * (backoff.factor ?? 2) ** retryNumber);
  }
  const waits = backoff.waitsSeconds ?? defaultWaitsSeconds;
  return Math.min(cap, waits[Math.min(retryNumber, waits.length - 1)] ?? 0);
}

function jittered(backoff: Backoff, seconds: number, random: Random): number {
  if (backoff.jitter === "none") return seconds;
  if (backoff.jitter === "full") return seconds * random();
  return seconds * (1 + (backoff.jitterRatio ?? 0.5) * random());
}
