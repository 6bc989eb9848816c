import * as z from "zod";

/** A part of the document. */
export type Json = { readonly [name: string]: unknown };

/** Place of the document's schemas, as the start of a reference. */
const place = "#/components/schemas/";

/** Reference to a schema of the document. */
export const refTo = (id: string): Json => ({ $ref: `${place}${id}` });

/** Schemas with a name in the document. */
const names = z.registry<{ id: string }>();
const known = new Set<string>();

/** Names a schema in the document. */
export function withName<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  names.add(schema, { id });
  known.add(id);
  return schema;
}

/** Names an object in the document. */
export const object = <Shape extends z.core.$ZodLooseShape>(id: string, shape: Shape) => withName(id, z.object(shape));

/**
 * Returns a function that names an object in the document. The compiler compares the object with the type of the view
 * in both directions: a field, or a word of a list, that one of the two lacks does not compile.
 */
export const viewOf =
  <View>() =>
  <Shape extends z.core.$ZodLooseShape>(
    id: string,
    shape: Shape & Compared<View, z.output<z.ZodObject<Shape>>>,
  ): z.ZodObject<Shape> =>
    withName(id, z.object<Shape>(shape)) as z.ZodObject<Shape>;

/** As `viewOf`, for a schema of any form, which it returns. */
export const sameAs =
  <View>() =>
  <Schema extends z.ZodType>(schema: Schema & Compared<View, z.output<Schema>>): Schema =>
    schema;

/** Any type, if view and schema say the same; otherwise a type that no schema has, with the names of what differs. */
type Compared<View, Shown> = [View, KeysOf<View>, Shown, KeysOf<Shown>] extends [
  Shown,
  KeysOf<Shown>,
  View,
  KeysOf<View>,
]
  ? unknown
  : Difference<keyof Lacking<View, Shown>, keyof Lacking<Shown, View>>;

/** Optional fields that only one of two types has do not make the other one another type. */
type KeysOf<Type> = Type extends unknown ? keyof Type : never;

interface Difference<OfView, OfSchema> {
  ofView: OfView;
  ofSchema: OfSchema;
}

/** The fields of a type that another one lacks, or has with another type. */
type Lacking<Type, Other> = {
  [Name in keyof Type as Name extends keyof Other ? (Type[Name] extends Other[Name] ? never : Name) : Name]: Type[Name];
};

/** Reference to the schema with this name. */
export function refToNamed(id: string): Json {
  if (known.has(id)) return refTo(id);
  throw new Error(`expected the name of a schema, got ${id}`);
}

/** Reference to a schema that `withName` has named. */
export function refOf(schema: z.ZodType): Json {
  const id = names.get(schema)?.id;
  if (id === undefined) throw new Error("expected a schema with a name");
  return refTo(id);
}

/**
 * Requests have the form before transforms. Answers have neither transforms nor defaults, and in this form they allow
 * further fields, so that a later version can add some.
 */
const options = {
  io: "input",
  unrepresentable: "any",
  override: ({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }) => {
    // The format says the same in a word that tools know.
    if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
    // Tools in other languages do not know the class of control characters by its name.
    else if (jsonSchema.pattern !== undefined) {
      jsonSchema.pattern = jsonSchema.pattern.replaceAll("\\P{Cc}", "[^\\u0000-\\u001f\\u007f-\\u009f]");
    }
  },
} as const;

/** All named schemas. */
export function namedSchemas(): Record<string, Json> {
  const { schemas: all } = z.toJSONSchema(names, { ...options, uri: (id) => `${place}${id}` });
  return Object.fromEntries(Object.entries(all).map(([id, schema]) => [id, withoutDialect(schema)]));
}

/** Removes the members that only a schema of its own needs, not one inside the document. */
function withoutDialect({ $schema: _, $id: __, ...schema }: Json): Json {
  return schema;
}

/** JSON Schema of a query parameter: what the text is read as, or the text itself where the reading is a transform. */
export function parameterSchema(schema: z.ZodType): Json {
  const read = withoutDialect(z.toJSONSchema(schema, { ...options, io: "output" }));
  return Object.keys(read).length > 0 ? read : withoutDialect(z.toJSONSchema(schema, options));
}

/** Moves a JSON Schema with definitions of its own into the document, under a name. */
export const moved = (id: string, schema: Json): Json =>
  withRefs(withoutDialect(schema), (ref) => ref.replace(/^#/, `${place}${id}`)) as Json;

/** Returns a JSON value with its references changed. */
function withRefs(value: unknown, change: (ref: string) => string): unknown {
  if (Array.isArray(value)) return value.map((one) => withRefs(one, change));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [
    name,
    name === "$ref" && typeof member === "string" ? change(member) : withRefs(member, change),
  ]);
  return Object.fromEntries(members);
}
