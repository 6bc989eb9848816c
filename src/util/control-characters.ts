/**
 * Characters that change more than their place on a screen: control characters, line separators, and marks that turn
 * the direction of text, so that it reads otherwise than it is.
 */
export const controlCharacters = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** The escape of a character, which in JSON is the character itself. */
export const escapeOf = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
