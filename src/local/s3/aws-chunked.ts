import { S3Error } from "./s3-error.ts";

/** Longest line of a chunk's head or of a trailer, in bytes. */
const longestLine = 4096;

const lineEnd = Buffer.from("\r\n");

/**
 * Decodes a body in the form `aws-chunked`: each chunk has its size in hexadecimal digits on a line before it, and an
 * empty line's end after it; the last one has size 0, and trailers follow. The trailers, with names in lower case, are
 * added to `trailers`.
 * @throws S3Error
 */
export async function* decodeChunks(
  source: AsyncIterable<Buffer>,
  trailers: Map<string, string>,
): AsyncGenerator<Buffer> {
  const reader = new Reader(source);
  for (;;) {
    const [, digits] = /^([0-9a-f]{1,12})(?:;.*)?$/i.exec(await reader.line()) ?? [];
    if (digits === undefined) throw incomplete();
    const size = Number.parseInt(digits, 16);
    if (size === 0) break;
    yield* reader.bytes(size);
    if ((await reader.line()) !== "") throw incomplete();
  }
  for (let line = await reader.line(); line !== ""; line = await reader.line()) {
    const colon = line.indexOf(":");
    if (colon < 1)
      throw new S3Error("MalformedTrailerError", "The request contained trailing data that was not well-formed.");
    trailers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
}

class Reader {
  readonly #source: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Reads until the end of a line. Returns the line without its end. */
  async line(): Promise<string> {
    let end = this.#rest.indexOf(lineEnd);
    while (end < 0) {
      if (this.#rest.length > longestLine) throw incomplete();
      this.#rest = Buffer.concat([this.#rest, await this.#next()]);
      end = this.#rest.indexOf(lineEnd);
    }
    const line = this.#rest.subarray(0, end).toString("latin1");
    this.#rest = this.#rest.subarray(end + lineEnd.length);
    return line;
  }

  async *bytes(size: number): AsyncGenerator<Buffer> {
    for (let left = size; left > 0; ) {
      if (this.#rest.length === 0) this.#rest = await this.#next();
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  async #next(): Promise<Buffer> {
    const next = await this.#source.next();
    if (next.done) throw incomplete();
    return next.value;
  }
}

const incomplete = () =>
  new S3Error("IncompleteBody", "You did not provide the number of bytes specified by the Content-Length HTTP header.");
