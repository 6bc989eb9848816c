/** Lines of which one thing is known at most. */
const mostLines = 1_000;

/** The lines as a process saw them in its earlier calls. Others may have changed them since. */
export class KnownLines {
  readonly #spread = new Set<string>();
  readonly #sharded = new Set<string>();
  readonly #joined = new Set<string>();
  readonly #nextStarts = new Map<string, number>();

  /** True for a line whose places are spread over buckets. */
  isSpread(line: string): boolean {
    return this.#spread.has(line);
  }

  noteSpread(line: string): void {
    if (this.#spread.size >= mostLines) this.#spread.clear();
    this.#spread.add(line);
  }

  /** True for a line whose state had the mark of tasks in shards above 0. */
  isSharded(line: string): boolean {
    return this.#sharded.has(line);
  }

  noteSharded(line: string, isSharded: boolean): void {
    if (!isSharded) this.#sharded.delete(line);
    else if (this.#sharded.size < mostLines) this.#sharded.add(line);
  }

  /** True for a line that a task joined here, and of which no look has found it empty since. */
  isJoined(line: string): boolean {
    return this.#joined.has(line);
  }

  noteJoined(line: string, isJoined: boolean): void {
    if (!isJoined) this.#joined.delete(line);
    else if (this.#joined.size < mostLines) this.#joined.add(line);
  }

  /** Epoch milliseconds before which no start of a rate was free. Undefined: unknown. */
  nextStartOf(line: string): number | undefined {
    return this.#nextStarts.get(line);
  }

  noteNextStart(line: string, startMs: number): void {
    if (this.#nextStarts.size >= mostLines && !this.#nextStarts.has(line)) this.#nextStarts.clear();
    this.#nextStarts.set(line, startMs);
  }
}
