import { expect, test } from "vitest";
import { parseJson } from "../../../src/api/http/body.ts";
import { Problem } from "../../../src/core/model/problem.ts";
import fc from "../../support/fast-check.ts";

/** The decimal value of a number's text, as digits and a power of ten: nothing is rounded. */
function exact(text: string): string {
  const [, sign = "", whole = "", fraction = "", power = "0"] = /^(-?)(\d+)\.?(\d*)e?([+-]?\d*)$/i.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  return short === "" ? "0" : `${sign}${short}e${Number(power) - fraction.length + digits.length - short.length}`;
}

/** The number as the server gives it back. Undefined: it refused it, with the advice to send text. */
function sentBack(text: string): string | undefined {
  try {
    return JSON.stringify((parseJson(`{"a":[${text}]}`) as { a: unknown[] }).a[0]);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "invalid_input") throw error;
    expect(error.detail).toMatch(/^a\.0: this number is too (large|small) to be kept exactly; send it as text$/);
    return undefined;
  }
}

test.each([
  ...[
    "1152921504606846976",
    "-1152921504606846976",
    "9007199254740993",
    "12345678901234567.0",
    "12345678901234567.000e0",
  ],
  ...["1.2345678901234567e17", "123456789012345678901234567890", "18446744073709551615", "9.007199254740993e15"],
  ...["1e400", "-1e400", "1e-400", "-1e-400", `0.${"0".repeat(400)}1`, "9".repeat(400)],
])("the number %s would change, and is refused", (text) => {
  expect(sentBack(text)).toBeUndefined();
});

test.each([
  ...["0", "-1", "9007199254740991", "9007199254740992", "1e19", "1E+19", "1e22", "1.5e300", "10000000000000000000"],
  ...["3.0", "3.00e2", "100e-2", "0e400", "0.0e-400", "9007199254740993e5", "123456789012345.0"],
])("the integer %s comes back with the same digits", (text) => {
  expect(exact(sentBack(text) ?? "")).toBe(exact(text));
});

test.each(["0.1", "0.1234567890123456789", "1e-300", "123456789012345678.5", "5e-324"])(
  "the fraction %s is a double",
  (text) => {
    expect(sentBack(text)).toBe(JSON.stringify(Number(text)));
  },
);

test("of duplicate names the last counts", () => {
  expect(parseJson('{"a":1,"a":2}')).toEqual({ a: 2 });
});

test("every integer comes back digit by digit, or is refused", () => {
  const digits = fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: 24 });
  const written = fc
    .tuple(fc.constantFrom("", "-"), digits, fc.option(digits), fc.option(fc.integer({ min: -30, max: 40 })))
    .map(([sign, whole, fraction, power]) =>
      [
        sign,
        whole.replace(/^0+(?=\d)/, ""),
        fraction === null ? "" : `.${fraction}`,
        power === null ? "" : `e${power}`,
      ].join(""),
    );
  fc.assert(
    fc.property(written, (text) => {
      const answer = sentBack(text);
      const isInteger = exact(text) === "0" || Number(exact(text).split("e")[1]) >= 0;
      if (answer !== undefined && isInteger) expect(exact(answer)).toBe(exact(text));
      // A number of few digits is never refused.
      const fits = exact(text).replace(/^-|e.*$/g, "").length <= 15;
      if (fits) expect(answer).toBeDefined();
    }),
    { numRuns: Number(process.env.OFFLOAD_PROPERTY_RUNS ?? 500) },
  );
}, 600_000);
