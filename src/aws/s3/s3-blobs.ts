import {
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  PutObjectCommand,
} from "#aws-sdk/client-s3";
import { PortUnavailable } from "../../core/model/errors.ts";
import type {
  BlobContent,
  BlobInfo,
  Blobs,
  ByteRange,
  Bytes,
  DownloadGrant,
  PresignedUpload,
  PutOptions,
  PutResult,
  UploadGrant,
} from "../../core/ports/blob.ts";
import { asOneCall } from "../call-times.ts";
import { isNamed, viaPort } from "../errors.ts";
import { named } from "../http-handler.ts";
import { type S3Clients, s3Clients } from "./clients.ts";
import { presignDownload, presignUpload } from "./presign.ts";
import { Measured, readStart, StreamFault, untilAborted, withoutStalls } from "./streams.ts";
import { partBytes, uploadParts } from "./upload-parts.ts";

const port = "the bucket";
const defaultType = "application/octet-stream";

/** Times without a byte after which S3 counts as not answering, in milliseconds. */
interface Stalls {
  /** Ends a try of an upload. Long enough for a slow line to send what the system has already taken. */
  readonly uploadMs: number;
  /** Ends a read. The time that the reader itself takes does not count. */
  readonly readMs: number;
}

const usualStalls: Stalls = { uploadMs: 15_000, readMs: 10_000 };

export const openS3Blobs = (bucket: string, env: NodeJS.ProcessEnv = process.env, stalls = usualStalls): Blobs =>
  new S3Blobs(s3Clients(env, stalls.uploadMs), bucket, stalls.readMs);

/** Objects in an S3 bucket. */
class S3Blobs implements Blobs {
  readonly #clients: S3Clients;
  readonly #bucket: string;
  readonly #stallMs: number;

  constructor(clients: S3Clients, bucket: string, stallMs: number) {
    this.#clients = clients;
    this.#bucket = bucket;
    this.#stallMs = stallMs;
  }

  async put(key: string, body: Uint8Array | Bytes, options: PutOptions = {}): Promise<PutResult> {
    if (body instanceof Uint8Array) return this.#putBytes(key, [body], options);
    const source = untilAborted(body, options.signal);
    try {
      const { pieces, ended } = await readStart(source, partBytes);
      return await (ended ? this.#putBytes(key, pieces, options) : this.#putParts(key, pieces, source, options));
    } catch (error) {
      throw error instanceof StreamFault ? error.cause : error;
    } finally {
      await source.return(undefined);
    }
  }

  async read(key: string, range?: ByteRange): Promise<BlobContent | undefined> {
    const Range = range === undefined ? undefined : `bytes=${range.start}-${range.end ?? ""}`;
    if (range?.end !== undefined && range.end < range.start) return undefined;
    const command = new GetObjectCommand({ ...this.#at(key), Range });
    const found = await absentIf(["NoSuchKey", "InvalidRange"], this.#call(command)).catch(absentIfDenied);
    if (found === undefined) return undefined;
    return {
      sizeBytes: Number(found.ContentRange?.split("/")[1] ?? found.ContentLength),
      contentType: found.ContentType ?? defaultType,
      bytes: bytesOf(found, this.#stallMs),
    };
  }

  async head(key: string): Promise<BlobInfo | undefined> {
    const command = new HeadObjectCommand({ ...this.#at(key), ChecksumMode: "ENABLED" });
    const found = await absentIf(["NotFound", "NoSuchKey"], this.#call(command)).catch(absentIfForbidden);
    if (found === undefined) return undefined;
    const { ContentLength = 0, ContentType = defaultType, ChecksumSHA256: checksum } = found;
    // The checksum of an object of several parts is that of its parts' checksums, and ends with their number.
    const known = checksum !== undefined && !checksum.includes("-");
    const sha256 = known ? { sha256: Buffer.from(checksum, "base64").toString("hex") } : {};
    return { sizeBytes: ContentLength, contentType: ContentType, ...sha256 };
  }

  async delete(key: string): Promise<void> {
    await this.#call(new DeleteObjectCommand(this.#at(key)));
  }

  presignPut(key: string, grant: UploadGrant): Promise<PresignedUpload> {
    return viaPort(port, presignUpload(this.#clients.signing, this.#at(key), grant));
  }

  presignGet(key: string, grant: DownloadGrant): Promise<string> {
    return viaPort(port, presignDownload(this.#clients.signing, this.#at(key), grant));
  }

  #at(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: key };
  }

  /** Sends a request without a large body: it ends within the time of one call. */
  #call: S3Clients["data"]["send"] = (command: never) =>
    viaPort(
      port,
      asOneCall(() => this.#clients.data.send(command)),
    ) as never;

  async #putBytes(key: string, pieces: Uint8Array[], options: PutOptions): Promise<PutResult> {
    options.signal?.throwIfAborted();
    const measured = measuredOf(pieces);
    const sha256 = measured.sha256();
    const command = new PutObjectCommand({
      ...this.#at(key),
      ...requestOf(options),
      Body: Buffer.concat(pieces),
      ChecksumSHA256: sha256.toString("base64"),
    });
    const sent = this.#clients.data.send(command);
    return ifStored(sent, () => ({
      state: "stored",
      sizeBytes: measured.sizeBytes,
      sha256: sha256.toString("hex"),
    }));
  }

  async #putParts(
    key: string,
    start: Uint8Array[],
    rest: AsyncGenerator<Uint8Array>,
    options: PutOptions,
  ): Promise<PutResult> {
    const measured = new Measured();
    const params = { ...this.#at(key), ...requestOf(options) };
    const sent = uploadParts(this.#clients.data, params, measuring(measured, start, rest));
    return ifStored(sent, () => ({
      state: "stored",
      sizeBytes: measured.sizeBytes,
      sha256: measured.sha256().toString("hex"),
    }));
  }
}

const requestOf = ({ contentType = defaultType, onlyIfAbsent = false }: PutOptions) => ({
  ContentType: contentType,
  ...(onlyIfAbsent && { IfNoneMatch: "*" }),
});

function measuredOf(pieces: readonly Uint8Array[]): Measured {
  const measured = new Measured();
  for (const piece of pieces) measured.add(piece);
  return measured;
}

async function* measuring(measured: Measured, start: Uint8Array[], rest: AsyncGenerator<Uint8Array>) {
  for (const piece of start.splice(0)) {
    measured.add(piece);
    yield piece;
  }
  for await (const piece of rest) {
    measured.add(piece);
    yield piece;
  }
}

/** @throws PortUnavailable also when another put of the key runs at the same time: a later try shows its outcome */
async function ifStored(sent: Promise<unknown>, stored: () => PutResult): Promise<PutResult> {
  try {
    await viaPort(port, sent);
    return stored();
  } catch (error) {
    if (isNamed(error, "PreconditionFailed")) return { state: "exists" };
    if (isNamed(error, "ConditionalRequestConflict")) throw new PortUnavailable(port, { cause: error });
    throw error;
  }
}

/** Returns undefined for errors with these names. */
const absentIf = <T>(names: readonly string[], call: Promise<T>): Promise<T | undefined> =>
  call.catch((error: unknown) => {
    if (names.some((name) => isNamed(error, name))) return undefined;
    throw error;
  });

/**
 * Without the permission to list the bucket, S3 denies the read of an object that is not there. A message that names
 * another right, such as that on the bucket's key, tells of a fault: the object may be there.
 */
function absentIfDenied(error: unknown): undefined {
  const { name, message = "" } = error as { name?: string; message?: string };
  if (name !== "AccessDenied" || /\b(?:kms|s3):(?!ListBucket\b)\w/.test(message)) throw error;
}

/** The answer to a HEAD has no body, so its status alone tells of an object that is not there. */
function absentIfForbidden(error: unknown): undefined {
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } };
  if ($metadata?.httpStatusCode !== 403) throw error;
}

/**
 * A connection that breaks, or bytes that do not match their checksum, are the store's fault: a later try can succeed.
 */
async function* bytesOf({ Body }: GetObjectCommandOutput, stallMs: number): Bytes & AsyncGenerator<Uint8Array> {
  const stalled = () => named("TimeoutError", `no bytes came within ${stallMs} ms`);
  const source = withoutStalls(Body as unknown as Bytes, stallMs, stalled);
  try {
    for await (const piece of source) yield piece;
  } catch (cause) {
    throw new PortUnavailable(port, { cause });
  }
}
