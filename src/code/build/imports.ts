import { existsSync, statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { Plugin } from "rolldown";
import { entries, ownFolders } from "../../installed/installation.ts";
import { dirname, isAbsolute, pathOfUrl, realPath, resolve, slashed } from "../../machine/paths.ts";
import { missingId } from "./modules.ts";
import { inPlaceId } from "./packages-in-place.ts";
import { isOfPackage, packageName, packageOf } from "./places.ts";

/** The imports of the built code: importing file → text of the import → file. An empty file: nothing was found. */
export type ImportGraph = Map<string, Map<string, string>>;

export interface ImportsOptions {
  graph: ImportGraph;
  /** True for a file that stays a file: of a package that is not bundled, or a binary. */
  isInPlace(file: string): boolean;
}

const sharedMark = "\0shared:";

/** True for a module that stands for a shared one: what it imports stays outside. */
export const isSharedStandIn = (importer: string | undefined): boolean => importer?.startsWith(sharedMark) ?? false;

/** Finds the file of each import, as TypeScript and Node do together. */
export const imports = ({ graph, isInPlace }: ImportsOptions): Plugin => ({
  name: "imports",
  async resolveId(source, from, { kind }) {
    if (!isOfCode(source, from)) return entryFile(source);
    const importer = slashed(from);
    const required = kind === "require-call";
    const own = entries[source];
    if (own !== undefined) return sharedModule(own, required);
    const known = fileOf(source, importer);
    const lookUp = async (as: typeof kind) =>
      known ?? inFile(await this.resolve(source, importer, { kind: as, skipSelf: true }));
    const found = await lookUp(kind);
    if (isNoFile(found)) return found;
    noteIn(graph, importer, source, found?.id ?? "");
    if (found === null) return missingId(source, importer, required);
    if (!isShared(found.id)) return isInPlace(found.id) ? inPlaceId(found.id) : found.id;
    // A shared module is the form for imports, also where it is required.
    const shared = (await lookUp("import-statement")) ?? found;
    return sharedModule(shared.id, required);
  },
  load: {
    filter: { id: /^\0shared:/ },
    handler: (id) => ({ code: `export * from ${id.slice(sharedMark.length)};`, moduleType: "js" }),
  },
});

/** False for the entry, and for modules that stand for others. */
const isOfCode = (source: string, importer: string | undefined): importer is string =>
  importer !== undefined && !source.startsWith("\0") && !importer.startsWith(sharedMark);

/** True for a builtin module of Node, and for a module that stands for another. */
const isNoFile = (found: { id: string; external?: unknown } | null): boolean =>
  found !== null && (Boolean(found.external) || found.id.startsWith("\0"));

/** The bundler takes a question mark or a hash in a path for the start of a query. */
const entryFile = (source: string): { id: string } | null => (isFile(source) ? { id: realPath(source) } : null);

const isFile = (path: string): boolean =>
  isAbsolute(path) && statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** The file that the bundler found, by its path with slashes. */
const inFile = <Found extends { id: string }>(found: Found | null): Found | null =>
  found === null || isNoFile(found) ? found : { ...found, id: slashed(found.id) };

/** The file of an import that the bundler would not find. */
function fileOf(source: string, importer: string): { id: string } | undefined {
  const path = source.startsWith("file://") ? pathOfUrl(source) : source;
  if (isFile(path)) return { id: realPath(path) };
  const id = typeScriptFile(source, importer);
  return id === undefined ? undefined : { id };
}

function noteIn(graph: ImportGraph, importer: string, source: string, file: string): void {
  const known = graph.get(importer) ?? new Map<string, string>();
  graph.set(importer, known.set(source, file));
}

/**
 * True for the code of Offload, and of zod, which the code around the task types has already: there is one copy of
 * each. An error of one copy of Offload would be unknown to another.
 */
export const isShared = (file: string): boolean => {
  if (ownFolders.some((folder) => file.startsWith(folder))) return true;
  const folder = packageOf(file);
  return folder !== undefined && packageName(folder) === "zod";
};

/**
 * A `require` gets a module of its own, as the bundler would leave it to the running program. The built code has its
 * URL: Node reads a path in an import as a URL, in which some letters of a path mean something else.
 */
function sharedModule(file: string, required: boolean) {
  const url = pathToFileURL(file).href;
  return required ? sharedMark + JSON.stringify(url) : { id: url, external: "absolute" as const };
}

/** Extensions of files that a compiler turns into `.js`, `.mjs`, `.cjs`. */
const typed = [".ts", ".tsx", ".mts", ".cts"];

/** `./x.js` and `./x` in the project's code mean the TypeScript file, also where a compiled file lies beside it. */
function typeScriptFile(source: string, importer: string): string | undefined {
  if (!/^\.{1,2}\//.test(source) || isOfPackage(importer) || importer.startsWith("\0")) return undefined;
  const path = resolve(dirname(importer), source);
  const stem = path.replace(/\.[cm]?jsx?$/, "");
  if (stem === path && existsSync(path)) return undefined;
  const found = typed.map((extension) => stem + extension).find(existsSync);
  return found === undefined ? undefined : realPath(found);
}

/** The project's own files in the built code. */
export function ownSources(graph: ImportGraph): string[] {
  const files = [...graph].flatMap(([importer, imported]) => [importer, ...imported.values()]);
  return [...new Set(files.filter((file) => isAbsolute(file) && !isOfPackage(file)))];
}
