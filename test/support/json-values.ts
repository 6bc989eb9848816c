import fc from "./fast-check.ts";

type Schema = Readonly<Record<string, unknown>>;

/** JSON that no schema here is made for, and members that JavaScript treats in a way of its own. */
const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(null, [], {}, "", -0, 0.5, 2 ** 53, -(2 ** 53), 1e300, "\ud800", "🙂", "none", true),
  fc.constantFrom('{"__proto__":{"a":1}}', '{"constructor":"a","toString":1}').map((text) => JSON.parse(text)),
);

/** JSON values near a JSON Schema: many that fit it, and many that just do not. */
export function near(schema: unknown, depth = 0): fc.Arbitrary<unknown> {
  if (depth > 4 || typeof schema !== "object" || schema === null) return odd;
  return fc.oneof({ weight: 7, arbitrary: fitting(schema as Schema, depth) }, { weight: 1, arbitrary: odd });
}

function fitting(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const options = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((some) => (Array.isArray(some) ? some : []));
  if (options.length > 0) return fc.oneof(...options.map((option) => near(option, depth + 1)));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map((type) => near({ ...schema, type }, depth + 1)));
  if (schema.type === "string") return texts(schema);
  if (schema.type === "number" || schema.type === "integer") return numbers(schema);
  if (schema.type === "boolean") return fc.boolean();
  if (schema.type === "null") return fc.constant(null);
  if (schema.type === "array") return arrays(schema, depth);
  return schema.type === "object" ? objects(schema, depth) : odd;
}

const formats: Readonly<Record<string, fc.Arbitrary<string>>> = {
  uuid: fc.oneof(
    fc.uuid(),
    fc.uuid().map((one) => one.toUpperCase()),
    fc.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/),
  ),
  email: fc.oneof(
    fc.emailAddress(),
    fc.stringMatching(/^[a-z_]{1,5}([.+-][a-z_]{1,3})?@[a-z]{1,5}(-[a-z])?\.[a-z]{2,3}$/),
    fc.stringMatching(/^[a-z.+_-]{1,5}@[a-z.-]{1,5}\.[a-z]{1,3}$/),
  ),
  date: fc.stringMatching(/^20[0-9]{2}-[0-1][0-9]-[0-3][0-9]$/),
  "date-time": fc.stringMatching(
    /^20[0-9]{2}-[0-1][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,3})?(Z|\+01:00)?$/,
  ),
};

function texts({ minLength = 0, maxLength = 8, pattern, format }: Schema): fc.Arbitrary<string> {
  const [least, most] = [minLength as number, maxLength as number];
  const sizes = { minLength: Math.max(0, least - 1), maxLength: Math.min(most, least + 300) + 1 };
  return fc.oneof(
    fc.string(sizes),
    fc.string({ ...sizes, unit: "binary" }),
    fc.nat(2).map((more) => "a".repeat(Math.min(most, 4_000) - 1 + more)),
    ...(pattern === undefined ? [] : [matching(String(pattern))]),
    ...(Object.hasOwn(formats, String(format)) ? [formats[String(format)] as fc.Arbitrary<string>] : []),
  );
}

/** Some patterns are not valid, or say more than a generator knows. */
function matching(pattern: string): fc.Arbitrary<string> {
  try {
    return fc.stringMatching(new RegExp(pattern), { size: "small" });
  } catch {
    return fc.string();
  }
}

function numbers({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema): fc.Arbitrary<number> {
  const bounds = [minimum, maximum, exclusiveMinimum, exclusiveMaximum].filter((bound) => typeof bound === "number");
  return fc.oneof(
    fc.integer({ min: -5, max: 100 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(0, ...bounds.flatMap((bound) => [bound - 1, bound - 0.5, bound, bound + 0.5, bound + 1])),
  );
}

function arrays({ items, minItems = 0, maxItems = 4 }: Schema, depth: number): fc.Arbitrary<unknown[]> {
  const [minLength, maxLength] = [Math.max(0, (minItems as number) - 1), Math.min(maxItems as number, 12) + 1];
  return fc.array(near(items ?? {}, depth + 1), { minLength, maxLength });
}

function objects(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
  const members = Object.entries(properties as Schema).map(
    ([name, member]) => [name, near(member, depth + 1)] as const,
  );
  const known = fc.record(Object.fromEntries(members), { requiredKeys: required as string[] });
  const fewer = fc.record(Object.fromEntries(members), { requiredKeys: [] });
  const names = fc.oneof(texts((propertyNames ?? {}) as Schema), fc.constantFrom("__proto__", "constructor", "a"));
  const more = fc.dictionary(names, near(additionalProperties ?? {}, depth + 1), { maxKeys: 12 });
  // By JSON text, as a request's body: it has members that an object literal cannot have.
  const together = (one: object, other: object) => JSON.parse(`{${[one, other].map(inner).filter(Boolean).join(",")}}`);
  const open = additionalProperties !== false;
  return fc.oneof(
    { weight: 4, arbitrary: open ? fc.tuple(known, more).map(([one, other]) => together(one, other)) : known },
    { weight: 1, arbitrary: fewer },
    { weight: 1, arbitrary: fc.tuple(known, more).map(([one, other]) => together(one, other)) },
  );
}

const inner = (value: object): string => JSON.stringify(value).slice(1, -1);
