import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { leanClients } from "./installation.ts";

/**
 * Lets modules of this process import files by names.
 * @param entries Paths of the files, by name.
 */
export function registerEntries(entries: Readonly<Record<string, string>>): void {
  registerHooks({
    resolve: (specifier, context, next) => {
      const own = Object.hasOwn(entries, specifier) ? entries[specifier] : undefined;
      return next(own === undefined ? specifier : pathToFileURL(own).href, context);
    },
  });
}

/** Lets this package's modules that this process loads from now on import the small AWS clients, as in functions. */
export function useLeanClients(): void {
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier.startsWith("#aws-sdk/")
        ? next(specifier, { ...context, conditions: [...context.conditions, leanClients] })
        : next(specifier, context),
  });
}
