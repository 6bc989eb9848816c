import { awsThrottles, awsTimeouts, brokenConnections } from "../../core/model/aws-errors.ts";
import type { AwsError } from "./aws-error.ts";

/** Codes with which AWS asks for a pause. */
const throttles = new Set(awsThrottles);

/** Time-outs of the service and of the transport, and Node's codes for broken connections. */
const transient = new Set([...awsTimeouts, ...brokenConnections]);

/**
 * Wait before the next attempt, in milliseconds: random, with a maximum that doubles with each attempt, and no shorter
 * than what the answer asks for. Undefined: do not try again.
 */
export function pauseAfter(error: unknown, attempt: number): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const { $metadata, $fault, retryAfterMs = 0 } = error as Partial<AwsError>;
  const throttled = throttles.has(error.name) || $metadata?.httpStatusCode === 429;
  const code = (error as NodeJS.ErrnoException).code ?? "";
  const retryable = throttled || transient.has(error.name) || transient.has(code) || $fault === "server";
  return retryable ? Math.max(Math.random() * (throttled ? 500 : 100) * 2 ** (attempt - 1), retryAfterMs) : undefined;
}

/** Tokens that a retry takes from its client's quota, as in the SDK's clients. */
export const tokensOf = (error: unknown): number =>
  error instanceof Error && awsTimeouts.includes(error.name) ? 10 : 5;
