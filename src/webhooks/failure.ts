import type { WebhookAnswer } from "../core/ports/notify.ts";
import { AddressRefused } from "./guard.ts";

/** Reasons without an answer, by the codes of Node's errors. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the receiver refused the connection",
  ECONNRESET: "the receiver closed the connection without a complete answer",
  EPIPE: "the receiver closed the connection without a complete answer",
  ETIMEDOUT: "the receiver did not accept the connection in time",
  EHOSTUNREACH: "the receiver cannot be reached",
  ENETUNREACH: "the receiver cannot be reached",
  EADDRNOTAVAIL: "the receiver cannot be reached",
  ENOTFOUND: "the name of the receiver does not exist in DNS",
  ENODATA: "the name of the receiver has no address in DNS",
  EBADNAME: "the name of the receiver is not valid in DNS",
  ESERVFAIL: "the DNS servers of the receiver's name failed",
  EREFUSED: "the DNS servers of the receiver's name failed",
  ETIMEOUT: "the DNS servers of the receiver's name did not answer in time",
  EAI_AGAIN: "the DNS servers of the receiver's name did not answer in time",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the receiver's certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "the receiver's certificate is of an unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "the receiver's certificate is of an unknown authority, or its chain is not complete",
  UNABLE_TO_GET_ISSUER_CERT: "the receiver's certificate is of an unknown authority, or its chain is not complete",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "the receiver's certificate is of an unknown authority, or its chain is not complete",
  CERT_HAS_EXPIRED: "the receiver's certificate has expired",
  CERT_NOT_YET_VALID: "the receiver's certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "the receiver's certificate is for another name",
  HPE_HEADER_OVERFLOW: "the headers of the answer are too large",
};

/** Reasons by the beginning of a code. */
const families: readonly [prefix: string, reason: string][] = [
  ["HPE_", "the answer is not HTTP"],
  ["ERR_SSL_", "the receiver does not speak TLS as expected"],
  ["EPROTO", "the receiver does not speak TLS as expected"],
  ["ERR_TLS_", "the receiver does not speak TLS as expected"],
];

/**
 * Describes in one line why there is no answer. It contains nothing of the URL, the request or the receiver's own
 * texts.
 */
export function failureOf(error: unknown): WebhookAnswer {
  const { code: given, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown };
  const code = typeof given === "string" ? given : "";
  if (error instanceof AddressRefused || code === "ERR_IP_BLOCKED") {
    return { error: "an address of the receiver is not public", refused: true };
  }
  // c-ares also reports a DNS server that refuses connections as ECONNREFUSED.
  if (code === "ECONNREFUSED" && String(syscall).startsWith("query")) return { error: "no DNS server can be reached" };
  const known = reasons[code] ?? families.find(([prefix]) => code.startsWith(prefix))?.[1];
  if (known !== undefined) return { error: known };
  return { error: /^[A-Z][A-Z\d_]{1,40}$/.test(code) ? `the request failed with ${code}` : "the request failed" };
}

/** Describes in one line why a signal ended. */
export function abortOf({ reason }: AbortSignal): WebhookAnswer {
  if (reason instanceof Error && reason.name === "TimeoutError") return { error: "no complete answer came in time" };
  const text = reason instanceof Error ? reason.message : String(reason);
  return { error: text.replaceAll(/[\s\p{Cc}]+/gu, " ").slice(0, 200) };
}
