/** A check that accepts only what the schema accepts. It may refuse more: then the schema itself decides. */
export type Fits = (value: unknown) => boolean;

type Rules = Readonly<Record<string, unknown>>;

/** Members of a schema that say nothing about which values fit. */
const silent = new Set(
  ["$schema", "$id", "$comment", "id", "title", "description", "default", "example"].concat([
    ...["examples", "deprecated", "writeOnly"],
  ]),
);

const always: Fits = () => true;
const never: Fits = () => false;

/** Makes a check from a JSON Schema. A rule that is not known here refuses every value. */
export function fitsOf(schema: unknown): Fits {
  if (!isObject(schema)) return never;
  const {
    type,
    enum: values,
    ...rules
  } = Object.fromEntries(Object.entries(schema).filter(([name]) => !silent.has(name)));
  const { const: only, ...others } = rules;
  const checks = [
    type === undefined ? withoutType(others) : ofType(type, others),
    ...("const" in rules ? [(value: unknown) => value === only] : []),
    ...(values === undefined ? [] : [oneOf(values)]),
  ];
  return checks.length === 1 ? (checks[0] as Fits) : (value) => checks.every((fits) => fits(value));
}

function ofType(type: unknown, rules: Rules): Fits {
  if (Array.isArray(type)) return ofTypes(type, rules);
  return typeof type === "string" && Object.hasOwn(kinds, type) ? (kinds[type] as Kind)(rules) : never;
}

/** Rules that say something about values of one type only, so that they say nothing about null. */
const textRules = ["minLength", "maxLength", "pattern", "format"];

function ofTypes(types: readonly unknown[], rules: Rules): Fits {
  const ofNull = Object.keys(rules).every((name) => textRules.includes(name)) ? {} : rules;
  const options = types.map((type) => ofType(Array.isArray(type) ? undefined : type, type === "null" ? ofNull : rules));
  return (value) => options.some((fits) => fits(value));
}

function withoutType({ anyOf, ...rest }: Rules): Fits {
  if (!isEmpty(rest)) return never;
  if (anyOf === undefined) return always;
  const options = Array.isArray(anyOf) ? anyOf.map(fitsOf) : [];
  return (value) => options.some((fits) => fits(value));
}

const oneOf = (values: unknown): Fits => (Array.isArray(values) ? (value) => values.includes(value) : never);

type Kind = (rules: Rules) => Fits;

/** A check of a type without rules of its own. */
const plain =
  (is: Fits): Kind =>
  (rules) =>
    isEmpty(rules) ? is : never;

const ofNumber =
  (is: Fits): Kind =>
  ({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, ...rest }) => {
    const bounds = [minimum, maximum, exclusiveMinimum, exclusiveMaximum];
    if (!isEmpty(rest) || !bounds.every(isNumberOrAbsent)) return never;
    const [min = -Infinity, max = Infinity, above = -Infinity, below = Infinity] = bounds as (number | undefined)[];
    return (value) => is(value) && isWithin(value as number, min, max) && isBetween(value as number, above, below);
  };

const kinds: Readonly<Record<string, Kind>> = {
  null: plain((value) => value === null),
  boolean: plain((value) => typeof value === "boolean"),
  number: ofNumber(Number.isFinite),
  integer: ofNumber(Number.isSafeInteger),
  string: ofString,
  array: ofArray,
  object: ofObject,
};

/** Texts of a format, each of them in its usual form only. */
const formats: Readonly<Record<string, RegExp>> = {
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  email: /^[A-Za-z0-9_]+(?:[.+-][A-Za-z0-9_]+)*@(?:[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\.)+[A-Za-z]{2,}$/,
  date: /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])$/,
  "date-time":
    /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/,
};

function ofString({ minLength, maxLength, pattern, format, ...rest }: Rules): Fits {
  if (!isEmpty(rest) || !isNumberOrAbsent(minLength) || !isNumberOrAbsent(maxLength)) return never;
  const expressions = [
    ...(pattern === undefined ? [] : [expressionOf(pattern)]),
    ...(format === undefined ? [] : [Object.hasOwn(formats, format as string) ? formats[format as string] : undefined]),
  ];
  if (!expressions.every((one) => one !== undefined)) return never;
  const [min, max] = [minLength ?? 0, maxLength ?? Infinity];
  return (value) =>
    typeof value === "string" &&
    value.length >= min &&
    value.length <= max &&
    // Schemas count characters, and some of them have two units of a text's length.
    (min <= 1 || !/[\ud800-\udfff]/.test(value)) &&
    expressions.every((one) => one.test(value));
}

/** Undefined: it is not valid, which the schema itself says better. */
function expressionOf(pattern: unknown): RegExp | undefined {
  try {
    return new RegExp(String(pattern));
  } catch {
    return undefined;
  }
}

function ofArray({ items, minItems, maxItems, ...rest }: Rules): Fits {
  if (!isEmpty(rest) || !isNumberOrAbsent(minItems) || !isNumberOrAbsent(maxItems)) return never;
  const fits = items === undefined ? always : fitsOf(items);
  return (value) =>
    Array.isArray(value) &&
    isWithin(value.length, minItems ?? 0, maxItems ?? Infinity) &&
    value.every((one) => fits(one));
}

function ofObject({ properties = {}, required = [], additionalProperties, propertyNames, ...more }: Rules): Fits {
  const { maxProperties, ...rest } = more;
  if (!isEmpty(rest) || !isObject(properties) || !Array.isArray(required) || !isNumberOrAbsent(maxProperties)) {
    return never;
  }
  // The schema would read the member that every object inherits.
  if (Object.keys(properties).some((name) => name in Object.prototype)) return never;
  const members = new Map(Object.entries(properties).map(([name, schema]) => [name, fitsOf(schema)]));
  const other = otherMembers(additionalProperties);
  const isName = propertyNames === undefined ? always : fitsOf(propertyNames);
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
    if (!required.every((name) => Object.hasOwn(value, name))) return false;
    const given = Object.entries(value);
    // A schema may drop a member of this name.
    const fits = ([name, member]: [string, unknown]) =>
      name !== "__proto__" && isName(name) && (members.get(name) ?? other)(member);
    return given.length <= (maxProperties ?? Infinity) && given.every(fits);
  };
}

function otherMembers(schema: unknown): Fits {
  if (schema === undefined || schema === true) return always;
  return schema === false ? never : fitsOf(schema);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isEmpty = (rules: Rules): boolean => Object.keys(rules).length === 0;

const isNumberOrAbsent = (value: unknown): value is number | undefined =>
  value === undefined || typeof value === "number";

const isWithin = (value: number, min: number, max: number): boolean => value >= min && value <= max;

const isBetween = (value: number, above: number, below: number): boolean => value > above && value < below;
