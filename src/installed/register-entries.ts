import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { entries } from "./installation.ts";

/* For `node --import`: a program of the repository may then import the package's entries, as its task files do. */

registerHooks({
  resolve: (specifier, context, next) => {
    const own = Object.hasOwn(entries, specifier) ? entries[specifier] : undefined;
    return next(own === undefined ? specifier : pathToFileURL(own).href, context);
  },
});
