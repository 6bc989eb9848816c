import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod";
import { DiskFault } from "../disk/disk-faults.ts";

const storedSchema = z.object({
  /** Time by which the server's clock is ahead of the machine's, in milliseconds. */
  ahead_ms: z.number().int().min(0),
  /** ISO time to which it is on its way. Absent: it stands. */
  moving_to: z.iso.datetime().optional(),
});

type Stored = z.infer<typeof storedSchema>;

/**
 * The moved clock of a state folder. The file is written before anybody sees the time: a time that was seen never comes
 * back.
 */
export class ClockFile {
  readonly #path: string | undefined;

  /** @param stateDir Undefined: nothing is kept. */
  constructor(stateDir: string | undefined) {
    this.#path = stateDir === undefined ? undefined : join(resolve(stateDir), "clock.json");
  }

  /** @throws Error with one line for a file that says nothing about a clock */
  read(): Stored {
    if (this.#path === undefined) return { ahead_ms: 0 };
    try {
      return storedSchema.parse(JSON.parse(readFileSync(this.#path, "utf8")));
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return { ahead_ms: 0 };
      const advice = "Put a copy of the file back, or delete the folder to start with nothing.";
      throw new Error(`${this.#path} does not say what the time is. ${advice}`, { cause });
    }
  }

  /** @throws DiskFault */
  write(stored: Stored): void {
    if (this.#path === undefined) return;
    try {
      // A process that dies in between leaves the file as it was.
      writeFileSync(`${this.#path}.new`, JSON.stringify(stored));
      renameSync(`${this.#path}.new`, this.#path);
    } catch (cause) {
      throw new DiskFault(this.#path, cause);
    }
  }
}
