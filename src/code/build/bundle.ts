import { pathToFileURL } from "node:url";
import { type InputOptions, type OutputOptions, type Plugin, type RolldownOutput, rolldown } from "rolldown";
import { dirname, join, relative } from "../../machine/paths.ts";
import { computedImports } from "./computed.ts";
import { entryText } from "./entry.ts";
import { type ImportGraph, imports, isSharedStandIn } from "./imports.ts";
import { leftSyntax } from "./left-syntax.ts";
import { missingImports, unreadableFiles } from "./modules.ts";
import { codeName } from "./names.ts";
import { ownPlaces, placesBanner, threadFile } from "./own-places.ts";
import { packagesInPlace } from "./packages-in-place.ts";
import { isBinary, placeOf } from "./places.ts";
import { sharedNamespaces } from "./shared-namespaces.ts";

export interface BundleOptions {
  root: string;
  /** Folder of the task files. */
  tasks: string;
  /**
   * `local`: packages, and files that the code reads, stay where they are. `asset`: they are copied to their places.
   */
  mode: "local" | "asset";
  /** True for a file of a package that is not bundled. */
  isInPlace(file: string): boolean;
  /** Path of a thread's file in the built code. */
  placeOf(file: string): string;
}

export interface Bundled {
  graph: ImportGraph;
  /** Code files that become files of their own, such as those of worker threads. */
  threads: ReadonlySet<string>;
}

const entryId = "\0offload:tasks";

/**
 * Builds the task types, with all that they import, into one file; what the code imports only when it is needed becomes
 * files of its own. Modules run in the order of the sources, whichever file they are in.
 */
export async function bundleTasks(options: BundleOptions, out: string): Promise<Bundled> {
  const found = { graph: new Map() as ImportGraph, threads: new Set<string>() };
  const { root, tasks } = options;
  const build = async (load: "require" | "import") => {
    const entry: Plugin = {
      name: "entry",
      resolveId: (id) => (id === entryId ? id : null),
      load: (id) => (id === entryId ? entryText(root, tasks, load) : null),
    };
    await write(options, found, [entry], { input: entryId, file: join(out, codeName), out });
  };
  await build("require").catch((error: unknown) => {
    // Code with a top-level `await` cannot be required.
    if (!/REQUIRE_TLA/.test(String(error))) throw error;
    return build("import");
  });
  for (const thread of found.threads) {
    await write(options, found, [], { input: thread, file: join(out, threadFile(root, thread)), out });
  }
  return found;
}

async function write(
  options: BundleOptions,
  found: { graph: ImportGraph; threads: Set<string> },
  first: Plugin[],
  { input, file, out }: { input: string; file: string; out: string },
): Promise<RolldownOutput> {
  const made = await rolldown({ ...inputOptions(options, found, first), input });
  try {
    const up = relative(dirname(file), out) || ".";
    const name = file.slice(dirname(file).length + 1);
    const files: OutputOptions =
      input === entryId ? filesOf(name, input) : { entryFileNames: name, codeSplitting: false };
    return await made.write({ ...outputOptions(options, dirname(file), up), ...files });
  } finally {
    await made.close();
  }
}

const inputOptions = (
  options: BundleOptions,
  { graph, threads }: { graph: ImportGraph; threads: Set<string> },
  first: Plugin[],
): InputOptions => ({
  cwd: options.root,
  platform: "node",
  tsconfig: true,
  // Interfaces that a decorated constructor names have no value.
  shimMissingExports: true,
  preserveEntrySignatures: "allow-extension",
  external: (_id, importer) => isSharedStandIn(importer),
  logLevel: "silent",
  resolve: {
    mainFields: ["main", "module"],
    conditionNames: ["node", "module-sync"],
    extensions: [".js", ".json", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".jsx"],
  },
  plugins: [
    ...first,
    imports({ graph, isInPlace: (file) => isBinary(file) || options.isInPlace(file) }),
    missingImports(options.root),
    packagesInPlace(options.placeOf),
    unreadableFiles(options.root),
    leftSyntax,
    computedImports({ root: options.root, mode: options.mode }),
    ownPlaces({ root: options.root, mode: options.mode, onThread: (file) => threads.add(file) }),
    sharedNamespaces,
  ],
});

/**
 * The modules that run as soon as a type is loaded are in one file. A module that is imported when it is needed is in
 * another one.
 */
const filesOf = (name: string, input: string): OutputOptions => ({
  entryFileNames: name,
  // Without a hash of the text, in which are paths of this machine.
  chunkFileNames: "[name].mjs",
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: [{ name: (id, modules) => (startsWith(input, modules).has(id) ? "start" : null) }],
  },
});

const reached = new WeakMap<object, Set<string>>();

/** The modules that a module imports, directly or not, except those that it imports when they are needed. */
function startsWith(
  input: string,
  modules: { getModuleInfo(id: string): { importedIds: readonly string[] } | null },
): ReadonlySet<string> {
  const start = modules.getModuleInfo(input);
  const known = start === null ? undefined : reached.get(start);
  if (known !== undefined) return known;
  const ids = new Set([input, "\0rolldown/runtime.js"]);
  for (const id of ids) for (const imported of modules.getModuleInfo(id)?.importedIds ?? []) ids.add(imported);
  if (start !== null) reached.set(start, ids);
  return ids;
}

const outputOptions = ({ root, mode }: BundleOptions, folder: string, up: string): OutputOptions => ({
  dir: folder,
  format: "esm",
  strictExecutionOrder: true,
  keepNames: true,
  sourcemap: true,
  sourcemapExcludeSources: true,
  // The places in an asset do not depend on the folder of the checkout.
  sourcemapPathTransform: (source, map) => {
    const path = join(dirname(map), source);
    return mode === "local" ? pathToFileURL(path).href : placeOf(root, path);
  },
  postBanner: placesBanner(up),
  comments: { legal: false },
});
