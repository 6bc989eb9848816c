import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { codeFile, leanClients } from "./installation.ts";

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

/** Clients that call the local server's emulators directly. */
const direct = ["client-dynamodb", "client-sqs", "client-eventbridge"].map((name) => [
  `#aws-sdk/${name}`,
  `src/local/direct/${name}`,
]);

/**
 * Lets this package's modules that this process loads from now on import the small AWS clients, as in functions. The
 * clients of tables, queues and events call the emulators of a local server directly, where it has opened doors to
 * them.
 */
export function useLocalClients(): void {
  registerEntries(Object.fromEntries(direct.map(([name = "", path = ""]) => [name, codeFile(path)])));
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier.startsWith("#aws-sdk/")
        ? next(specifier, { ...context, conditions: [...context.conditions, leanClients] })
        : next(specifier, context),
  });
}
