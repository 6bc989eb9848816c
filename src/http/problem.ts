import { type Problem, type ProblemCode, problemCodes } from "../core/problem.ts";

/** Returns the `application/problem+json` response (RFC 9457) for a problem. */
export function problemResponse(problem: Problem, correlationId: string): Response {
  const { code, detail, options } = problem;
  const { status, title } = problemCodes[code];
  const body = {
    type: `urn:offload:error:${code}`,
    code,
    title,
    status,
    detail,
    ...(options.errors === undefined ? {} : { errors: options.errors }),
    ...options.extra,
    correlation_id: correlationId,
  };
  return new Response(JSON.stringify(body), { status, headers: headersOf(code, options) });
}

function headersOf(code: ProblemCode, options: Problem["options"]): Headers {
  const headers = new Headers({ "content-type": "application/problem+json", "cache-control": "no-store" });
  if (code === "unauthenticated") headers.set("www-authenticate", "Bearer");
  if (options.allow !== undefined) headers.set("allow", options.allow.join(", "));
  if (options.retryAfterSeconds !== undefined) headers.set("retry-after", String(options.retryAfterSeconds));
  return headers;
}
