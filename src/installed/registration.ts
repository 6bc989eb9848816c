import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

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
