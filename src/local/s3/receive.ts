import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { decodeChunks } from "./aws-chunked.ts";
import { type ChecksumAlgorithm, type Checksums, checksumAlgorithm, digestOf } from "./checksums.ts";
import { S3Error } from "./s3-error.ts";
import type { S3Request } from "./s3-request.ts";
import type { Signed } from "./signature.ts";

/** Largest object of one PUT, and largest part: 5 GiB. */
const longestBody = 5 * 1024 ** 3;

/** An upload ends when no byte comes for this time, in milliseconds. */
const stallMs = 30_000;

const streaming = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
const checksumPrefix = "x-amz-checksum-";

/** A body that is whole and has the promised length and checksums. */
export interface Received {
  sizeBytes: number;
  md5: Buffer;
  checksums: Checksums;
}

/** The statements of a request about its body. */
interface Promised {
  sizeBytes: number;
  chunked: boolean;
  /** SHA-256 in hexadecimal digits. */
  sha256: string | undefined;
  md5: Buffer | undefined;
  checksums: Checksums;
  /** Algorithm of the checksum after the body. */
  trailer: ChecksumAlgorithm | undefined;
}

/**
 * Checks the headers that describe a body.
 * @throws S3Error
 */
export function promisedBody(request: S3Request, { payload }: Signed): Promised {
  const chunked = payload.startsWith("STREAMING-");
  if (chunked && payload !== streaming) {
    throw new S3Error("NotImplemented", `The local server supports no signed chunks. Send the body as ${streaming}.`);
  }
  const length = request.header(chunked ? "x-amz-decoded-content-length" : "content-length");
  if (length === undefined) {
    throw new S3Error("MissingContentLength", "You must provide the Content-Length HTTP header.");
  }
  const sizeBytes = Number(length);
  if (!/^\d+$/.test(length)) throw new S3Error("InvalidArgument", "The length of the body is not a number.");
  if (sizeBytes > longestBody) {
    const details = { ProposedSize: sizeBytes, MaxSizeAllowed: longestBody };
    throw new S3Error("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size", details);
  }
  const trailer = request.header("x-amz-trailer");
  return {
    sizeBytes,
    chunked,
    sha256: chunked || payload === "UNSIGNED-PAYLOAD" ? undefined : payload,
    md5: promisedMd5(request),
    checksums: promisedChecksums(request),
    trailer: trailer === undefined ? undefined : checksumAlgorithm(trailer.replace(checksumPrefix, "")),
  };
}

function promisedMd5(request: S3Request): Buffer | undefined {
  const header = request.header("content-md5");
  if (header === undefined) return undefined;
  const md5 = Buffer.from(header, "base64");
  if (md5.length !== 16) throw new S3Error("InvalidDigest", "The Content-MD5 you specified is not valid.");
  return md5;
}

/** Headers with this prefix that are not a checksum. */
const notChecksums = ["algorithm", "mode", "type"];

function promisedChecksums({ message, header }: S3Request): Checksums {
  const checksums: Checksums = {};
  for (const name of Object.keys(message.headersDistinct)) {
    const end = name.startsWith(checksumPrefix) ? name.slice(checksumPrefix.length) : "algorithm";
    if (notChecksums.includes(end)) continue;
    const algorithm = checksumAlgorithm(end);
    checksums[algorithm] = validChecksum(algorithm, header(name) ?? "");
  }
  return checksums;
}

function validChecksum(algorithm: ChecksumAlgorithm, text: string): string {
  const bytes = Buffer.from(text, "base64");
  if (bytes.length === digestOf(algorithm).digest().length && bytes.toString("base64") === text) return text;
  throw new S3Error("InvalidRequest", `Value for ${checksumPrefix}${algorithm} header is invalid.`);
}

/**
 * Writes a body to a file, and checks it. On an error the file may exist in part; the caller deletes it.
 * @throws S3Error; the system's error when the client disconnects or the file cannot be written
 */
export async function receiveBody(request: S3Request, promised: Promised, path: string): Promise<Received> {
  const trailers = new Map<string, string>();
  const names = new Set([...Object.keys(promised.checksums), promised.trailer ?? []].flat() as ChecksumAlgorithm[]);
  if (promised.sha256 !== undefined) names.add("sha256");
  const digests = new Map([...names].map((name) => [name, digestOf(name)]));
  const md5 = digestOf("md5");
  let sizeBytes = 0;
  async function* measured(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of promised.chunked ? decodeChunks(source, trailers) : source) {
      sizeBytes += piece.length;
      if (sizeBytes > promised.sizeBytes) throw incomplete();
      md5.update(piece);
      for (const digest of digests.values()) digest.update(piece);
      yield piece;
    }
  }
  const { message } = request;
  message.setTimeout(stallMs, () => message.destroy());
  // The message is not a stream of the pipeline, which would close the connection after an error, before the answer.
  const source = message.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  await writeFile(path, () => measured(source));
  message.setTimeout(0);
  if (sizeBytes !== promised.sizeBytes) throw incomplete();
  const computed: Checksums = {};
  for (const [name, digest] of digests) computed[name] = digest.digest().toString("base64");
  const received = { sizeBytes, md5: md5.digest(), checksums: computed };
  checkBody(received, promised, trailers);
  if (promised.sha256 !== undefined && promised.checksums.sha256 === undefined && promised.trailer !== "sha256") {
    delete received.checksums.sha256;
  }
  return received;
}

/** After an error, returns only when the file is closed: it could still be created after the caller has deleted it. */
async function writeFile(path: string, source: () => AsyncIterable<Buffer>): Promise<void> {
  const file = createWriteStream(path, { flags: "wx", mode: 0o600 });
  const closed = new Promise<void>((resolve) => file.once("close", resolve));
  try {
    await pipeline(source, file);
  } catch (error) {
    file.destroy();
    await closed;
    throw error;
  }
}

function checkBody({ md5, checksums }: Received, promised: Promised, trailers: ReadonlyMap<string, string>): void {
  if (promised.sha256 !== undefined && promised.sha256 !== hexOf(checksums.sha256)) {
    const text = "The provided 'x-amz-content-sha256' header does not match what was computed.";
    throw new S3Error("XAmzContentSHA256Mismatch", text);
  }
  if (promised.md5 !== undefined && !promised.md5.equals(md5)) {
    throw new S3Error("BadDigest", "The Content-MD5 you specified did not match what we received.");
  }
  const expected = { ...promised.checksums };
  if (promised.trailer !== undefined) {
    const value = trailers.get(`${checksumPrefix}${promised.trailer}`);
    if (value === undefined) {
      throw new S3Error("MalformedTrailerError", "The request contained trailing data that was not well-formed.");
    }
    expected[promised.trailer] = validChecksum(promised.trailer, value);
  }
  for (const [algorithm, value] of Object.entries(expected) as [ChecksumAlgorithm, string][]) {
    if (checksums[algorithm] === value) continue;
    const text = `The ${algorithm.toUpperCase()} you specified did not match the calculated checksum.`;
    throw new S3Error("BadDigest", text);
  }
}

const hexOf = (base64 = ""): string => Buffer.from(base64, "base64").toString("hex");

const incomplete = () =>
  new S3Error("IncompleteBody", "You did not provide the number of bytes specified by the Content-Length HTTP header.");
