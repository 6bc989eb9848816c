import { PermanentError } from "../model/errors.ts";

/** Most bytes of a step's result, a state or a signal's body, as JSON. */
export const mostValueBytes = 256 * 1024;

/**
 * JSON text of a value. Undefined: the value is undefined.
 * @throws PermanentError when JSON cannot express the value, or it is too large
 */
export function valueText(value: unknown, what: string): string | undefined {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new PermanentError(`${what} cannot be serialised as JSON`, { cause });
  }
  const bytes = text === undefined ? 0 : Buffer.byteLength(text);
  if (bytes <= mostValueBytes) return text;
  throw new PermanentError(
    `${what} has ${bytes} bytes as JSON, of at most ${mostValueBytes}; store it elsewhere and return its key`,
  );
}

/** The value of a JSON text. */
export const parsedValue = (text: string | undefined): unknown => (text === undefined ? undefined : JSON.parse(text));
