import { Problem } from "../core/problem.ts";
import type { Call } from "./api.ts";

/** Maximum size of a request body. */
export const largestBodyBytes = 1024 * 1024;

/** Maximum nesting depth of a body: deeper nesting could overflow the stack of later code. */
export const deepestBody = 64;

/**
 * Reads the request's body, which must be a JSON object.
 * @throws Problem `unsupported_media_type`, `too_large`, `malformed_request`
 */
export async function jsonBody(call: Call): Promise<Record<string, unknown>> {
  const mediaType = (call.req.header("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (mediaType !== "application/json") {
    throw new Problem("unsupported_media_type", "The body must be JSON: send Content-Type: application/json.");
  }
  return parseObject(await bodyText(call));
}

/** Reads the body like `jsonBody`, but accepts an empty body and any content type. */
export async function optionalJsonBody(call: Call): Promise<Record<string, unknown>> {
  const text = await bodyText(call);
  return text.trim() === "" ? {} : parseObject(text);
}

async function bodyText(call: Call): Promise<string> {
  const declared = Number(call.req.header("content-length") ?? 0);
  const bytes = declared > largestBodyBytes ? undefined : await call.req.arrayBuffer();
  if (bytes === undefined || bytes.byteLength > largestBodyBytes) {
    throw new Problem("too_large", `The request is larger than ${largestBodyBytes} bytes (1 MiB).`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Problem("malformed_request", "The body is not valid UTF-8.");
  }
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Problem("malformed_request", "The body is not valid JSON.", { cause: error });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Problem("malformed_request", "The body must be a JSON object.");
  }
  checkShape(value);
  return value as Record<string, unknown>;
}

/** Refuses bodies that only an attacker sends: very deep nesting, and fields named `__proto__`. */
function checkShape(root: object): void {
  const open: { value: object; depth: number }[] = [{ value: root, depth: 1 }];
  for (let current = open.pop(); current !== undefined; current = open.pop()) {
    if (current.depth > deepestBody) {
      throw new Problem("malformed_request", `The body is nested deeper than ${deepestBody} levels.`);
    }
    if (Object.hasOwn(current.value, "__proto__")) {
      throw new Problem("malformed_request", "The body has a field named __proto__, which is not allowed.");
    }
    for (const value of Object.values(current.value)) {
      if (typeof value === "object" && value !== null) open.push({ value, depth: current.depth + 1 });
    }
  }
}
