import { awsThrottles } from "./aws-errors.ts";
import { PortUnavailable } from "./errors.ts";

/** True when a service refused a call because there were too many. An earlier try of it may have had its effect. */
export const isThrottled = (error: unknown): boolean =>
  error instanceof PortUnavailable && error.cause instanceof Error && awsThrottles.includes(error.cause.name);
