import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { entries } from "./installation.ts";

/**
 * Makes task files that import `offload` get this very package, also when it runs from its sources, or is installed elsewhere than
 * the project. Otherwise a project would have two copies, and an error of one would be unknown to the other.
 */
export function shareEntries(): void {
  registerHooks({
    resolve: (specifier, context, next) => {
      const own = Object.hasOwn(entries, specifier) ? entries[specifier] : undefined;
      return next(own === undefined ? specifier : pathToFileURL(own).href, context);
    },
  });
}
