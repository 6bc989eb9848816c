/** A part of a JSON Schema. */
export type Schema = Record<string, unknown>;

/** Keys that do not restrict the allowed values. */
const annotationKeys = ["$schema", "$id", "$defs", "title", "description", "default", "examples", "deprecated", "id"];

/** True when a schema accepts any value. */
export const takesAnything = (schema: Schema): boolean =>
  Object.keys(schema).every((key) => annotationKeys.includes(key));

/** True when an object's schema accepts unnamed members with any value. */
export const isLoose = ({ additionalProperties }: Schema): boolean =>
  additionalProperties === true || (isSchema(additionalProperties) && takesAnything(additionalProperties));

/** True when a value of the schema has no maximum length. */
export function isUnbounded(schema: Schema): boolean {
  if (schema.type === "string")
    return !["maxLength", "format", "pattern", "enum", "const"].some((key) => key in schema);
  return schema.type === "array" && schema.maxItems === undefined && schema.items !== undefined;
}

/** Yields each part of a schema with its path, such as `lines[].text`. The path of the root is empty. */
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

/** Resolves a reference within the same document. */
function follow(root: Schema, schema: Schema): Schema {
  if (typeof schema.$ref !== "string") return schema;
  if (schema.$ref === "#") return root;
  const found = schema.$ref
    .replace(/^#\//, "")
    .split("/")
    .reduce<unknown>((value, key) => (isSchema(value) ? value[key] : undefined), root);
  return isSchema(found) ? found : schema;
}
