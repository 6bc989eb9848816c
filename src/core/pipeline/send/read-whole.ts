import { PermanentError } from "../../model/errors.ts";
import type { Bytes } from "../../ports/blob.ts";

/** Bytes that are in memory as a whole, or that go on. */
export type Read = { whole: Uint8Array } | { rest: Bytes };

/** Reads bytes into memory as long as they are at most `maxBytes`. Otherwise returns all of them as a stream again. */
export async function readUpTo(bytes: Bytes, maxBytes: number): Promise<Read> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const iterator = bytes[Symbol.asyncIterator]();
  for (;;) {
    const next = await iterator.next();
    if (next.done === true) return { whole: Buffer.concat(chunks) };
    chunks.push(next.value);
    size += next.value.byteLength;
    if (size > maxBytes) return { rest: restOf(chunks, iterator) };
  }
}

async function* restOf(chunks: Uint8Array[], iterator: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    while (chunks.length > 0) yield chunks.shift() as Uint8Array;
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}

/**
 * Passes bytes on, up to a limit.
 * @throws PermanentError instead of the piece that exceeds `maxBytes`
 */
export async function* atMost(bytes: Bytes, maxBytes: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of bytes) {
    size += piece.byteLength;
    if (size > maxBytes) throw new PermanentError(`the file has more than ${maxBytes} bytes`);
    yield piece;
  }
}

/** Reads bytes to their end as UTF-8. */
export async function textOf(bytes: Bytes): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
