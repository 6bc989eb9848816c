import ipaddr from "ipaddr.js";

/** A text, or one in any case of its letters. */
type Affix = string | { readonly "equals-ignore-case": string };

/** A condition of an event pattern on a value, one of EventBridge's comparison operators. */
export type PatternMatch =
  | { readonly exactly: string }
  | { readonly prefix: Affix }
  | { readonly suffix: Affix }
  | { readonly "equals-ignore-case": string }
  /** `*` stands for any characters, `\*` for an asterisk. */
  | { readonly wildcard: string }
  | { readonly "anything-but": string | number | readonly string[] | readonly number[] | AnythingBut }
  /** One comparison, or a lower and an upper bound: `[">", 0, "<=", 5]`. */
  | { readonly numeric: readonly (string | number)[] }
  /** A block of IPv4 or IPv6 addresses, such as `10.0.0.0/24`. */
  | { readonly cidr: string }
  /** True: the field has a value. False: it has none. */
  | { readonly exists: boolean };

type TextOrTexts = string | readonly string[];

type AnythingBut =
  | { readonly prefix: TextOrTexts }
  | { readonly suffix: TextOrTexts }
  | { readonly "equals-ignore-case": TextOrTexts }
  | { readonly wildcard: TextOrTexts };

interface Operator {
  /** Returns why an operand is not valid. */
  fault(operand: unknown): string | undefined;
  /** True when a value of an event matches a valid operand. */
  matches(operand: never, value: unknown): boolean;
}

const expectedText = "expected a text";
const textFault = (operand: unknown) => (typeof operand === "string" ? undefined : expectedText);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Makes a match that only texts pass. */
const ofTexts =
  <Operand>(matches: (operand: Operand, value: string) => boolean) =>
  (operand: Operand, value: unknown): boolean =>
    typeof value === "string" && matches(operand, value);

const ignoringCase = (operand: string, value: string): boolean => operand.toLowerCase() === value.toLowerCase();

/** A prefix or suffix. */
const affix = (isAffix: (value: string, part: string) => boolean): Operator => ({
  fault(operand) {
    if (!isObject(operand)) return textFault(operand);
    const [[name, part] = [], ...others] = Object.entries(operand);
    return name === "equals-ignore-case" && others.length === 0
      ? textFault(part)
      : "expected a text or { equals-ignore-case: ... }";
  },
  matches: ofTexts((operand: Affix, value) =>
    typeof operand === "string"
      ? isAffix(value, operand)
      : isAffix(value.toLowerCase(), operand["equals-ignore-case"].toLowerCase()),
  ),
});

function wildcardFault(operand: unknown): string | undefined {
  if (typeof operand !== "string") return expectedText;
  if (/(?<!\\)(?:\\\\)*\*\*/.test(operand)) return "expected no two asterisks in a row";
  return /^(?:[^\\]|\\[*\\])*$/.test(operand) ? undefined : "expected a backslash only before * or another backslash";
}

/** The texts of a valid wildcard between its asterisks. */
function partsOf(operand: string): string[] {
  const parts = [""];
  for (const [token] of operand.matchAll(/\\[*\\]|./gsu)) {
    if (token === "*") parts.push("");
    else parts.push((parts.pop() ?? "") + (token.length > 1 && token.startsWith("\\") ? token.slice(1) : token));
  }
  return parts;
}

/** Takes linear time, unlike a regular expression. */
function matchesWildcard(operand: string, value: string): boolean {
  const [first = "", ...rest] = partsOf(operand);
  const last = rest.pop();
  if (last === undefined) return value === first;
  if (!value.startsWith(first)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = value.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return value.length - from >= last.length && value.endsWith(last);
}

/** EventBridge compares numbers up to this value. */
const maxNumber = 5e9;

const isNumber = (value: unknown): value is number => typeof value === "number" && Math.abs(value) <= maxNumber;

const comparisons: Readonly<Record<string, (value: number, bound: number) => boolean>> = {
  "=": (value, bound) => value === bound,
  "<": (value, bound) => value < bound,
  "<=": (value, bound) => value <= bound,
  ">": (value, bound) => value > bound,
  ">=": (value, bound) => value >= bound,
};

function numericFault(operand: unknown): string | undefined {
  const expected = `expected a comparison such as [">", 0], or a lower and an upper bound such as [">", 0, "<=", 5]`;
  if (!Array.isArray(operand)) return expected;
  const [first, bottom, second, top] = operand;
  if (!Object.hasOwn(comparisons, first) || !isNumber(bottom)) return expected;
  if (operand.length === 2) return undefined;
  const isRange = [">", ">="].includes(first) && ["<", "<="].includes(second) && isNumber(top);
  if (!isRange || operand.length !== 4) return expected;
  return bottom < top ? undefined : "expected a lower bound that is less than the upper bound";
}

function matchesNumeric(operand: readonly (string | number)[], value: unknown): boolean {
  if (typeof value !== "number") return false;
  for (let index = 0; index < operand.length; index += 2) {
    if (!comparisons[operand[index] ?? ""]?.(value, Number(operand[index + 1]))) return false;
  }
  return true;
}

const isAddress = (text: string): boolean => ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);

function cidrFault(operand: unknown): string | undefined {
  const expected = "expected a block of addresses, such as 10.0.0.0/24";
  if (typeof operand !== "string") return expected;
  const [, address = "", bits] = /^([0-9a-fA-F:.]+)\/(\d{1,3})$/.exec(operand) ?? [];
  if (!isAddress(address)) return expected;
  const maxBits = address.includes(":") ? 127 : 31;
  return Number(bits) <= maxBits ? undefined : `expected at most ${maxBits} bits after the slash`;
}

function matchesCidr(operand: string, value: string): boolean {
  if (!isAddress(value)) return false;
  const [block, bits] = ipaddr.parseCIDR(operand);
  const address = ipaddr.parse(value);
  return address.kind() === block.kind() && address.match(block, bits);
}

/** The operators that `anything-but` can deny. */
const deniable = ["prefix", "suffix", "equals-ignore-case", "wildcard"];

function anythingButFault(operand: unknown): string | undefined {
  if (isObject(operand)) {
    const [[name = "", part] = [], ...others] = Object.entries(operand);
    if (!deniable.includes(name) || others.length > 0) return `expected one of ${deniable.join(", ")}`;
    const parts = [part].flat();
    if (parts.length === 0 || parts.includes("")) return `${name}: expected at least one text, none of them empty`;
    // Only a text: a prefix in any case cannot be denied.
    const fault = parts.map((one) => textFault(one) ?? operators[name]?.fault(one)).find((one) => one !== undefined);
    return fault === undefined ? undefined : `${name}: ${fault}`;
  }
  const all = [operand].flat();
  const good = all.every((one) => typeof one === "string") || all.every(isNumber);
  return good && all.length > 0 ? undefined : "expected a text, a number, an array of texts, or an array of numbers";
}

function matchesAnythingBut(operand: unknown, value: unknown): boolean {
  if (!isObject(operand)) return ![operand].flat().includes(value);
  const [[name = "", part] = []] = Object.entries(operand);
  return ![part].flat().some((one) => operators[name]?.matches(one as never, value));
}

const operators: Readonly<Record<string, Operator>> = {
  exactly: { fault: textFault, matches: (operand, value) => operand === value },
  prefix: affix((value, part) => value.startsWith(part)),
  suffix: affix((value, part) => value.endsWith(part)),
  "equals-ignore-case": { fault: textFault, matches: ofTexts(ignoringCase) },
  wildcard: {
    fault: wildcardFault,
    matches: ofTexts(matchesWildcard),
  },
  numeric: { fault: numericFault, matches: matchesNumeric },
  cidr: { fault: cidrFault, matches: ofTexts(matchesCidr) },
  "anything-but": { fault: anythingButFault, matches: matchesAnythingBut },
  exists: {
    fault: (operand) => (typeof operand === "boolean" ? undefined : "expected true or false"),
    // The pattern decides it, because there may be no value.
    matches: () => false,
  },
};

/** Returns why an object among a field's values is not a match of EventBridge. */
export function matchFault(match: Record<string, unknown>): string | undefined {
  const [[name = "", operand] = [], ...others] = Object.entries(match);
  const operator = Object.hasOwn(operators, name) ? operators[name] : undefined;
  if (operator === undefined || others.length > 0) return `expected one of ${Object.keys(operators).join(", ")}`;
  const fault = operator.fault(operand);
  return fault === undefined ? undefined : `${name}: ${fault}`;
}

/** True when a value of an event, neither an object nor an array, passes a match other than `exists`. */
export function isMatch(match: PatternMatch, value: unknown): boolean {
  const [[name = "", operand] = []] = Object.entries(match);
  return operators[name]?.matches(operand as never, value) ?? false;
}
