/*
 * A process can have two copies of this package: its ES modules and its CommonJS files, or two installations. What a
 * task's code hands over is known by marks, which are the same in all of them.
 */

type Class = abstract new (...args: never[]) => object;

/**
 * Makes `instanceof` true for objects of the same class of another copy. Classes that extend it know only their own
 * objects.
 * @param name of the class; its own is shortened in a bundle
 */
export function knowCopies(type: Class, name: string): void {
  const mark = Symbol.for(`offload.${name}`);
  Object.defineProperty(type.prototype, mark, { value: true });
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this !== type) return Function.prototype[Symbol.hasInstance].call(this, value);
      return typeof value === "object" && value !== null && mark in value;
    },
  });
}

/** Returns a value that all copies in a process have together. The first one makes it. */
export function sharedByAllCopies<T>(name: string, make: () => T): T {
  const place = globalThis as { [key: symbol]: T | undefined };
  const key = Symbol.for(`offload.${name}`);
  place[key] ??= make();
  return place[key];
}
