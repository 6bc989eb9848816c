import { createReadStream, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
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

/** The part of a file that has been submitted. */
export interface Progress {
  /** Names the whole file: each line's key follows from it. */
  idempotencyKey: string;
  /** Number of the last line that is done. */
  lines: number;
  /** Number of lines that were submitted: those that are not blank. */
  accepted: number;
  refused: number;
  /** Hash of the lines that are done. */
  hash: string;
}

/** Type and options of the tasks. They stay the same until the file is done. */
type Command = Readonly<Record<string, unknown>>;

/** The file beside a file of inputs that has the progress, so that the same command goes on after an interruption. */
export class Checkpoint {
  readonly path: string;
  readonly #command: Command;

  constructor(inputs: string, command: Command) {
    this.path = `${inputs}.offload`;
    this.#command = JSON.parse(JSON.stringify(command)) as Command;
  }

  /**
   * Returns the progress of an earlier run. Undefined: there is none.
   * @throws UsageError when the earlier run had another type or other options
   */
  load(): Progress | undefined {
    if (!existsSync(this.path)) return undefined;
    const { command, progress } = this.#read();
    if (isDeepStrictEqual(command, this.#command)) return progress;
    throw new UsageError(
      `${this.path} has the progress of a command with another type or other options: ${JSON.stringify(command)}. ` +
        `Repeat that command, or delete ${this.path} to start from the first line`,
    );
  }

  save(progress: Progress): void {
    // A crash within the write leaves the old file.
    const next = `${this.path}.new`;
    writeFileSync(next, `${JSON.stringify({ command: this.#command, progress }, null, 2)}\n`);
    renameSync(next, this.path);
  }

  delete(): void {
    rmSync(this.path, { force: true });
  }

  #read(): { command: Command; progress: Progress } {
    try {
      return JSON.parse(readFileSync(this.path, "utf8"));
    } catch (error) {
      throw new UsageError(`cannot read ${this.path}; delete it to start from the first line`, { cause: error });
    }
  }
}
