import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { type BuildOptions, buildSync, type Metafile } from "esbuild";
import type { AssetOptions } from "../src/code/build/asset-code.ts";
import { codeName } from "../src/code/build/names.ts";
import {
  codeExtension,
  codeFile,
  codeFolder,
  entries,
  leanClients,
  ownFolders,
} from "../src/installed/installation.ts";
import { dirname, join, relative, resolve, slashed } from "../src/machine/paths.ts";
import type { FunctionName } from "../src/settings/config.ts";
import { buildAround, codePrefix } from "./around-code.ts";
import { withoutUnusedBanners } from "./bare-chunks.ts";
import { taskCode } from "./task-code.ts";

/** A text that takes time to make: only a bundle makes it. */
export interface MadeText {
  /** All that the text is made of. */
  readonly from: string;
  make(): string;
}

/** Texts of generated files, by their path in the bundle. */
export type Texts = Readonly<Record<string, string | MadeText>>;

/** The project's files in a function's bundle, besides the function's own code. */
export interface BundleFiles extends Partial<AssetOptions> {
  /** Default: none. */
  readonly texts?: Texts;
  /**
   * Files or folders to copy, by their path in the bundle; their own paths start at the working directory. Default:
   * none.
   */
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
 * Folder that esbuild takes for that of its output. The names of chunks depend on the way from there to the sources, so
 * it is the same for every bundle: the same sources make the same bytes.
 */
const virtualFolder = join(codeFolder, "bundle");

/** Options of a build whose output is written here. */
const writtenBySelf = {
  write: false,
  outdir: virtualFolder,
  conditions: ["module", leanClients],
} satisfies BuildOptions & { write: false };

/**
 * Writes the code of `lambdas/<name>.ts` with its imports into a folder, as `index.mjs`, and the other files. `work` is
 * the program of a container: `node index.mjs`.
 * @returns esbuild's metafile: the contents of each file. Undefined: the code was built with this package.
 */
export function bundle(name: BundleName, folder: string, files: BundleFiles = {}): Metafile | undefined {
  const metafile = copyBuilt(name, folder) ? undefined : buildCode(name, folder, files);
  for (const [path, text] of Object.entries(files.texts ?? {})) {
    writeFileSync(within(folder, path), typeof text === "string" ? text : text.make());
  }
  for (const [path, source] of Object.entries(files.copies ?? {})) {
    cpSync(resolve(source), within(folder, path), { recursive: true });
  }
  return metafile;
}

/**
 * Copies code that has nothing of a project: the package has it built, so that a synth does not build it each time. In
 * the repository it is built from its sources.
 */
function copyBuilt(name: FunctionName | "work" | "threads", folder: string): boolean {
  const built = join(codeFolder, builtFolder, name);
  if (codeExtension === ".ts" || !existsSync(built)) return false;
  cpSync(built, folder, { recursive: true });
  return true;
}

/** Folder of built functions in the package. */
export const builtFolder = "functions";

/** Builds a function's code, and for the worker's function that of the project. */
export function buildCode(name: BundleName, folder: string, files: BundleFiles = {}): Metafile {
  const code = name === "worker" || name === "work" ? taskCode({ tasks: "tasks", ...files }).folder : undefined;
  const options = { ...buildOptions, ...writtenBySelf } as const satisfies BuildOptions;
  const first = codeFile(`lambdas/${name}`);
  const built =
    code === undefined
      ? buildAround({ options: { ...options, entryPoints: { index: first } }, start: first })
      : builtAround(name, code, { ...options, ...withTasks(name, code) });
  const { metafile, outputFiles } = withoutUnusedBanners(built, commonJsNames);
  mustBeDeployable(metafile);
  removeUnusedFiles(metafile);
  for (const { path, text } of outputFiles) {
    if (metafile.outputs[relative(codeFolder, path)] === undefined) continue;
    const named = path.endsWith(".map") ? withNames(path, text) : text;
    writeFileSync(within(folder, relative(virtualFolder, path)), named);
  }
  if (code === undefined) return metafile;
  copyBeside(code, folder);
  if (copyBuilt("threads", folder)) return metafile;
  const { inputs, outputs } = buildThreads(folder);
  return { inputs: { ...metafile.inputs, ...inputs }, outputs: { ...metafile.outputs, ...outputs } };
}

/**
 * The local server, with its clock that users move, is no part of what is deployed.
 * @throws Error that names the file
 */
export function mustBeDeployable({ inputs }: Metafile): void {
  const local = Object.keys(inputs).find((path) => slashed(path).startsWith("src/local/"));
  if (local === undefined) return;
  throw new Error(`A bundle for AWS contains ${local}: code of the local server, such as its clock, is not deployed.`);
}

const builtBefore = new Map<string, ReturnType<typeof buildAround>>();

/** The worker is built once in this process: to be started, and to be deployed. */
function builtAround(name: BundleName, code: string, options: Parameters<typeof buildAround>[0]["options"]) {
  const key = `${name} ${code}`;
  const start = name === "worker" ? [codeFile("lambdas/worker")] : undefined;
  const built = builtBefore.get(key) ?? buildAround({ code, options, start });
  builtBefore.set(key, built);
  return built;
}

/**
 * Builds the code of the watchdog's thread (`src/aws/watchdog.ts`), and what it loads when its process is about to end,
 * in files of its own: it must cost the worker's start nothing.
 */
export function buildThreads(folder: string): Metafile {
  const entryPoints = Object.fromEntries(["watcher", "witness"].map((name) => [name, codeFile(`src/aws/${name}`)]));
  const { metafile, outputFiles } = buildSync({
    ...{ ...buildOptions, ...writtenBySelf, splitting: false, entryPoints },
  });
  for (const { path, text } of outputFiles) writeFileSync(within(folder, relative(virtualFolder, path)), text);
  return metafile;
}

/** Folder of worker threads in the built code (`src/code/build`). */
const threads = "threads";

/** Copies what the built code has beside its files: packages that are not bundled, and files that it reads. */
function copyBeside(code: string, folder: string): void {
  for (const name of readdirSync(code)) {
    if (name !== threads && !/\.mjs(\.map)?$/.test(name))
      cpSync(join(code, name), join(folder, name), { recursive: true });
  }
}

/**
 * Names the sources in a source map by their places in the project, as the maps of the built code do already. Offload's
 * own sources lose their names: stacks leave them out.
 */
function withNames(path: string, text: string): string {
  const map = JSON.parse(text) as { sources: string[] };
  return JSON.stringify({ ...map, sources: map.sources.map((source) => nameOf(source, dirname(path))) });
}

function nameOf(source: string, folder: string): string {
  if (source.startsWith(codePrefix)) return source.slice(codePrefix.length);
  const path = resolve(folder, source);
  return ownFolders.some((own) => path.startsWith(own))
    ? ""
    : path.slice(Math.max(0, path.indexOf("/node_modules/") + 1));
}

/** The worker, or the container's program, around the built code of the task types. */
function withTasks(name: BundleName, code: string) {
  const threadFiles = readdirSync(code, { recursive: true, encoding: "utf8" })
    .map(slashed)
    .filter((path) => path.startsWith(`${threads}/`) && path.endsWith(".mjs"));
  const entry = `${name}-entry.mjs`;
  writeFileSync(join(code, entry), name === "work" ? containerEntry : workerEntry);
  const threadEntries = threadFiles.map((path) => [path.replace(/\.mjs$/, ""), codePrefix + path]);
  return {
    entryPoints: { index: codePrefix + entry, ...Object.fromEntries(threadEntries) } as Record<string, string>,
    // Places in the sources, for the stacks of failed attempts. The code has no link to them, so that Node does not
    // load them.
    sourcemap: "external",
    sourcesContent: false,
  } as const satisfies BuildOptions;
}

const codeImport = JSON.stringify(`./${codeName}`);

/** With the variable the code is only there to be loaded by others: a synthesis does that. */
const workerEntry = `import { createWorker } from ${JSON.stringify(codeFile("lambdas/worker"))};
import * as code from ${codeImport};
export const { folder, files } = code;
export const handler = process.env.OFFLOAD_LOAD_ONLY === "1" ? undefined : await createWorker(code);`;

const containerEntry = `import { useContainerCredentials } from ${JSON.stringify(codeFile("src/aws/lean/container-credentials"))};
import { startContainer } from ${JSON.stringify(codeFile("src/work/container"))};
import * as code from ${codeImport};
useContainerCredentials();
await startContainer(code);`;

/**
 * Removes files that no other file imports. esbuild writes a file for each dynamic import, even if it removes the
 * import as dead code.
 */
function removeUnusedFiles({ outputs }: Metafile): void {
  const isEntry = (path: string) =>
    path.endsWith("/index.mjs") || outputs[path]?.entryPoint?.startsWith(`${codePrefix}${threads}/`);
  const reached = new Set(Object.keys(outputs).filter(isEntry));
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
