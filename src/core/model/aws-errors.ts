/*
 * Errors of AWS by their names, as the clients of AWS classify them: their names say more than their status, which is
 * 400 for most of them. The small clients of Offload (`src/aws/lean/retries.ts`) try again by the same table.
 */

/** The service asks for a pause. */
export const awsThrottles = (
  "BandwidthLimitExceeded EC2ThrottledException KmsThrottled LimitExceededException PriorRequestNotComplete " +
  "ProvisionedThroughputExceededException RequestLimitExceeded RequestThrottled RequestThrottledException SlowDown " +
  "ThrottledException Throttling ThrottlingException TooManyRequestsException TransactionInProgressException"
).split(" ");

/** A limit of the account is reached. The clients do not try again by themselves. */
export const awsLimits = ["OverLimit", "ServiceQuotaExceededException"];

/** Node's codes for connections that broke or did not come about. */
export const brokenConnections =
  "ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN".split(" ");

/** A time-out of the service or of the transport. */
export const awsTimeouts = ["TimeoutError", "RequestTimeout", "RequestTimeoutException"];
