/** A part of a JSON Schema. */
export type Schema = Record<string, unknown>;

/** Keys that say nothing about which values are allowed. */
const silentKeys = ["$schema", "$id", "$defs", "title", "description", "default", "examples", "deprecated", "id"];

/** Whether a schema takes any value at all. */
export const takesAnything = (schema: Schema): boolean => Object.keys(schema).every((key) => silentKeys.includes(key));

/** Whether an object's schema takes members that it does not name, whatever they hold. */
export const isLoose = ({ additionalProperties }: Schema): boolean =>
  additionalProperties === true || (isSchema(additionalProperties) && takesAnything(additionalProperties));

/** Whether a value of the schema can have any length. */
export function isUnbounded(schema: Schema): boolean {
  if (schema.type === "string")
    return !["maxLength", "format", "pattern", "enum", "const"].some((key) => key in schema);
  return schema.type === "array" && schema.maxItems === undefined && schema.items !== undefined;
}

/** Each part of a schema that values can have, with its path: `lines[].text`; the root's is empty. */
export function* partsOf(root: Schema): Generator<{ path: string; schema: Schema }> {
  const open = [{ path: "", schema: root }];
  const seen = new Set<Schema>();
  for (let part = open.shift(); part !== undefined; part = open.shift()) {
    const schema = follow(root, part.schema);
    if (seen.has(schema)) continue;
    seen.add(schema);
    yield { path: part.path, schema };
    open.push(...childrenOf(schema, part.path));
  }
}

function childrenOf(schema: Schema, path: string): { path: string; schema: Schema }[] {
  const members = Object.entries((schema.properties ?? {}) as Record<string, unknown>);
  const inner: [string, unknown][] = [
    ...members.map(([name, value]): [string, unknown] => [path === "" ? name : `${path}.${name}`, value]),
    [`${path}[]`, schema.items],
    [`${path}.*`, isLoose(schema) ? undefined : schema.additionalProperties],
    ...["anyOf", "oneOf", "allOf", "prefixItems"].flatMap((key) =>
      ((schema[key] ?? []) as unknown[]).map((value): [string, unknown] => [path, value]),
    ),
  ];
  return inner.flatMap(([at, value]) => (isSchema(value) ? [{ path: at, schema: value }] : []));
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The schema that a reference within the same document means. */
function follow(root: Schema, schema: Schema): Schema {
  if (typeof schema.$ref !== "string") return schema;
  if (schema.$ref === "#") return root;
  const found = schema.$ref
    .replace(/^#\//, "")
    .split("/")
    .reduce<unknown>((value, key) => (isSchema(value) ? value[key] : undefined), root);
  return isSchema(found) ? found : schema;
}
