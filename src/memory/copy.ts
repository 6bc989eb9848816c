/**
 * Copies a stored value, as a network does. Plain objects and arrays are copied here, in a tenth of the time of
 * `structuredClone`, which copies whatever else there is, such as bytes, and refuses functions.
 */
export function copy<T>(value: T): T {
  if (typeof value === "function") return structuredClone(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => copy(item)) as T;
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return structuredClone(value);
  // The spread makes each member the copy's own, so that a client's `__proto__` stays a member.
  const copied = { ...value } as Record<string, unknown>;
  for (const name of Object.keys(copied)) {
    const member = copied[name];
    if (typeof member === "object" || typeof member === "function") copied[name] = copy(member);
  }
  return copied as T;
}
