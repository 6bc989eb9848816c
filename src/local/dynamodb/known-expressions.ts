/** The names and the values of a request's expressions. Its parsers delete what an expression uses from the others. */
interface Context {
  attrNames?: Readonly<Record<string, string>> | null;
  attrVals?: Readonly<Record<string, object>> | null;
  unusedAttrNames: Record<string, true>;
  unusedAttrVals: Record<string, true>;
}

/** One of dynalite's parsers of expressions. It returns a text for a fault. */
export interface Parser {
  parse(text: string, options: { context: Context }): unknown;
}

/** Stands for a value of a request in what is remembered. */
class ValueOf {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

interface Known {
  parsed: object;
  /** The names of attributes and values in the expression. */
  uses: readonly string[];
}

/** An expression with these may be refused for its values. */
const dependsOnValues = /between|attribute_type/i;

/** Expressions that a parser remembers, at most. */
const maxKnown = 1_000;

/**
 * Makes a parser remember what it has parsed. Offload sends the same expressions with other values again and again, and
 * their parsing is two thirds of the time of an operation.
 */
export function rememberParsed(parser: Parser): void {
  const { parse } = parser;
  const known = new Map<string, Known>();
  parser.parse = (text, options) => {
    const { context } = options;
    const key = keyOf(text, context);
    const found = known.get(key);
    if (found !== undefined) return again(found, context);
    const parsed = parse.call(parser, text, options);
    if (typeof parsed !== "object" || parsed === null || dependsOnValues.test(text)) return parsed;
    if (known.size >= maxKnown) known.clear();
    known.set(key, { parsed: withoutValues(parsed, context), uses: text.match(/[#:]\w+/g) ?? [] });
    return parsed;
  };
}

/** An expression means the same while its names are the same, and its values have the same types. */
function keyOf(text: string, { attrNames, attrVals }: Context): string {
  const types = Object.entries(attrVals ?? {}).map(([name, value]) => `${name} ${Object.keys(value)[0]}`);
  return JSON.stringify([text, attrNames ?? {}, types]);
}

function again({ parsed, uses }: Known, { attrVals, unusedAttrNames, unusedAttrVals }: Context): object {
  for (const name of uses) {
    delete unusedAttrNames[name];
    delete unusedAttrVals[name];
  }
  return copyOf(parsed, (part) => (part instanceof ValueOf ? attrVals?.[part.name] : undefined));
}

function withoutValues(parsed: object, { attrVals }: Context): object {
  const names = new Map(Object.entries(attrVals ?? {}).map(([name, value]) => [value, new ValueOf(name)]));
  return copyOf(parsed, (part) => names.get(part));
}

/** A copy, in which other objects stand for some parts: an operation changes what was parsed for it. */
function copyOf<Part extends object>(part: Part, other: (part: object) => object | undefined): Part {
  const found = other(part);
  if (found !== undefined) return found as Part;
  const copy = Array.isArray(part) ? [] : Object.create(Object.getPrototypeOf(part));
  for (const [name, value] of Object.entries(part)) {
    copy[name] = typeof value === "object" && value !== null ? copyOf(value, other) : value;
  }
  return copy;
}
