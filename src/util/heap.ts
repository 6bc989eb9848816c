/** A binary heap that stores the position of each item, so that any item can be moved or removed in O(log n). */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #places = new Map<T, number>();
  readonly #before: (a: T, b: T) => boolean;

  /**
   * @param before Returns true when `a` comes before `b`. Call `put` for an item after a change that `before` can see.
   */
  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  /** The item that comes before all others. */
  first(): T | undefined {
    return this.#items[0];
  }

  /** Adds the item, or moves it to its new position after a change. */
  put(item: T): void {
    const place = this.#places.get(item) ?? this.#items.length;
    this.#rise(item, place);
    this.#sink(item, this.#places.get(item) ?? place);
  }

  delete(item: T): void {
    const place = this.#places.get(item);
    if (place === undefined) return;
    this.#places.delete(item);
    const last = this.#items.pop() as T;
    if (last === item) return;
    this.#rise(last, place);
    this.#sink(last, this.#places.get(last) ?? place);
  }

  #set(item: T, place: number): void {
    this.#items[place] = item;
    this.#places.set(item, place);
  }

  #rise(item: T, from: number): void {
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = this.#items[above] as T;
      if (!this.#before(item, parent)) break;
      this.#set(parent, place);
      place = above;
    }
    this.#set(item, place);
  }

  #sink(item: T, from: number): void {
    let place = from;
    for (;;) {
      const below = this.#firstChild(place);
      const child = this.#items[below];
      if (child === undefined || !this.#before(child, item)) break;
      this.#set(child, place);
      place = below;
    }
    this.#set(item, place);
  }

  #firstChild(place: number): number {
    const left = 2 * place + 1;
    const right = left + 1;
    if (right >= this.#items.length) return left;
    return this.#before(this.#items[right] as T, this.#items[left] as T) ? right : left;
  }
}
