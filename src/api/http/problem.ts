import { type Problem, type ProblemCode, problemCodes } from "../../core/model/problem.ts";
import type { ApiResponse } from "./call.ts";

/** Returns the `application/problem+json` response (RFC 9457) for a problem. */
export function problemResponse(problem: Problem, correlationId: string): ApiResponse & { body: string } {
  const { code, options } = problem;
  const body = problemBody(problem, correlationId);
  return { body: JSON.stringify(body), status: body.status, headers: headersOf(code, options) };
}

/** Returns the problem document (RFC 9457). */
export function problemBody({ code, detail, options }: Problem, correlationId: string) {
  const { status, title } = problemCodes[code];
  return {
    type: `urn:offload:error:${code}`,
    code,
    title,
    status,
    detail,
    ...(options.errors === undefined ? {} : { errors: options.errors }),
    ...options.extra,
    correlation_id: correlationId,
  };
}

const headersOf = (code: ProblemCode, { allow, retryAfterSeconds }: Problem["options"]): Record<string, string> => ({
  "content-type": "application/problem+json",
  "cache-control": "no-store",
  ...(code === "unauthenticated" && { "www-authenticate": "Bearer" }),
  ...(allow !== undefined && { allow: allow.join(", ") }),
  ...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),
});
