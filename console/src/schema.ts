import { Validator } from "@cfworker/json-schema";

/** The part of JSON Schema that the form reads. */
export interface Schema {
  type?: string | readonly string[];
  title?: string;
  description?: string;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  enum?: readonly unknown[];
  anyOf?: readonly Schema[];
  const?: unknown;
  default?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  additionalProperties?: unknown;
}

/** Kind of a property's field. `json`: as JSON text, for lists, nested objects and alternatives. */
export type Entry = "text" | "number" | "checkbox" | "choice" | "json";

export function entryOf(schema: Schema): Entry {
  const { enum: choices, type } = withoutNull(schema);
  if (choices?.every((value) => typeof value === "string")) return "choice";
  if (type === "string") return "text";
  if (type === "number" || type === "integer") return "number";
  return type === "boolean" && !isNullable(schema) ? "checkbox" : "json";
}

const isNull = ({ type }: Schema): boolean => type === "null";

/** True for a value or null, as two alternatives or as two types. */
export const isNullable = ({ anyOf, type }: Schema): boolean =>
  anyOf === undefined
    ? Array.isArray(type) && type.length === 2 && type.includes("null")
    : anyOf.length === 2 && anyOf.some(isNull);

/** The schema of the value of a nullable schema; any other schema as it is. */
export function withoutNull(schema: Schema): Schema {
  if (!isNullable(schema)) return schema;
  const { anyOf, type, default: byDefault, ...others } = schema;
  const value = anyOf?.find((alternative) => !isNull(alternative)) ?? {
    type: [type].flat().find((name) => name !== "null"),
  };
  return { ...others, ...value, ...(byDefault != null && { default: byDefault }) } as Schema;
}

/** Value of an empty field: null where the schema requires a value and takes null, else no value. */
export const emptyOf = (schema: Schema, required: boolean): null | undefined =>
  required && schema.default === undefined && isNullable(schema) ? null : undefined;

/** True when a form can be made of the schema: an object with named properties. */
export const hasForm = (schema: Schema): boolean =>
  schema.type === "object" && Object.keys(schema.properties ?? {}).length > 0;

/** The input with which a form begins: a required switch is off, a required field that takes null is null. */
export const startOf = (schema: Schema): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([name, property]): [string, boolean | null][] => {
      if (property.default !== undefined || !schema.required?.includes(name)) return [];
      if (entryOf(property) === "checkbox") return [[name, false]];
      return isNullable(property) ? [[name, null]] : [];
    }),
  );

/** True when each property of the input can be shown in its field of a form. */
export function fitsForm(schema: Schema, input: unknown): input is Record<string, unknown> {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return false;
  return Object.entries(input).every(([name, value]) => {
    const property = schema.properties?.[name];
    if (property === undefined) return false;
    if (value === null && isNullable(property)) return true;
    const fits = fitting[entryOf(property)];
    return fits === "any" || fits === typeof value;
  });
}

const fitting: Readonly<Record<Entry, string>> = {
  ...{ text: "string", number: "number", checkbox: "boolean", choice: "string", json: "any" },
};

/** Texts of a format that an empty text does not have. */
const formats: Readonly<Record<string, string>> = {
  uri: "https://example.com",
  email: "ada@example.com",
  date: "2027-01-31",
  "date-time": "2027-01-31T12:00:00Z",
};

/** An example for the JSON text: the properties with their defaults, or with empty values of their type. */
export function exampleOf(schema: Schema): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.type === "object") {
    const given = Object.entries(schema.properties ?? {});
    const wanted = given.filter(([name, { default: value }]) => value !== undefined || schema.required?.includes(name));
    return Object.fromEntries(wanted.map(([name, property]) => [name, exampleOf(property)]));
  }
  if (schema.type === "string" && schema.format !== undefined) return formats[schema.format] ?? "";
  if (schema.minimum !== undefined) return schema.minimum;
  const empty: Readonly<Record<string, unknown>> = { string: "", number: 0, integer: 0, boolean: false, array: [] };
  return empty[String(schema.type)] ?? null;
}

/** The validator's words for a property that is missing. */
const missing = /^Instance does not have required property "(.*)"\.$/s;

/** Faults of an input by JSON pointer. */
export function faultsOf(schema: Schema, input: unknown): { path: string; message: string }[] {
  const { errors } = new Validator(schema as object, "2020-12", false).validate(input);
  return errors
    .filter(({ keyword }) => keyword !== "properties" && keyword !== "items")
    .map(({ instanceLocation, error }) => {
      const path = instanceLocation.replace(/^#/, "");
      const name = missing.exec(error)?.[1];
      return name === undefined
        ? { path: path || "/", message: error }
        : { path: `${path}/${name}`, message: "is required" };
    });
}
