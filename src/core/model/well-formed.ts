import { PermanentError } from "./errors.ts";

/** A fault of a text with half a character: UTF-8 cannot tell it from others, so two keys would be one. */
export const halfCharacter = "expected well-formed Unicode, without half a character";

/** @throws PermanentError for a key with half a character */
export function wellFormed(what: string, key: string): string {
  if (key.isWellFormed()) return key;
  throw new PermanentError(`${what}: ${halfCharacter}; got ${JSON.stringify(key)}`);
}
