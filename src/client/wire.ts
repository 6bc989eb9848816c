/** A time: a `Date`, or ISO 8601 text with its zone. */
export type Time = Date | string;

/**
 * Returns options as the API names them, `delaySeconds` as `delay_seconds`; times become text. Only at the top level,
 * and in `callback` and `unique`.
 */
export function toWire(options: object): Record<string, unknown> {
  const entries = Object.entries(options).map(([name, value]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value instanceof Date
      ? value.toJSON()
      : /callback|unique/.test(name) && value instanceof Object
        ? toWire(value)
        : value,
  ]);
  return Object.fromEntries(entries);
}
