import { isUtf8 } from "node:buffer";
import type { ApiResponse } from "./call.ts";
import type { GatewayAnswer, GatewayEvent } from "./event.ts";
import type { Router } from "./router.ts";

type Handler = (event: GatewayEvent, context?: unknown) => Promise<GatewayAnswer>;

/**
 * Returns the Lambda handler of a router. It accepts every event that a gateway can send; each answer is a route's, or
 * a problem.
 */
export const serve =
  (router: Router): Handler =>
  async (event) => {
    const isNamed = event.rawPath.includes("/~") || event.rawPath.includes("/limits/");
    const path = isNamed ? (await import("./named-path.ts")).pathOf(event) : event.rawPath;
    return answerOf(await router.answer(event, path));
  };

const byteOrderMark = "\ufeff";

/**
 * Builds the answer for the gateway. Text that is UTF-8 goes as it is, all other bytes in Base64: what a client reads
 * are the bytes of the response, whatever its media type says. A byte order mark goes in Base64, as decoders remove it.
 */
function answerOf({ status, headers, body }: ApiResponse): GatewayAnswer {
  const text = typeof body === "string" ? body.toWellFormed() : textOf(body ?? new Uint8Array());
  const isText = text !== undefined && !text.startsWith(byteOrderMark);
  return {
    statusCode: status,
    headers: { ...headers },
    body: isText ? text : Buffer.from(body ?? "").toString("base64"),
    isBase64Encoded: !isText,
  };
}

/** Undefined: the bytes are not UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8") : undefined;
}
