import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";

/** The lines that are appended to a file from now on, also while it is put aside and begun anew. */
export class LogTail {
  readonly #path: string;
  #file: number | undefined;
  #position = 0;
  #rest = "";

  constructor(path: string) {
    this.#path = path;
    this.#file = open(path);
    if (this.#file !== undefined) this.#position = fstatSync(this.#file).size;
  }

  /** The lines since the last call. Lines of which a writer has not written the end come later. */
  read(): string[] {
    let text = this.#rest + this.#readFile();
    if (this.#isPutAside()) {
      this.close();
      this.#file = open(this.#path);
      this.#position = 0;
      text += this.#readFile();
    }
    const lines = text.split("\n");
    this.#rest = lines.pop() ?? "";
    return lines;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #readFile(): string {
    if (this.#file === undefined) return "";
    const bytes = Buffer.alloc(Math.max(0, fstatSync(this.#file).size - this.#position));
    const read = readSync(this.#file, bytes, 0, bytes.length, this.#position);
    this.#position += read;
    return bytes.toString("utf8", 0, read);
  }

  #isPutAside(): boolean {
    const present = statSync(this.#path, { throwIfNoEntry: false });
    return present !== undefined && (this.#file === undefined || present.ino !== fstatSync(this.#file).ino);
  }
}

function open(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
