import { awsLimits, awsThrottles, awsTimeouts, brokenConnections } from "../core/model/aws-errors.ts";
import { PortUnavailable } from "../core/model/errors.ts";

/**
 * Names of errors of AWS calls after which a later try can succeed: throttling, faults of the service, broken
 * connections.
 */
const passing = new Set([
  ...awsThrottles,
  ...awsLimits,
  ...awsTimeouts,
  ...["ExpiredToken", "ExpiredTokenException"],
  "InternalServerError",
  "InternalServerException",
  "ServiceUnavailable",
  "OutOfTime",
  "AnswerTooLarge",
  // The answer was cut, or came from a proxy: it is not JSON.
  "SyntaxError",
  ...brokenConnections,
]);

/** True when a later try can succeed after an error with this name. */
export const isPassingName = (name: string): boolean => passing.has(name);

/** True when an AWS error has this name. */
export const isNamed = (error: unknown, name: string): error is Error => error instanceof Error && error.name === name;

/**
 * Converts the errors of an AWS call for the core. An error after which a later try can succeed becomes
 * `PortUnavailable` with the cause. Any other error is a mistake in the code or the deployment, and stays unchanged.
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
  const { code, $fault, $retryable, $metadata } = error as AwsFields;
  return (
    passing.has(error.name) ||
    (code !== undefined && passing.has(code)) ||
    $fault === "server" ||
    $retryable !== undefined ||
    // A refusal of a gateway or proxy before the service, which has no name.
    $metadata?.httpStatusCode === 429
  );
}

/** Fields of an error of AWS's clients. */
type AwsFields = Error & {
  code?: string;
  $fault?: string;
  $retryable?: unknown;
  $metadata?: { httpStatusCode?: number };
};
