/** A reproducible stream of random numbers (sfc32): the same seed gives the same numbers on every machine. */
export class Dice {
  #a: number;
  #b = 0x9e3779b9;
  #c = 0x243f6a88;
  #counter = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    for (let i = 0; i < 12; i++) this.next();
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return (sum >>> 0) / 4_294_967_296;
  }

  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability;
  }

  /** A whole number from `least` to `most`, both included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<T>(items: readonly [T, ...T[]]): T {
    return items[Math.floor(this.next() * items.length)] ?? items[0];
  }

  /** A whole number whose order of magnitude is drawn evenly: short times and long ones are as likely. */
  spread(least: number, most: number): number {
    return Math.round(least * (most / least) ** this.next());
  }

  /** Puts an array into a random order, in place. */
  shuffle<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i--) {
      const j = this.int(0, i);
      const here = items[i] as T;
      items[i] = items[j] as T;
      items[j] = here;
    }
    return items;
  }
}
