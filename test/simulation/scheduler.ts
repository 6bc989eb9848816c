import type { Dice } from "./dice.ts";

/** Something that happens at a moment. */
export interface Happening {
  at: number;
  /** Breaks ties: what happens at one moment happens in random order. */
  order: number;
  run: () => void;
  off: boolean;
}

/**
 * The simulated world's time: everything asynchronous is a happening, and between two of them every promise that can go on
 * does. So the order of all steps follows from the dice, and a seed repeats exactly.
 */
export class Scheduler {
  now = Date.UTC(2027, 0, 1);
  /** Happenings so far. */
  count = 0;
  readonly #dice: Dice;
  readonly #heap: Happening[] = [];

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  at(time: number, run: () => void): Happening {
    const happening = { at: Math.max(time, this.now), order: this.#dice.next(), run, off: false };
    this.#push(happening);
    return happening;
  }

  after(delayMs: number, run: () => void): Happening {
    return this.at(this.now + delayMs, run);
  }

  /** Gives a happening whose time has come another time. */
  postpone(happening: Happening, time: number): void {
    happening.at = time;
    this.#push(happening);
  }

  /** Lets time run until nothing is left to happen; false when that does not come about, or `stop` says so. */
  async run(most: number, stop: () => boolean): Promise<boolean> {
    for (;;) {
      const happening = this.#pop();
      if (happening === undefined) return true;
      if (happening.off) continue;
      if (this.count >= most || stop()) return false;
      this.count += 1;
      this.now = happening.at;
      happening.run();
      // A tick comes after all promises that can be settled have been.
      await new Promise<void>((resolve) => process.nextTick(resolve));
    }
  }

  #push(happening: Happening): void {
    const heap = this.#heap;
    let index = heap.push(happening) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as Happening;
      if (!isBefore(happening, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = happening;
  }

  #pop(): Happening | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Happening, heap[child] as Happening)) child += 1;
      if (!isBefore(heap[child] as Happening, last)) break;
      heap[index] = heap[child] as Happening;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

const isBefore = (a: Happening, b: Happening): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

/** A process that can die, or stand still, at any moment: nothing in it runs on after its death, and nothing while it stands. */
export class Process {
  readonly name: string;
  readonly #time: Scheduler;
  #dead = false;
  #stands = 0;
  #stood = false;
  /** What came due while the process stood still. */
  #held: Happening[] = [];
  readonly #onDeath: ((why: string) => void)[] = [];

  constructor(time: Scheduler, name: string) {
    this.#time = time;
    this.name = name;
  }

  get alive(): boolean {
    return !this.#dead;
  }

  get stands(): boolean {
    return this.#stands > 0;
  }

  /** Whether it ever stood still: no lease waits for such a one. */
  get stood(): boolean {
    return this.#stood;
  }

  onDeath(call: (why: string) => void): void {
    this.#onDeath.push(call);
  }

  kill(why: string): void {
    if (this.#dead) return;
    this.#dead = true;
    for (const call of this.#onDeath) call(why);
  }

  /** Stands still for a while, as a frozen machine does; its time-outs come late. */
  stand(ms: number): void {
    this.#stands += 1;
    this.#stood = true;
    this.#time.after(ms, () => this.#goOn());
  }

  /** Makes a process that stands still go on at once, at a moment when it matters. */
  wake(): void {
    while (this.#stands > 0) this.#goOn();
  }

  /** Runs `call` in this process after so many milliseconds, if it still lives by then. */
  after(delayMs: number, call: () => void): Happening {
    const happening = this.#time.after(Math.max(0, delayMs), () => {
      if (this.#dead) return;
      if (this.#stands > 0) this.#held.push(happening);
      else call();
    });
    return happening;
  }

  #goOn(): void {
    if (this.#stands === 0) return;
    this.#stands -= 1;
    if (this.#stands > 0) return;
    for (const happening of this.#held) this.#time.postpone(happening, this.#time.now);
    this.#held = [];
  }
}
