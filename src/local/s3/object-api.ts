import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { parseRange } from "./byte-range.ts";
import type { ObjectHeaders, StoredObject } from "./object-rows.ts";
import { exists, type ObjectStore, type Target } from "./object-store.ts";
import { promisedBody, type Received, receiveBody } from "./receive.ts";
import { S3Error } from "./s3-error.ts";
import type { S3Request } from "./s3-request.ts";
import type { Signed } from "./signature.ts";

/** A signed request, and where to answer it. */
export interface Call {
  request: S3Request;
  signed: Signed;
  response: ServerResponse;
  store: ObjectStore;
}

/** Headers that are kept with an object; `x-amz-meta-*` are too. */
const keptHeaders = ["cache-control", "content-disposition", "content-language", "content-type", "expires"];

/** Headers of features that this server does not have. */
const refusedHeaders = ["x-amz-copy-source", "x-amz-tagging", "x-amz-object-lock-mode", "if-modified-since"];

export async function putObject({ request, signed, response, store }: Call): Promise<void> {
  const target = targetOf(request);
  const found = store.rows.object(target.bucket, target.key);
  if (target.onlyIfAbsent && found !== undefined) throw exists();
  const object = await withBody({ request, signed, store }, (file, received) => store.put(target, file, received));
  response.writeHead(200, { etag: `"${object.etag}"`, ...checksumHeaders(object) }).end();
}

/** Receives a body into a new file. The file is deleted unless `use` takes it. */
export async function withBody<T>(
  { request, signed, store }: Pick<Call, "request" | "signed" | "store">,
  use: (file: string, received: Received) => T,
): Promise<T> {
  const promised = promisedBody(request, signed);
  const { name, path } = store.files.newFile();
  try {
    return use(name, await receiveBody(request, promised, path));
  } catch (error) {
    store.files.delete([name]);
    throw error;
  }
}

/** @throws S3Error for headers whose meaning this server does not have */
export function targetOf(request: S3Request): Target {
  const refused = refusedHeaders.find((name) => request.header(name) !== undefined);
  const condition = request.header("if-none-match");
  if (refused !== undefined || request.header("if-match") !== undefined || (condition ?? "*") !== "*") {
    const text = "A header you provided implies functionality that is not implemented";
    throw new S3Error("NotImplemented", text, { Header: refused ?? "If-Match, If-None-Match" });
  }
  const { bucket, key } = request;
  return { bucket, key, headers: headersOf(request), onlyIfAbsent: condition === "*" };
}

function headersOf(request: S3Request): ObjectHeaders {
  const names = Object.keys(request.message.headersDistinct).filter((name) => name.startsWith("x-amz-meta-"));
  const headers: Record<string, string> = { "content-type": "binary/octet-stream" };
  for (const name of [...keptHeaders, ...names]) {
    const value = request.header(name);
    if (value !== undefined && value !== "") headers[name] = value;
  }
  const encodings = (request.header("content-encoding") ?? "").split(",").map((encoding) => encoding.trim());
  const kept = encodings.filter((encoding) => encoding !== "" && encoding !== "aws-chunked");
  if (kept.length > 0) headers["content-encoding"] = kept.join(",");
  return headers;
}

/** Answers GET and HEAD. */
export async function getObject({ request, response, store }: Call): Promise<void> {
  const object = store.rows.object(request.bucket, request.key);
  if (object === undefined) throw new S3Error("NoSuchKey", "The specified key does not exist.", { Key: request.key });
  const etag = `"${object.etag}"`;
  const known = { etag, "last-modified": new Date(object.createdAt).toUTCString() };
  if (!matches(request.header("if-match") ?? "*", etag)) {
    const text = "At least one of the pre-conditions you specified did not hold";
    throw new S3Error("PreconditionFailed", text, { Condition: "If-Match" });
  }
  if (matches(request.header("if-none-match") ?? "", etag)) {
    response.writeHead(304, known).end();
    return;
  }
  const slice = parseRange(request.header("range"), object.sizeBytes);
  const { start, end } = slice ?? { start: 0, end: object.sizeBytes - 1 };
  response.writeHead(slice === undefined ? 200 : 206, {
    ...object.headers,
    ...overrides(request),
    ...known,
    "accept-ranges": "bytes",
    "content-length": end - start + 1,
    ...(slice === undefined
      ? request.header("x-amz-checksum-mode") === "ENABLED" && checksumHeaders(object)
      : { "content-range": `bytes ${start}-${end}/${object.sizeBytes}` }),
  });
  if (request.method === "HEAD") response.end();
  else await pipeline(store.files.read(object.files, start, end), response);
}

const matches = (header: string, etag: string): boolean =>
  header.split(",").some((tag) => ["*", etag, etag.replaceAll('"', "")].includes(tag.trim()));

const overridable = [
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-type",
  "expires",
];

/** Headers that the signed query sets for this answer. */
function overrides(request: S3Request): Record<string, string> {
  const given = overridable.map((name) => [name, request.param(`response-${name}`)] as const);
  const set = given.filter((pair): pair is [string, string] => pair[1] !== undefined);
  for (const [name, value] of set) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a header cannot have these.
    if (!/[\u0000-\u001f\u007f]|[^\u0000-\u00ff]/.test(value)) continue;
    throw new S3Error("InvalidArgument", `Header value cannot be represented using ISO-8859-1: response-${name}`);
  }
  return Object.fromEntries(set);
}

export function checksumHeaders({ checksums, uploadId }: Pick<StoredObject, "checksums" | "uploadId">) {
  const headers = Object.entries(checksums).map(([algorithm, value]) => [`x-amz-checksum-${algorithm}`, value]);
  if (headers.length === 0) return {};
  return {
    ...Object.fromEntries(headers),
    "x-amz-checksum-type": uploadId === undefined ? "FULL_OBJECT" : "COMPOSITE",
  };
}

export async function deleteObject({ request, response, store }: Call): Promise<void> {
  store.delete(request.bucket, request.key);
  response.writeHead(204).end();
}
