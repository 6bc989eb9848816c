import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { codeFile, entries } from "../../src/installed/installation.ts";

/* For `node --import`: tests import the package's entries as its users do, and get its sources. */

const all: Readonly<Record<string, string>> = {
  ...entries,
  "offload/testing": codeFile("src/entries/testing"),
  "offload/cdk": codeFile("lib/index"),
  "offload/direct": codeFile("src/direct/index"),
};

registerHooks({
  resolve: (specifier, context, next) => {
    const own = Object.hasOwn(all, specifier) ? all[specifier] : undefined;
    return next(own === undefined ? specifier : pathToFileURL(own).href, context);
  },
});
