import { expect, test } from "vitest";
import { errorHint } from "../../../src/core/control/group-dead-letters.ts";

test.each([
  ["HTTP 401", "HTTP 401 Unauthorized"],
  ["HTTP 403", "HTTP 403"],
  ["AxiosError", "Request failed with status code 403"],
  ["Error", "the ledger answered 401 Unauthorized"],
  ["ExpiredTokenException", "The security token included in the request is expired"],
  ["AccessDeniedException", "User is not authorized to perform ses:SendEmail"],
])("%s with %j is about credentials", (error_type, error) => {
  expect(errorHint({ error_type, error })).toBe("credentials");
});

test.each([
  ["HTTP 404", "HTTP 404"],
  ["RangeError", "order 401 has no lines"],
  ["Error", "expected 403 rows, got 401"],
  ["ValidationError", ""],
])("%s with %j is not", (error_type, error) => {
  expect(errorHint({ error_type, error })).toBeUndefined();
});

test("a task without an error has no hint", () => {
  expect(errorHint({})).toBeUndefined();
});

test.each([
  ["TypeError", "Cannot read properties of undefined (reading 'id')", "bug"],
  ["ReferenceError", "amount is not defined", "bug"],
  ["TypeError", "fetch failed", undefined],
  ["MyTypeError", "no", undefined],
])("%s: %s has the hint %s", (error_type, error, hint) => {
  expect(errorHint({ error_type, error })).toBe(hint);
});
