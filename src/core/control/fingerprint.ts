import { createHash } from "../../util/node-crypto.ts";
import type { TaskRecord } from "../model/record.ts";

/*
 * The fingerprint of a dead letter is equal for errors of one cause. It is computed when it is read, so that a change
 * of these rules needs no change of stored records. Errors quote what clients sent: no expression tries a part of a
 * text again from each of its characters.
 */

/** Length of a fingerprint in hexadecimal digits. */
const digits = 16;

/** Texts in quotes. An apostrophe within a word opens none. */
const quoted = /"[^"\n]*"|`[^`\n]*`|(?<![\p{L}\p{N}])'[^'\n]*'(?![\p{L}\p{N}])/gu;

/** The query of a URL, if it has a `=`. */
const query = /\?[^\s"'`)\]}>,]+/gu;

const time = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([.,]\d+)?(Z|[+-]\d\d:?\d\d)?/gu;

/** A word with all that ids and the parts of a path are made of. */
const word = /[\p{L}\p{N}_-]+/gu;

const hasNumber = /\p{N}/u;
const isHex = /^[0-9a-f]{8,}$/iu;

/** Several variable parts in a row, such as an address with its port, or a list. */
const row = /[-+]?#%?(?:[.,:;/@%+-]{0,2} ?#%?)*/gu;

/**
 * Returns an error's text with its variable parts replaced: ids, numbers, hexadecimal numbers, quoted texts, times,
 * parts of paths with numbers.
 */
export const withoutVariables = (text: string): string =>
  text
    .replaceAll(quoted, "#")
    .replaceAll(time, "#")
    .replaceAll(query, (part) => (part.includes("=") ? "" : part))
    .replaceAll(word, (part) => (hasNumber.test(part) || isHex.test(part) ? "#" : part))
    .replaceAll(row, "#")
    .replaceAll(/\s+/gu, " ")
    .trim();

/**
 * Fingerprint of a task's last error: 16 hexadecimal digits, equal for errors of one class whose texts differ in their
 * variable parts only.
 */
export const errorFingerprint = ({ error_type, error }: Pick<TaskRecord, "error_type" | "error">): string =>
  createHash("sha256")
    .update(JSON.stringify([error_type ?? "", withoutVariables(error ?? "")]))
    .digest("hex")
    .slice(0, digits);
