import { type Problem, type ProblemCode, problemCodes } from "../core/model/problem.ts";

/** Returns the `application/problem+json` response (RFC 9457) for a problem. */
export function problemResponse(problem: Problem, correlationId: string): Response {
  const { code, options } = problem;
  const body = problemBody(problem, correlationId);
  return new Response(JSON.stringify(body), { status: body.status, headers: headersOf(code, options) });
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

function headersOf(code: ProblemCode, options: Problem["options"]): Headers {
  const headers = new Headers({ "content-type": "application/problem+json", "cache-control": "no-store" });
  if (code === "unauthenticated") headers.set("www-authenticate", "Bearer");
  if (options.allow !== undefined) headers.set("allow", options.allow.join(", "));
  if (options.retryAfterSeconds !== undefined) headers.set("retry-after", String(options.retryAfterSeconds));
  return headers;
}
