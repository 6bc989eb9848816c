import { awsThrottles, awsTimeouts } from "../../core/model/aws-errors.ts";
import { AwsError } from "./aws-error.ts";

/** Codes with which AWS asks for a pause. */
const throttles = new Set(awsThrottles);

/** Time-outs of the service and of the transport, and Node's codes for broken connections. */
const transient = new Set([
  ...awsTimeouts,
  ...["ECONNRESET", "ECONNREFUSED", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "EAI_AGAIN"],
]);

/** Random wait before the next attempt, in milliseconds. Its maximum doubles with each attempt. Undefined: do not try again. */
export function pauseAfter(error: unknown, attempt: number): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const throttled = throttles.has(error.name);
  const code = (error as NodeJS.ErrnoException).code ?? "";
  const retryable = throttled || transient.has(error.name) || transient.has(code) || isServerError(error);
  return retryable ? Math.random() * (throttled ? 500 : 100) * 2 ** (attempt - 1) : undefined;
}

const isServerError = (error: Error): boolean => error instanceof AwsError && error.$fault === "server";
