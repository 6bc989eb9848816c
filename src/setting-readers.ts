/*
 * Readers of settings, for `src/config.ts`.
 */

/**
 * Parses the text of a setting's variable, or throws an Error with the expected value. It does not use zod, which most
 * functions would load at their start for this alone.
 */
export type Read<T> = (given: string | undefined) => T;

export const expected = (what: string) => new Error(`expected ${what}`);

/** A required text. */
export const text: Read<string> = (given) => {
  if (given === undefined || given === "") throw expected("a text");
  return given;
};

export const longText =
  (least: number): Read<string> =>
  (given) => {
    if (text(given).length < least) throw expected(`at least ${least} characters`);
    return text(given);
  };

/** A text with a default for an absent variable. An empty text is an error. */
export const textOr =
  (fallback: string): Read<string> =>
  (given) =>
    given === undefined ? fallback : text(given);

/** An optional text. An empty text counts as absent. */
export const optionalText: Read<string | undefined> = (given) => (given === "" ? undefined : given);

export const arn: Read<string> = (given) => {
  if (given?.startsWith("arn:") !== true) throw expected("an ARN");
  return given;
};

export const url: Read<string> = (given) => {
  if (given === undefined || !URL.canParse(given)) throw expected("a URL");
  return given;
};

export const oneOf =
  <T extends string>(values: readonly T[]): Read<T> =>
  (given) => {
    const found = values.find((value) => value === given);
    if (found === undefined) throw expected(`one of ${values.join(", ")}`);
    return found;
  };

export const numberOr =
  (fallback: number, accepts: (number: number) => boolean, what: string): Read<number> =>
  (given) => {
    const number = given === undefined || given.trim() === "" ? fallback : Number(given);
    if (!accepts(number)) throw expected(what);
    return number;
  };
