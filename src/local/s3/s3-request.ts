import type { IncomingMessage } from "node:http";
import { S3Error } from "./s3-error.ts";

/** Longest key in bytes of UTF-8. */
const longestKey = 1024;

/** A request for an object: `/<bucket>/<key>?<query>`. */
export interface S3Request {
  readonly method: string;
  /** As it was sent: the signature is about these bytes. */
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly bucket: string;
  /** Empty: the request is about the bucket. */
  readonly key: string;
  readonly message: IncomingMessage;
  /** First value of a query parameter. Its name is compared exactly. */
  param(name: string): string | undefined;
  /** Value of a header; those of several headers with the name are joined with commas. */
  header(name: string): string | undefined;
}

/**
 * Reads the parts of a request. It does not use `URL`, which would remove `..` from keys.
 * @throws S3Error
 */
export function parseRequest(message: IncomingMessage): S3Request {
  const target = (message.url ?? "/").replace(/^[a-z]+:\/\/[^/?]*/i, "");
  const end = target.indexOf("?");
  const path = end < 0 ? target : target.slice(0, end);
  const query = end < 0 ? [] : parseQuery(target.slice(end + 1));
  const [, bucket = "", key = ""] = /^\/([^/]*)\/?(.*)$/s.exec(decode(path)) ?? [];
  if (Buffer.byteLength(key) > longestKey) {
    const details = { Size: Buffer.byteLength(key), MaxSizeAllowed: longestKey };
    throw new S3Error("KeyTooLongError", "Your key is too long", details);
  }
  return {
    ...{ method: message.method ?? "GET", path, query, bucket, key, message },
    param: (name) => query.find(([given]) => given === name)?.[1],
    header: (name) => message.headersDistinct[name]?.join(","),
  };
}

function parseQuery(text: string): [string, string][] {
  return text
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const [name = "", ...value] = pair.split("=");
      return [decode(name), decode(value.join("="))];
    });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new S3Error("InvalidURI", "Couldn't parse the specified URI.");
  }
}
