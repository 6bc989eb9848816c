import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { type BuildOptions, buildSync, type Metafile } from "esbuild";
import type { FunctionName } from "../src/config.ts";
import { codeExtension, codeFile, codeFolder, entries, ownFolders } from "../src/installation.ts";
import { taskFiles } from "../src/task-modules.ts";

/** The project's files in a function's bundle, besides the function's own code. */
export interface BundleFiles {
  /** Folder of the task types, for the worker. Default: `tasks` in the working directory. */
  readonly tasks?: string;
  /** Texts of generated files, by their path in the bundle. Default: none. */
  readonly texts?: Readonly<Record<string, string>>;
  /** Files or folders to copy, by their path in the bundle; their own paths start at the working directory. Default: none. */
  readonly copies?: Readonly<Record<string, string>>;
}

/** A function, or the container worker (`src/work/container.ts`). */
export type BundleName = FunctionName | "work";

/** Defines names that CommonJS packages need inside an ES module bundle. */
const commonJsNames = [
  'import { createRequire as commonJsRequire } from "node:module";',
  "const require = commonJsRequire(import.meta.url);",
  "const __filename = import.meta.filename, __dirname = import.meta.dirname;",
].join("\n");

/**
 * Import condition that resolves `#aws-sdk/...` in `src/aws` to the small clients in `src/aws/lean`, which need a quarter of
 * the SDK's time per call and a tenth of its bytes. `package.json` defines it. `@aws-sdk/...` in a task stays the SDK.
 */
export const leanClients = codeExtension === ".ts" ? "offload-lean-source" : "offload-lean";

/** Build options for Lambda code. A dynamic import becomes a separate file, which loads when it is first needed. */
export const buildOptions = {
  absWorkingDir: codeFolder,
  alias: entries,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  splitting: true,
  platform: "node",
  target: "node24",
  format: "esm",
  mainFields: ["module", "main"],
  banner: { js: commonJsNames },
  minify: true,
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
} as const satisfies BuildOptions;

/**
 * Functions that neither run nor settle attempts. All others keep class names when minified, because the API shows the name
 * of a task's error. Keeping names costs a call for each function and class at load time.
 */
const withoutClassNames: readonly BundleName[] = ["submit", "status", "authorizer"];

/**
 * Bundles `lambdas/<name>.ts` and its imports into a folder, as `index.mjs`. `work` is the program of a container: `node index.mjs`.
 * @returns esbuild's metafile: the contents of each file.
 */
export function bundle(name: BundleName, folder: string, files: BundleFiles = {}): Metafile {
  const { metafile, outputFiles } = buildSync({
    ...buildOptions,
    ...entryOf(name, files.tasks),
    write: false,
    outdir: virtualFolder,
    conditions: ["module", leanClients],
    keepNames: !withoutClassNames.includes(name),
    ...((name === "worker" || name === "work") && sourceMaps),
  });
  removeUnusedFiles(metafile);
  for (const { path, text } of outputFiles) {
    if (metafile.outputs[relative(codeFolder, path)] === undefined) continue;
    const named = path.endsWith(".map") ? withNames(path, text) : text;
    writeFileSync(within(folder, relative(virtualFolder, path)), named);
  }
  for (const [path, text] of Object.entries(files.texts ?? {})) {
    writeFileSync(within(folder, path), text);
  }
  for (const [path, source] of Object.entries(files.copies ?? {})) {
    cpSync(resolve(source), within(folder, path), { recursive: true });
  }
  return metafile;
}

/** Places in the sources, for the stacks of failed attempts. The code has no link to them, so that Node does not load them. */
const sourceMaps = { sourcemap: "external", sourcesContent: false } as const;

/**
 * Folder that esbuild takes for that of its output. The names of chunks depend on the way from there to the sources, so it is the same for
 * every bundle: the same sources make the same bytes.
 */
const virtualFolder = join(codeFolder, "bundle");

/**
 * Names the sources in a source map by their paths in the project. Offload's own sources lose their names: stacks leave them out.
 */
function withNames(path: string, text: string): string {
  const map = JSON.parse(text) as { sources: string[] };
  return JSON.stringify({ ...map, sources: map.sources.map((source) => nameOf(resolve(dirname(path), source))) });
}

function nameOf(source: string): string {
  if (ownFolders.some((folder) => source.startsWith(folder))) return "";
  return relative(process.cwd(), source);
}

/** The entry of a function: its file in `lambdas/`; for workers, code that hands the task types to their file. */
function entryOf(name: BundleName, tasks = "tasks"): Pick<BuildOptions, "entryPoints" | "entryNames" | "stdin"> {
  const withTasks = (entry: (folder: string) => string) => ({
    stdin: { contents: entry(resolve(tasks)), resolveDir: codeFolder },
    entryNames: "index",
  });
  if (name === "worker") return withTasks(workerEntry);
  if (name === "work") return withTasks(containerEntry);
  return { entryPoints: { index: codeFile(`lambdas/${name}`) } };
}

/** Imports each file of the task types: in Lambda there is no folder to read. */
function workerEntry(folder: string): string {
  const files = taskFiles(folder);
  return [
    `import { createWorker } from ${JSON.stringify(codeFile("lambdas/worker"))};`,
    ...files.map((file, index) => `import type${index} from ${JSON.stringify(join(folder, file))};`),
    `export const handler = await createWorker([${files.map((_, index) => `type${index}`)}]);`,
  ].join("\n");
}

/** Imports the task types only in the processes that run attempts: the process that starts these must not end with a handler's code. */
function containerEntry(folder: string): string {
  const imports = taskFiles(folder).map((file) => `import(${JSON.stringify(join(folder, file))})`);
  return [
    `import { useContainerCredentials } from ${JSON.stringify(codeFile("src/aws/lean/container-credentials"))};`,
    `import { startContainer } from ${JSON.stringify(codeFile("src/work/container"))};`,
    "useContainerCredentials();",
    `const load = () => Promise.all([${imports}]);`,
    "await startContainer(async () => (await load()).map((file) => file.default));",
  ].join("\n");
}

/**
 * Removes files that no other file imports. esbuild writes a file for each dynamic import, even if it removes the import as
 * dead code.
 */
function removeUnusedFiles({ outputs }: Metafile): void {
  const reached = new Set(Object.keys(outputs).filter((path) => path.endsWith("/index.mjs")));
  for (const path of reached) {
    for (const { path: target } of outputs[path]?.imports ?? []) if (outputs[target] !== undefined) reached.add(target);
  }
  for (const path of Object.keys(outputs).filter((path) => !reached.has(path.replace(/\.map$/, "")))) {
    delete outputs[path];
  }
}

function within(folder: string, path: string): string {
  const target = join(folder, path);
  mkdirSync(dirname(target), { recursive: true });
  return target;
}
