/*
 * A process can have two copies of this package: its ES modules and its CommonJS files, or two installations. What a task's code hands over
 * is known by marks, which are the same in all of them.
 */

type Class = abstract new (...args: never[]) => object;

/** The mark of a class. */
export const markOf = (name: string): symbol => Symbol.for(`offload.${name}`);

/** Marks all objects of a class. */
export const setMark = ({ prototype }: { prototype: object }, mark: symbol): void =>
  void Object.defineProperty(prototype, mark, { value: true });

/** `instanceof` for a class whose objects have a mark. Classes that extend it know only their own objects. */
export function hasMark(asked: unknown, marked: Class, mark: symbol, value: unknown): boolean {
  if (asked !== marked) return Function.prototype[Symbol.hasInstance].call(asked, value);
  return typeof value === "object" && value !== null && mark in value;
}

/** Returns a value that all copies in a process have together. The first one makes it. */
export function sharedByAllCopies<T>(name: string, make: () => T): T {
  const place = globalThis as { [key: symbol]: T | undefined };
  const key = markOf(name);
  place[key] ??= make();
  return place[key];
}
