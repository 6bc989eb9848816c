/** Time between two lines about the same outage, in milliseconds. */
const remindMs = 60_000;

/** Shortest time between the lines of two outages: a nearly full disk takes small writes and refuses large ones. */
const quietMs = 5_000;

/** A file could not be written, mostly because the disk is full. A later try can succeed. */
export class DiskFault extends Error {
  constructor(path: string, cause: unknown) {
    super(`could not write ${path}: ${reasonOf(cause)}`, { cause });
    this.name = "DiskFault";
  }
}

/** Says in one line why writes fail, not once per request, and in one line that they work again. */
export class DiskFaults {
  readonly #print: (line: string) => void;
  readonly #failing = new Set<string>();
  #said = false;
  #saidAt = Number.NEGATIVE_INFINITY;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  /** Call this when a file or folder could not be written. Returns the error to throw. */
  failed(path: string, cause: unknown): DiskFault {
    this.#failing.add(path);
    if (performance.now() - this.#saidAt > (this.#said ? remindMs : quietMs)) {
      this.#said = true;
      this.#saidAt = performance.now();
      const advice = "Requests that change data get 503 until the disk has room again";
      this.#print(`Could not write ${path}: ${reasonOf(cause)}. ${advice}.`);
    }
    return new DiskFault(path, cause);
  }

  /** Call this when a file or folder was written. */
  worked(path: string): void {
    if (!this.#failing.delete(path) || this.#failing.size > 0 || !this.#said) return;
    this.#said = false;
    this.#print(`${path} can be written again.`);
  }
}

/** The innermost cause says what the system refused. */
function reasonOf(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause !== undefined) inner = inner.cause;
  return inner instanceof Error ? inner.message : String(inner);
}
