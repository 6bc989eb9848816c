import type { KeyObject } from "node:crypto";
import { createHmac, createSecretKey, hash } from "../../util/node-crypto.ts";
import { percentEncode } from "../http-handler.ts";
import type { Credentials } from "./environment.ts";

/** A request to sign. Names of headers are in lower case; each header that it has is signed. */
export interface Signable {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly headers: Record<string, string>;
  readonly body?: string | Uint8Array | undefined;
}

/** A signing key. It is derived once a day, by four hashes. */
interface DayKey {
  readonly day: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Such as `20270101/eu-west-1/dynamodb/aws4_request`. */
  readonly scope: string;
  readonly key: KeyObject;
}

const algorithm = "AWS4-HMAC-SHA256";

/** AWS's Signature Version 4 for the requests of one service in one Region. */
export class Signer {
  readonly #service: string;
  readonly #region: string;
  #dayKey: DayKey | undefined;
  #second = Number.NaN;
  #time = "";

  /** @param service The name in signatures. Paths of `s3` are signed as they are sent, others encoded once more. */
  constructor(service: string, region: string) {
    this.#service = service;
    this.#region = region;
  }

  /** Adds the headers of the signature to those of the request. */
  sign(request: Signable, credentials: Credentials, nowMs: number): void {
    const { headers } = request;
    const time = this.#timeOf(nowMs);
    const { scope, key } = this.#keyOf(time.slice(0, 8), credentials);
    headers["x-amz-date"] = time;
    if (credentials.sessionToken !== undefined) headers["x-amz-security-token"] = credentials.sessionToken;
    const names = Object.keys(headers).sort();
    const signature = this.#signature(request, names, request.query, { time, scope, key });
    headers.authorization = `${algorithm} Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`;
  }

  /**
   * The parameters of a URL that does the request without further credentials. Its body is not signed.
   * @param expiresIn Seconds until the URL ends.
   */
  presign(request: Signable, credentials: Credentials, nowMs: number, expiresIn: number): Record<string, string> {
    const time = this.#timeOf(nowMs);
    const { scope, key } = this.#keyOf(time.slice(0, 8), credentials);
    const names = Object.keys(request.headers).sort();
    const query: Record<string, string> = {
      ...request.query,
      ...(credentials.sessionToken !== undefined && { "X-Amz-Security-Token": credentials.sessionToken }),
      "X-Amz-Algorithm": algorithm,
      "X-Amz-Credential": `${credentials.accessKeyId}/${scope}`,
      "X-Amz-Date": time,
      "X-Amz-Expires": String(expiresIn),
      "X-Amz-SignedHeaders": names.join(";"),
    };
    const signature = this.#signature(request, names, query, { time, scope, key, payload: "UNSIGNED-PAYLOAD" });
    return { ...query, "X-Amz-Signature": signature };
  }

  #signature(
    { method, path, headers, body = "" }: Signable,
    names: readonly string[],
    query: Signable["query"],
    { time, scope, key, payload }: { time: string; scope: string; key: KeyObject; payload?: string },
  ): string {
    let lines = "";
    for (const name of names) lines += `${name}:${headers[name]?.trim().replace(/\s+/g, " ")}\n`;
    const target = this.#service === "s3" ? path : encodedPath(path);
    const bodyHash = payload ?? headers["x-amz-content-sha256"] ?? hash("sha256", body);
    const canonical = `${method}\n${target}\n${canonicalQuery(query)}\n${lines}\n${names.join(";")}\n${bodyHash}`;
    const text = `${algorithm}\n${time}\n${scope}\n${hash("sha256", canonical)}`;
    return createHmac("sha256", key).update(text).digest("hex");
  }

  /** Such as `20270101T100214Z`. It is made once a second. */
  #timeOf(nowMs: number): string {
    const second = Math.floor(nowMs / 1000);
    if (second === this.#second) return this.#time;
    this.#second = second;
    this.#time = `${new Date(second * 1000).toISOString().slice(0, 19).replace(/[:-]/g, "")}Z`;
    return this.#time;
  }

  #keyOf(day: string, { accessKeyId, secretAccessKey }: Credentials): DayKey {
    const kept = this.#dayKey;
    const isSame = kept?.accessKeyId === accessKeyId && kept.secretAccessKey === secretAccessKey;
    if (isSame && kept.day === day) return kept;
    const parts = [day, this.#region, this.#service, "aws4_request"];
    const mac = (key: string | Buffer, data: string) => createHmac("sha256", key).update(data).digest();
    const secret = parts.reduce<string | Buffer>(mac, `AWS4${secretAccessKey}`) as Buffer;
    this.#dayKey = { day, accessKeyId, secretAccessKey, scope: parts.join("/"), key: createSecretKey(secret) };
    return this.#dayKey;
  }
}

/** A path without `.`, `..` and empty parts, each part encoded once more. */
function encodedPath(path: string): string {
  if (path === "/") return path;
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(percentEncode(part));
  }
  const end = parts.length > 0 && path.endsWith("/") ? "/" : "";
  return `/${parts.join("/")}${end}`;
}

function canonicalQuery(query: Signable["query"]): string {
  if (query === undefined) return "";
  const encoded = Object.entries(query).map(([name, value]) => [percentEncode(name), percentEncode(value)] as const);
  return encoded
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}
