import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Plugin } from "rolldown";
import { parseSync } from "rolldown/utils";
import { dirname, isAbsolute, resolve, slashed } from "../../machine/paths.ts";
import { isModule } from "./places.ts";

const mark = "\0in-place:";
const quoted = (text: string): string => JSON.stringify(text);

/** Id of the module that stands for a file of a package that is not bundled. */
export const inPlaceId = (file: string): string => mark + file;

/**
 * Packages that are not bundled stay files. One is loaded when the module that imports it runs, and not before, by the
 * path that the bundler found; so an import means the same whether a package is bundled or not.
 * @param placeOf Returns the path of a file in the asset, or on this machine.
 */
export const packagesInPlace = (placeOf: (file: string) => string): Plugin => ({
  name: "packages-in-place",
  load: {
    filter: { id: /^\0in-place:/ },
    handler(id) {
      const file = id.slice(mark.length);
      const load = `__offload_require(${quoted(placeOf(file))})`;
      if (!isModule(file)) return { code: `module.exports = ${load};`, moduleType: "js" };
      const lines = [...exportedNames(file)].map((name, index) =>
        name === "default"
          ? "export default loaded.default;"
          : `const part${index} = loaded[${quoted(name)}]; export { part${index} as ${quoted(name)} };`,
      );
      return { code: `const loaded = ${load};\n${lines.join("\n")}`, moduleType: "js" };
    },
  },
});

/** Packages do not change while a process runs. */
const known = new Map<string, ReadonlySet<string>>();

/** Names that an ES module of a package exports. */
function exportedNames(file: string, above: ReadonlySet<string> = new Set()): ReadonlySet<string> {
  const found = known.get(file);
  if (found !== undefined) return found;
  if (above.has(file)) return new Set();
  const { module } = parseSync(file, readFileSync(file, "utf8"));
  const within = new Set([...above, file]);
  const names = new Set(
    module.staticExports.flatMap(({ entries }) => entries.flatMap((entry) => namesOf(entry, file, within))),
  );
  known.set(file, names);
  return names;
}

type Export = ReturnType<typeof parseSync>["module"]["staticExports"][number]["entries"][number];

/** The names of one export. All of another module, for `export * from`. */
function namesOf({ exportName, moduleRequest }: Export, file: string, within: ReadonlySet<string>): string[] {
  if (exportName.kind === "Default") return ["default"];
  if (exportName.name !== null) return [exportName.name];
  const from = moduleRequest === null ? undefined : resolvedFrom(file, moduleRequest.value);
  return from === undefined ? [] : [...exportedNames(from, within)].filter((name) => name !== "default");
}

/** Undefined: the builtin modules of Node, whose names no package exports again. */
function resolvedFrom(file: string, source: string): string | undefined {
  if (source.startsWith(".")) return resolve(dirname(file), source);
  const found = createRequire(file).resolve(source);
  return isAbsolute(found) ? slashed(found) : undefined;
}
