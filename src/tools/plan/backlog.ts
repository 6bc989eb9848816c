/** Visible messages of a queue, in order of arrival: for each its due time and its number of attempts so far. */
export class Backlog {
  #since = new Float64Array(1024);
  #attempts = new Uint8Array(1024);
  #head = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(since: number, attempts: number): void {
    if (this.#size === this.#since.length) this.#grow();
    const place = (this.#head + this.#size) & (this.#since.length - 1);
    this.#since[place] = since;
    this.#attempts[place] = attempts;
    this.#size += 1;
  }

  /** Due time of the oldest message. */
  get since(): number {
    return this.#since[this.#head] as number;
  }

  /** Number of attempts of the oldest message so far. */
  get attempts(): number {
    return this.#attempts[this.#head] as number;
  }

  /** Drops the oldest message. */
  shift(): void {
    this.#head = (this.#head + 1) & (this.#since.length - 1);
    this.#size -= 1;
  }

  #grow(): void {
    const length = this.#since.length;
    const since = new Float64Array(length * 2);
    const attempts = new Uint8Array(length * 2);
    for (let index = 0; index < length; index++) {
      const place = (this.#head + index) & (length - 1);
      since[index] = this.#since[place] as number;
      attempts[index] = this.#attempts[place] as number;
    }
    this.#since = since;
    this.#attempts = attempts;
    this.#head = 0;
  }
}
