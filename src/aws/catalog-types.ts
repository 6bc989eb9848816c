import { type KnownTypes, parseCatalog } from "../core/task/catalog.ts";
import { knownTypes } from "../core/task/known-types.ts";
import { fromEnv } from "../settings/config.ts";
import { besideBundle } from "./beside-bundle.ts";

type QuickCheck = Parameters<typeof knownTypes> extends [unknown, ...infer Rest] ? Rest : never;

/** Reads the catalogue of task types. Its file is beside the function's bundle, or where the setting points. */
export function catalogTypes(env: NodeJS.ProcessEnv, ...fitsOf: QuickCheck): KnownTypes {
  const { catalogFile } = fromEnv(env, ["catalogFile"]);
  return knownTypes(parseCatalog(besideBundle(env, catalogFile)), ...fitsOf);
}
