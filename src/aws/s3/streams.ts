import type { Bytes } from "../../core/ports/blob.ts";
import { createHash } from "../../util/node-crypto.ts";

/** Counts and hashes the bytes of a stream while they pass. */
export class Measured {
  readonly #hash = createHash("sha256");
  sizeBytes = 0;

  add(piece: Uint8Array): void {
    this.sizeBytes += piece.byteLength;
    this.#hash.update(piece);
  }

  /** Call this once, after the last piece. */
  sha256(): Buffer {
    return this.#hash.digest();
  }
}

/**
 * A caller's stream failed, or its signal was aborted. The cause is its error: it can be any value, also one like an
 * error of S3.
 */
export class StreamFault extends Error {
  constructor(cause: unknown) {
    super("the stream of a put failed", { cause });
    this.name = "StreamFault";
  }
}

/** Reads pieces until they have more than `bytes` bytes together, or the stream ends. */
export async function readStart(source: AsyncIterator<Uint8Array>, bytes: number) {
  const pieces: Uint8Array[] = [];
  let length = 0;
  while (length <= bytes) {
    const next = await source.next();
    if (next.done) return { pieces, ended: true };
    pieces.push(next.value);
    length += next.value.byteLength;
  }
  return { pieces, ended: false };
}

/**
 * Reads a stream. Ends as soon as the signal is aborted, also while the stream has nothing to give.
 * @throws StreamFault
 */
export async function* untilAborted(body: Bytes, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  const source = body[Symbol.asyncIterator]();
  let ended = false;
  try {
    for (;;) {
      const next = await nextOrAbort(source, signal);
      if (next.done) {
        ended = true;
        return;
      }
      yield next.value;
    }
  } catch (error) {
    throw new StreamFault(error);
  } finally {
    // Not awaited: a stream that is stuck would never answer.
    if (!ended) void Promise.resolve(source.return?.()).catch(() => {});
  }
}

/** A race with one promise for all pieces would keep each piece in memory until that promise ends. */
async function nextOrAbort(
  source: AsyncIterator<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<IteratorResult<Uint8Array>> {
  signal?.throwIfAborted();
  let onAbort = () => {};
  try {
    return await new Promise((resolve, reject) => {
      onAbort = () => reject(signal?.reason);
      signal?.addEventListener("abort", onAbort);
      source.next().then(resolve, reject);
    });
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

/** Reads a stream, and throws the given error when the next piece takes longer than `ms` milliseconds. */
export async function* withoutStalls(body: Bytes, ms: number, stalled: () => Error): AsyncGenerator<Uint8Array> {
  const source = body[Symbol.asyncIterator]();
  let ended = false;
  try {
    for (;;) {
      const next = await inTime(source.next(), ms, stalled);
      if (next.done) {
        ended = true;
        return;
      }
      yield next.value;
    }
  } finally {
    if (!ended) void Promise.resolve(source.return?.()).catch(() => {});
  }
}

async function inTime<T>(work: Promise<T>, ms: number, stalled: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(stalled()), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
