import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { UsageError } from "./terminal.ts";

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
export type Command = Readonly<Record<string, unknown>>;

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
