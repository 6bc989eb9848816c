import { createHash } from "../../util/node-crypto.ts";
import type { ApiResponse, Call } from "./call.ts";

/** Answers 200 with a body and its strong tag, or 304 when the caller has this body already. */
export function withEtag(
  call: Call,
  body: string | Uint8Array<ArrayBuffer>,
  contentType: string,
  etag = etagOf(body),
): ApiResponse {
  call.header("etag", etag);
  if (matchesEtag(call.req.header("if-none-match"), etag)) return call.body(null, 304);
  call.header("content-type", contentType);
  return call.body(body);
}

/** Strong tag of a body. */
export const etagOf = (body: string | Uint8Array): string =>
  `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"`;

/** True when `If-None-Match` contains the tag. The comparison is weak: `W/` is ignored. */
function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.trim() === "*" || header.split(",").some((one) => one.trim().replace(/^W\//, "") === etag);
}
