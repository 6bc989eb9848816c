/** Priority queue of events by time: a binary heap over typed arrays, because a plan has tens of millions of events. */
export class EventHeap {
  #times = new Float64Array(1024);
  /** Kind of event, as encoded by the heap's user. */
  #codes = new Int32Array(1024);
  /** A number that belongs to the event. */
  #values = new Float64Array(1024);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Time of the earliest event. Infinity when the heap is empty. */
  get time(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : (this.#times[0] as number);
  }

  /** The earliest event's code. */
  get code(): number {
    return this.#codes[0] as number;
  }

  /** The earliest event's value. */
  get value(): number {
    return this.#values[0] as number;
  }

  push(time: number, code: number, value = 0): void {
    if (this.#size === this.#times.length) this.#grow();
    let place = this.#size;
    this.#size += 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if ((this.#times[parent] as number) <= time) break;
      this.#move(parent, place);
      place = parent;
    }
    this.#put(place, time, code, value);
  }

  /** Drops the earliest event. */
  pop(): void {
    this.#size -= 1;
    const last = this.#size;
    if (last <= 0) return;
    const time = this.#times[last] as number;
    let place = 0;
    for (let child = 1; child < last; child = 2 * place + 1) {
      if (child + 1 < last && (this.#times[child + 1] as number) < (this.#times[child] as number)) child += 1;
      if ((this.#times[child] as number) >= time) break;
      this.#move(child, place);
      place = child;
    }
    this.#put(place, time, this.#codes[last] as number, this.#values[last] as number);
  }

  #put(place: number, time: number, code: number, value: number): void {
    this.#times[place] = time;
    this.#codes[place] = code;
    this.#values[place] = value;
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#times[from] as number, this.#codes[from] as number, this.#values[from] as number);
  }

  #grow(): void {
    const length = this.#size * 2;
    this.#times = resized(this.#times, new Float64Array(length));
    this.#codes = resized(this.#codes, new Int32Array(length));
    this.#values = resized(this.#values, new Float64Array(length));
  }
}

function resized<T extends Float64Array | Int32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
