import Big from "big.js";
import * as z from "zod";

/**
 * Characters of the invoice's font, without the line feed. Roboto does not have all characters of most Unicode blocks.
 */
const printableRanges = [
  // Latin
  "\\u0020-\\u007E\\u00A0-\\u00AC\\u00AE-\\u017F\\u018F\\u0192\\u01A0\\u01A1\\u01AF\\u01B0\\u01F0\\u01FA-\\u01FF\\u0218-\\u021B",
  "\\u0237\\u0259\\u02BC\\u02C6\\u02C7\\u02C9\\u02D8-\\u02DD\\u02F3\\u1E00\\u1E01\\u1E3E\\u1E3F\\u1E80-\\u1E85\\u1E9E\\u1EA0-\\u1EF9",
  // combining marks
  "\\u0300\\u0301\\u0303\\u0309\\u030F\\u0323",
  // Greek, Cyrillic
  "\\u0384-\\u038A\\u038C\\u038E-\\u03A1\\u03A3-\\u03CE\\u03D1\\u03D2\\u03D6\\u1F4D\\u0400-\\u0486\\u0488-\\u0513",
  // punctuation, currencies, other symbols
  "\\u2010\\u2011\\u2013-\\u2015\\u2017-\\u201E\\u2020-\\u2022\\u2025-\\u2027\\u2030\\u2032\\u2033\\u2039\\u203A\\u203C\\u2044",
  "\\u2070\\u2074-\\u208E\\u20A3\\u20A4\\u20A6-\\u20AC\\u20B1\\u20B9\\u20BA\\u20BC\\u20BD\\u20C1\\u2105\\u2113\\u2116\\u2122\\u2126",
  "\\u212E\\u215B-\\u215E\\u2202\\u2206\\u220F\\u2211\\u2212\\u221A\\u221E\\u222B\\u2248\\u2260\\u2264\\u2265\\u25A0\\u25CA\\u25CB\\u25CF",
];

const printableCharacters = new RegExp(`^[\n${printableRanges.join("")}]*$`, "u");

const invisible = /[\u00AD\u200B-\u200F\u2060\uFEFF]/gu;

/** True when the invoice's font has every character of `text`. */
export const isPrintable = (text: string): boolean => printableCharacters.test(text);

const unprintable = (text: string) => [...new Set(text)].filter((character) => !isPrintable(character)).slice(0, 5);

const composed = (value: string) => value.normalize("NFC").replace(invisible, "");
const oneLine = (value: string) =>
  composed(value)
    .replace(/[^\S\u00A0]+/gu, " ")
    .trim();
const manyLines = (value: string) =>
  composed(value)
    .replace(/\r\n?/gu, "\n")
    .replace(/[^\S\u00A0\n]+/gu, " ")
    .trim();

const checkedText = (maxLength: number, clean: (value: string) => string) =>
  z
    .string()
    .overwrite(clean)
    .min(1)
    .max(maxLength)
    .refine(isPrintable, {
      error: ({ input }) =>
        `expected Latin, Greek or Cyrillic text, got ${unprintable(String(input))
          .map((c) => JSON.stringify(c))
          .join(", ")}`,
    });

/** One line of printable text. Several white-space characters in a row become one space. */
export const text = (maxLength: number) => checkedText(maxLength, oneLine);

/** Printable text of several lines. */
export const paragraph = (maxLength: number, maxLines: number) =>
  checkedText(maxLength, manyLines).refine((value) => value.split("\n").length <= maxLines, {
    error: `expected at most ${maxLines} lines`,
  });

const decimalPattern = /^-?\d{1,12}(\.\d{1,12})?$/u;

/**
 * An exact decimal number, as a string ("19.90") or a JSON number (19.9). The output is a string.
 * A JSON number is exact when `max` (or `min`) and `places` together have at most 15 digits.
 */
export function decimal({ min = 0, max, places }: { min?: number; max: number; places: number }) {
  const fits = (value: string | number) => {
    if (!decimalPattern.test(String(value))) return false;
    const number = new Big(value);
    return number.gte(min) && number.lte(max) && number.eq(number.round(places));
  };
  const error = `expected a decimal number from ${min} to ${max} with at most ${places} decimal places`;
  return z
    .union([z.string(), z.number()], { error })
    .refine(fits, { error, abort: true })
    .transform((value) => new Big(value).plus(0).toFixed());
}
