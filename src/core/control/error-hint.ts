import type { TaskRecord } from "../model/record.ts";
import type { ErrorHint } from "../model/words.ts";

/** Codes of AWS for credentials that have ended, are wrong, or lack a right. */
const awsCodes =
  /^(ExpiredToken|TokenRefreshRequired|InvalidToken|UnrecognizedClient|InvalidClientTokenId|MissingAuthenticationToken|AuthFailure|InvalidSignature|SignatureDoesNotMatch|IncompleteSignature|CredentialsProviderError|AccessDenied)/;

/** Errors of code that is wrong. */
const bugs = /^(TypeError|ReferenceError)$/;

/** `fetch` throws a TypeError for connections that fail. */
const ofFetch = /^(fetch failed|terminated|network error|failed to fetch)/i;

/** Words of HTTP clients for a 401 or 403: `HTTP 401`, `status code 403`, `403 Forbidden`. */
const httpStatuses = /\b(?:http|status(?: code)?:?) 40[13]\b|\b401 unauthori[sz]ed\b|\b403 forbidden\b/i;

/**
 * Where the cause of an error is to be looked for, if its class or text tells. `credentials`: another service answered
 * with 401 or 403. `bug`: the code is wrong, although the kind is `transient`, as of any error that no rule names.
 * Pure.
 */
export function errorHint({
  error_type = "",
  error = "",
}: Pick<TaskRecord, "error_type" | "error">): ErrorHint | undefined {
  if (bugs.test(error_type) && !ofFetch.test(error)) return "bug";
  return awsCodes.test(error_type) || httpStatuses.test(error_type) || httpStatuses.test(error.slice(0, 1_000))
    ? "credentials"
    : undefined;
}
