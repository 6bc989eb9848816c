import { createReadStream } from "node:fs";
import { UsageError } from "./terminal.ts";

/** A line that is not blank. */
export interface Line {
  /** Its number in the file, from 1. */
  number: number;
  bytes: Uint8Array;
}

/** Lines end with a line feed only: other separators, such as U+2028, may be inside of JSON texts. */
const lineFeed = 10;

/** Reads the lines that are not blank. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line, void, undefined> {
  let number = 0;
  for await (const bytes of rawLines(chunks)) {
    number += 1;
    if (!isBlank(bytes)) yield { number, bytes };
  }
}

async function* rawLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(lineFeed); end !== -1; end = bytes.indexOf(lineFeed, start)) {
      yield bytes.subarray(start, end);
      start = end + 1;
    }
    rest = bytes.subarray(start);
  }
  if (rest.length > 0) yield rest;
}

/** True when there are only spaces, tabs and carriage returns. */
const isBlank = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 32 || byte === 9 || byte === 13);

/** Returns the number of the last line that is not blank. */
export async function lastLineOf(chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let last = 0;
  for await (const { number } of linesOf(chunks)) last = number;
  return last;
}

/** @throws UsageError while it is read, when the file cannot be read */
export async function* chunksOf(file: string): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* createReadStream(file) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${(error as Error).message}`);
  }
}
