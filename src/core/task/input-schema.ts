import * as z from "zod";
import type { CatalogEntry } from "./catalog.ts";

const schemas = new WeakMap<CatalogEntry, z.ZodType>();

/** The schema of a type's input, made from the catalogue's JSON Schema when it is first needed. */
export function inputSchema(entry: CatalogEntry): z.ZodType {
  const known = schemas.get(entry);
  if (known !== undefined) return known;
  const schema = z.fromJSONSchema(entry.input_schema);
  const made = entry.input_optional ? schema.optional() : schema;
  schemas.set(entry, made);
  return made;
}
