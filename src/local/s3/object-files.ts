import { randomUUID } from "node:crypto";
import { createReadStream, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ObjectFile } from "./object-rows.ts";

/** Bytes that are read from a file at a time. */
const readBytes = 256 * 1024;

/**
 * The folder with the bytes of objects and parts. Names are random: no key is part of a path. A file without a row is
 * rubbish of an upload that did not end.
 */
export class ObjectFiles {
  readonly #folder: string;
  readonly #readers = new Map<string, number>();
  /** Files to delete when their last reader has ended. */
  readonly #doomed = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** Deletes all files but those with these names. Only for the start, when no upload is open. */
  keepOnly(names: ReadonlySet<string>): void {
    this.delete(readdirSync(this.#folder).filter((name) => !names.has(name)));
  }

  newFile(): { name: string; path: string } {
    const name = randomUUID();
    return { name, path: join(this.#folder, name) };
  }

  /** Reads bytes of files as if they were one. `end` is included. The files stay until the reader ends. */
  async *read(files: readonly ObjectFile[], start: number, end: number): AsyncGenerator<Buffer> {
    for (const { name } of files) this.#readers.set(name, (this.#readers.get(name) ?? 0) + 1);
    try {
      let offset = 0;
      for (const { name, sizeBytes } of files) {
        const [from, to] = [Math.max(start - offset, 0), Math.min(end - offset, sizeBytes - 1)];
        offset += sizeBytes;
        if (from <= to) {
          yield* createReadStream(join(this.#folder, name), { start: from, end: to, highWaterMark: readBytes });
        }
      }
    } finally {
      for (const { name } of files) this.#release(name);
    }
  }

  delete(names: readonly string[]): void {
    for (const name of names) {
      if (this.#readers.has(name)) this.#doomed.add(name);
      else rmSync(join(this.#folder, name), { force: true });
    }
  }

  #release(name: string): void {
    const others = (this.#readers.get(name) ?? 1) - 1;
    if (others > 0) {
      this.#readers.set(name, others);
      return;
    }
    this.#readers.delete(name);
    if (this.#doomed.delete(name)) this.delete([name]);
  }
}
