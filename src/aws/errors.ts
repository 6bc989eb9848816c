import { PortUnavailable } from "../core/errors.ts";

/** Names of AWS errors that mean "not now": throttling, and the service's own faults that carry no better mark. */
const passing = new Set([
  "ProvisionedThroughputExceededException",
  "ThrottlingException",
  "Throttling",
  "RequestLimitExceeded",
  "TooManyRequestsException",
  "RequestThrottled",
  "OverLimit",
  "InternalServerError",
  "InternalServerException",
  "ServiceUnavailable",
  "ServiceQuotaExceededException",
  "TimeoutError",
  "AbortError",
  "KmsThrottled",
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
]);

/** Whether an AWS error has this name. */
export const isNamed = (error: unknown, name: string): error is Error => error instanceof Error && error.name === name;

/**
 * Makes a call of an AWS service speak the core's words: what will pass becomes `PortUnavailable` with the cause, anything
 * else, which is a mistake of ours, goes through as it is.
 */
export async function viaPort<T>(port: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw isPassing(error) ? new PortUnavailable(port, { cause: error }) : error;
  }
}

/**
 * Sends a conditional write, as `viaPort` does. Returns undefined when the condition did not hold.
 * @throws PortUnavailable, and any other error of the call
 */
export const ifConditionHolds = <T>(port: string, write: Promise<T>): Promise<T | undefined> =>
  viaPort(port, write).catch((error: unknown) => {
    if (!isNamed(error, "ConditionalCheckFailedException")) throw error;
    return undefined;
  });

function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, $fault, $retryable } = error as Error & { code?: string; $fault?: string; $retryable?: unknown };
  return (
    passing.has(error.name) ||
    (code !== undefined && passing.has(code)) ||
    $fault === "server" ||
    $retryable !== undefined
  );
}
