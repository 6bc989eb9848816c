import type { Fits } from "../model/fits.ts";
import type { Catalog, CatalogEntry, KnownType, KnownTypes } from "./catalog.ts";

type FitsOf = (schema: unknown) => Fits;

/**
 * Indexes a catalogue by the types' names.
 * @param fitsOf Makes the quick check of a type. Default: none, where zod is loaded anyway.
 */
export const knownTypes = (catalog: Catalog, fitsOf?: FitsOf): KnownTypes =>
  new Map(catalog.map((entry) => [entry.name, { ...known(entry), ...(fitsOf && { fits: quickly(entry, fitsOf) }) }]));

const known = (entry: CatalogEntry): KnownType => ({
  ...entry,
  input: async () => (await import("./input-schema.ts")).inputSchema(entry),
});

/** The check is made when the type is first submitted: few of many types are, by one process. */
function quickly({ input_schema: schema }: CatalogEntry, fitsOf: FitsOf): Fits {
  let fits: Fits | undefined;
  return (input) => {
    fits ??= fitsOf(schema);
    return fits(input);
  };
}
