import { awsThrottles, awsTimeouts, brokenConnections } from "../../core/model/aws-errors.ts";
import { AwsError } from "./aws-error.ts";

/** Codes with which AWS asks for a pause. */
const throttles = new Set(awsThrottles);

/** Time-outs of the service and of the transport, and Node's codes for broken connections. */
const transient = new Set([...awsTimeouts, ...brokenConnections]);

/**
 * Wait before the next attempt, in milliseconds: random, with a maximum that doubles with each attempt, and no shorter than what the answer asks for.
 * Undefined: do not try again.
 */
export function pauseAfter(error: unknown, attempt: number): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const throttled = isThrottle(error);
  const retryable = throttled || isTransient(error) || isServerError(error);
  const random = Math.random() * (throttled ? 500 : 100) * 2 ** (attempt - 1);
  const asked = error instanceof AwsError ? (error.retryAfterMs ?? 0) : 0;
  return retryable ? Math.max(random, asked) : undefined;
}

const isThrottle = (error: Error): boolean =>
  throttles.has(error.name) || (error instanceof AwsError && error.$metadata.httpStatusCode === 429);

const isTransient = (error: Error): boolean =>
  transient.has(error.name) || transient.has((error as NodeJS.ErrnoException).code ?? "");

const isServerError = (error: Error): boolean => error instanceof AwsError && error.$fault === "server";

/** Tokens of a client's quota, and what a retry takes, as in the SDK's clients. */
const mostTokens = 500;
const retryTokens = 5;
const timeoutTokens = 10;

/** Bounds the retries of a client while a service is down, so that they do not multiply its load. */
export class RetryQuota {
  #tokens = mostTokens;

  /** Takes the tokens of a retry. Returns how many; undefined: there are too few. */
  take(error: unknown): number | undefined {
    const isTimeout = error instanceof Error && awsTimeouts.includes(error.name);
    const tokens = isTimeout ? timeoutTokens : retryTokens;
    if (tokens > this.#tokens) return undefined;
    this.#tokens -= tokens;
    return tokens;
  }

  /** Gives back the tokens of the retry that succeeded; one for a call that needed none. */
  giveBack(tokens = 1): void {
    this.#tokens = Math.min(mostTokens, this.#tokens + tokens);
  }
}
