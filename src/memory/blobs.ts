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
} from "../core/ports/blob.ts";
import type { Clock } from "../core/ports/tasks.ts";
import { contentDisposition } from "../util/content-disposition.ts";
import { sha256Of } from "../util/sha256.ts";

interface Stored {
  bytes: Uint8Array<ArrayBuffer>;
  contentType: string;
  sha256: string;
}

type Grant = { key: string } & (
  | { headers: Record<string, string>; sha256: string | undefined }
  | { grant: DownloadGrant }
);

/** A request of a client to a presigned URL. */
export interface BlobRequest {
  method: "GET" | "PUT";
  url: string;
  headers?: Record<string, string>;
  body?: Uint8Array;
}

export interface BlobAnswer {
  status: number;
  headers: Record<string, string>;
  body: Uint8Array;
}

/** Objects in memory. Presigned URLs have no server: `request` plays the client and S3. */
export class MemoryBlobs implements Blobs {
  readonly #clock: Clock;
  readonly #objects = new Map<string, Stored>();
  readonly #grants = new Map<string, Grant & { untilMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The bytes of an object, for tests that look from outside. */
  peek(key: string): Uint8Array | undefined {
    return this.#objects.get(key)?.bytes;
  }

  async put(key: string, body: Uint8Array | Bytes, options: PutOptions = {}): Promise<PutResult> {
    const { contentType = "application/octet-stream", onlyIfAbsent = false, signal } = options;
    const bytes = body instanceof Uint8Array ? joined([body]) : joined(await piecesOf(body, signal));
    signal?.throwIfAborted();
    const sha256 = sha256Of(bytes);
    if (onlyIfAbsent && this.#objects.has(key)) return { state: "exists" };
    this.#objects.set(key, { bytes, contentType, sha256 });
    return { state: "stored", sizeBytes: bytes.byteLength, sha256 };
  }

  async read(key: string, range?: ByteRange): Promise<BlobContent | undefined> {
    const found = this.#objects.get(key);
    if (found === undefined) return undefined;
    const { bytes, contentType } = found;
    const { start = 0, end } = range ?? {};
    const part = bytes.subarray(start, end === undefined ? undefined : end + 1);
    if (range !== undefined && part.byteLength === 0) return undefined;
    return { sizeBytes: bytes.byteLength, contentType, bytes: piecesFrom(part) };
  }

  async head(key: string): Promise<BlobInfo | undefined> {
    const found = this.#objects.get(key);
    return found && { sizeBytes: found.bytes.byteLength, contentType: found.contentType, sha256: found.sha256 };
  }

  async delete(key: string): Promise<void> {
    this.#objects.delete(key);
  }

  async presignPut(key: string, grant: UploadGrant): Promise<PresignedUpload> {
    const headers: Record<string, string> = {
      "content-length": String(grant.sizeBytes),
      "content-type": grant.contentType,
      "if-none-match": "*",
      ...(grant.sha256 !== undefined && { "x-amz-checksum-sha256": base64Of(grant.sha256) }),
    };
    const url = this.#sign(grant.expiresSeconds, { key, headers, sha256: grant.sha256 });
    return { method: "PUT", url, headers: { ...headers } };
  }

  async presignGet(key: string, grant: DownloadGrant): Promise<string> {
    return this.#sign(grant.expiresSeconds, { key, grant });
  }

  /** Keys of all objects, in the order in which they were first stored. */
  keys(): string[] {
    return [...this.#objects.keys()];
  }

  /** Answers a request to a presigned URL as S3 does, with the same statuses and without the texts of errors. */
  async request({ method, url, headers = {}, body = new Uint8Array() }: BlobRequest): Promise<BlobAnswer> {
    const grant = this.#grants.get(url);
    if (grant === undefined || "headers" in grant !== (method === "PUT")) return answer(403);
    if (this.#clock.now() > grant.untilMs) return answer(403);
    return "headers" in grant ? this.#upload(grant, headers, body) : this.#download(grant.key, grant.grant);
  }

  async #upload(
    { key, headers: expected, sha256 }: Grant & { headers: Record<string, string>; sha256: string | undefined },
    headers: Record<string, string>,
    body: Uint8Array,
  ): Promise<BlobAnswer> {
    const sent: Record<string, string> = { "content-length": String(body.byteLength) };
    for (const [name, value] of Object.entries(headers)) sent[name.toLowerCase()] = value;
    if (Object.entries(expected).some(([name, value]) => sent[name] !== value)) return answer(403);
    const bytes = joined([body]);
    if (String(bytes.byteLength) !== expected["content-length"]) return answer(400);
    if (sha256 !== undefined && sha256Of(bytes) !== sha256) return answer(400);
    const result = await this.put(key, bytes, { contentType: expected["content-type"], onlyIfAbsent: true });
    return answer(result.state === "stored" ? 200 : 412);
  }

  #download(key: string, { contentType, fileName, inline }: DownloadGrant): BlobAnswer {
    const found = this.#objects.get(key);
    if (found === undefined) return answer(404);
    const headers: Record<string, string> = {
      "content-length": String(found.bytes.byteLength),
      "content-type": contentType ?? found.contentType,
    };
    if (fileName !== undefined) {
      headers["content-disposition"] = contentDisposition(fileName, inline ? "inline" : "attachment");
    }
    return { status: 200, headers, body: found.bytes };
  }

  #sign(expiresSeconds: number, grant: Grant): string {
    const url = `memory:${this.#grants.size}`;
    this.#grants.set(url, { ...grant, untilMs: this.#clock.now() + expiresSeconds * 1000 });
    return url;
  }
}

const answer = (status: number): BlobAnswer => ({ status, headers: {}, body: new Uint8Array() });

async function piecesOf(body: Bytes, signal: AbortSignal | undefined): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  const aborted = new Promise<never>((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  aborted.catch(() => {});
  const source = body[Symbol.asyncIterator]();
  for (;;) {
    signal?.throwIfAborted();
    const next = await Promise.race([source.next(), aborted]);
    if (next.done) return pieces;
    pieces.push(next.value);
  }
}

async function* piecesFrom(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const pieceBytes = 65_536;
  for (let start = 0; start < bytes.byteLength; start += pieceBytes) yield bytes.slice(start, start + pieceBytes);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.byteLength;
  }
  return bytes;
}

const base64Of = (hex: string): string =>
  btoa(String.fromCharCode(...Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))));
