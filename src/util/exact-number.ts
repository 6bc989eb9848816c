/**
 * Returns why a number of a JSON text would come back as another one: it is an integer, however it is written, whose
 * double has other digits as text; or it is no zero, and would become 0. Other fractions round. Undefined: it does not
 * change.
 */
export function numberFault(source: string, value: number): "large" | "small" | undefined {
  if (!Number.isFinite(value)) return "large";
  const given = decimalOf(source);
  if (value === 0) return given.digits === "" ? undefined : "small";
  const kept = decimalOf(String(value));
  const changes = given.digits !== kept.digits || given.exponent !== kept.exponent;
  return given.exponent >= 0 && changes ? "large" : undefined;
}

/** A decimal number without its sign: its digits, without zeros at both ends, and the power of ten of the last one. */
function decimalOf(text: string): { digits: string; exponent: number } {
  const [mantissa = "", power = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const all = (whole + fraction).replace(/^0+/, "");
  let end = all.length;
  while (end > 0 && all[end - 1] === "0") end--;
  return { digits: all.slice(0, end), exponent: Number(power) - fraction.length + all.length - end };
}

/** The words for a number that would change. */
export const inexact = (fault: "large" | "small"): string =>
  `this number is too ${fault} to be kept exactly; send it as text`;
