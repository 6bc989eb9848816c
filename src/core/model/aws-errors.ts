import type { ErrorKind } from "./errors.ts";

/*
 * Errors of AWS by their names, as the clients of AWS classify them: their names say more than their status, which is 400 for most of them. The
 * small clients of Offload (`src/aws/lean/retries.ts`) try again by the same table.
 */

const named = <Kind extends ErrorKind>(kind: Kind, names: readonly string[]): Record<string, Kind> =>
  Object.fromEntries(names.map((name) => [name, kind]));

/** The service asks for a pause. */
export const awsThrottles: readonly string[] = [
  ...["BandwidthLimitExceeded", "EC2ThrottledException", "KmsThrottled", "LimitExceededException"],
  ...["PriorRequestNotComplete", "ProvisionedThroughputExceededException", "RequestLimitExceeded", "RequestThrottled"],
  ...["RequestThrottledException", "SlowDown", "ThrottledException", "Throttling"],
  ...["ThrottlingException", "TooManyRequestsException", "TransactionInProgressException"],
];

/** A limit of the account is reached. The clients do not try again by themselves. */
export const awsLimits: readonly string[] = ["OverLimit", "ServiceQuotaExceededException"];

/** A time-out of the service or of the transport. */
export const awsTimeouts: readonly string[] = ["TimeoutError", "RequestTimeout", "RequestTimeoutException"];

/** Credentials that have ended, a clock that is wrong, rights that are not there yet: the next attempt has others. */
export const awsCredentialErrors: readonly string[] = [
  ...["ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken", "UnrecognizedClientException"],
  ...["InvalidClientTokenId", "MissingAuthenticationToken", "MissingAuthenticationTokenException", "AuthFailure"],
  ...["InvalidSignatureException", "SignatureDoesNotMatch", "IncompleteSignature", "IncompleteSignatureException"],
  ...["RequestExpired", "RequestInTheFuture", "RequestTimeTooSkewed", "CredentialsProviderError"],
  ...["AccessDenied", "AccessDeniedException", "NotAuthorized", "UnauthorizedException"],
];

/** Failure classes by the names of AWS's errors. */
export const awsKinds: Readonly<Record<string, ErrorKind>> = {
  ...named("rate_limited", [...awsThrottles, ...awsLimits]),
  ...named("transient", [...awsTimeouts, ...awsCredentialErrors]),
  ...named("transient", ["InternalServerError", "InternalServerException", "InternalError", "InternalFailure"]),
  ...named("conflict", ["ConditionalCheckFailedException", "TransactionConflictException"]),
  ...named("conflict", ["TransactionCanceledException", "ReplicatedWriteConflictException", "ResourceInUseException"]),
  ...named("conflict", ["ConditionalRequestConflict", "OperationAborted"]),
  ...named("unavailable", ["ServiceUnavailable", "ServiceUnavailableException"]),
  ...named("not_found", ["ResourceNotFoundException", "NoSuchKey", "NotFound"]),
  ...named("validation", ["ValidationException", "ValidationError"]),
};
