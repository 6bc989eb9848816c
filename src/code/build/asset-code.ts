import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { transformSync } from "rolldown/utils";
import { dirname, join, realPath, resolve } from "../../machine/paths.ts";
import { taskFiles } from "../project/task-folder.ts";
import { TaskFileError } from "../project/task-modules.ts";
import { useTargetBinaries } from "./binaries.ts";
import { type BundleOptions, bundleTasks } from "./bundle.ts";
import { type CopiedPackages, chooseCopied, filesOfPackage, isFile } from "./choose.ts";
import { type ImportGraph, ownSources } from "./imports.ts";
import { type Layout, layoutOf, placesIn } from "./layout.ts";
import { type ConstantKey, constantKeysIn } from "./once-keys.ts";
import { isCode, packageOf, placeOf, rootOf } from "./places.ts";
import { type TracedFiles, traceFiles } from "./trace.ts";

/** Options for what neither the bundler nor the tracer can know. */
export interface AssetOptions {
  /** Folder of the task files. */
  readonly tasks: string;
  /** Packages that are copied as they are, and not bundled. */
  readonly external?: readonly string[] | undefined;
  /** Packages that only data names: they are copied, although no code imports them. */
  readonly nodeModules?: readonly string[] | undefined;
  /** Files and folders of the project that the code reads, by their paths below its root. */
  readonly assets?: readonly string[] | undefined;
}

/** A project's code, built for another machine. */
export interface AssetCode {
  readonly root: string;
  /** Calls of `task.once` in the project's own code with a constant key. */
  readonly onceKeys: readonly ConstantKey[];
}

/**
 * Builds a project's code into a folder that needs nothing else of the project: the code, the packages that cannot be
 * bundled, and the files that the code reads.
 * @param here Folder for this machine's binaries, which take the place of Lambda's where the code is started here.
 * @throws TaskFileError
 */
export async function buildAssetCode(options: AssetOptions, out: string, here: string): Promise<AssetCode> {
  const root = rootOf(options.tasks);
  const tasks = realPath(options.tasks);
  const common = { root, tasks, mode: "asset" } as const;
  const { graph, threads } = await bundleTasks({ ...common, isInPlace: () => false, placeOf: (file) => file }, out);
  const { files, packages, own, layout } = await packagesOf({ root, tasks, options, graph, threads });
  const bundling: BundleOptions = {
    ...common,
    isInPlace: (file) => packages.has(packageOf(file) ?? ""),
    placeOf: (file) => `./${placesIn(layout, file)[0] ?? placeOf(root, file)}`,
  };
  // Most projects have only packages that can be bundled: their code is built already.
  if (packages.size > 0) {
    rmSync(out, { recursive: true, force: true });
    await bundleTasks(bundling, out);
  }
  copyFiles(out, { root, files, packages, own, layout, assets: options.assets ?? [] });
  await useTargetBinaries({ root, out, here, files, packages, layout });
  return { root, onceKeys: constantKeysIn(root, ownSources(graph)) };
}

interface Asked {
  root: string;
  tasks: string;
  options: AssetOptions;
  graph: ImportGraph;
  threads: ReadonlySet<string>;
}

/** Chooses the packages that are copied, and their places. */
async function packagesOf({ root, tasks, options, graph, threads }: Asked) {
  const { external = [], nodeModules = [] } = options;
  const named = nodeModules.map((name) => mainFileOf(root, name));
  const entries = [...taskFiles(tasks).map((file) => join(tasks, file)), ...threads, ...named];
  const files = await traceFiles(root, entries, graph);
  const bundled = new Set([...graph].flatMap(([importer, imported]) => [importer, ...imported.values()]));
  const packages = chooseCopied(files, bundled, [...external, ...nodeModules]);
  const own = ownCopied(files, new Set([...bundled, ...threads]));
  return { files, packages, own, layout: layoutOf(files, packages) };
}

/**
 * The project's own files that are loaded by a name or a path that only the running program knows: they are copied,
 * with what they load.
 * @param built Files that are built.
 */
function ownCopied(files: TracedFiles, built: ReadonlySet<string>): ReadonlySet<string> {
  const own = [...files].filter(([file]) => packageOf(file) === undefined && isFile(file));
  const found = new Set(own.map(([file]) => file).filter((file) => isCode(file) && !built.has(file)));
  for (const loader of found) for (const [file, { parents }] of own) if (parents.includes(loader)) found.add(file);
  return found;
}

/** @throws TaskFileError for a package that is not installed */
function mainFileOf(root: string, name: string): string {
  try {
    return realPath(createRequire(join(root, "index.js")).resolve(name));
  } catch (cause) {
    throw new TaskFileError(`The option nodeModules names ${name}, which is not installed in ${root}.`, { cause });
  }
}

interface Copies {
  root: string;
  files: TracedFiles;
  packages: CopiedPackages;
  /** The project's own files that are copied because other copied ones load them. */
  own: ReadonlySet<string>;
  layout: Layout;
  assets: readonly string[];
}

/** Copies packages, and the files that the code reads. @throws TaskFileError for an asset that is not there */
function copyFiles(out: string, given: Copies): void {
  const { root, packages, layout, assets } = given;
  const copies = new Map<string, string>();
  for (const file of filesToCopy(given)) {
    const isCopied = packages.has(packageOf(file) ?? "");
    for (const place of isCopied ? placesIn(layout, file) : [placeOf(root, file)]) copies.set(place, file);
  }
  for (const path of assets) {
    const file = resolve(root, path);
    if (!existsSync(file)) throw new TaskFileError(`The option assets names ${path}, which is not in ${root}.`);
    copies.set(placeOf(root, file), file);
  }
  for (const [place, file] of [...copies].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const target = join(out, place);
    mkdirSync(dirname(target), { recursive: true });
    if (given.own.has(file) && isTyped(file))
      writeFileSync(target, transformSync(file, readFileSync(file, "utf8"), { tsconfig: true }).code);
    else cpSync(file, target, { dereference: true, recursive: statSync(file).isDirectory() });
  }
}

/** Code that is copied as JavaScript. Node takes it at the same path. */
const isTyped = (file: string): boolean => /\.([cm]?ts|[jt]sx)$/.test(file);

/** Files of the copied packages, and those of the project that its code reads. */
function filesToCopy({ files, packages, own }: Copies): string[] {
  const isWanted = (file: string, isRead: boolean): boolean => {
    const folder = packageOf(file);
    return folder === undefined ? own.has(file) || (isRead && !isCode(file)) : packages.has(folder);
  };
  const traced = [...files].filter(([file, { isRead }]) => isWanted(file, isRead) && isFile(file));
  const whole = [...packages].flatMap(([folder, { whole }]) => [
    ...(whole ? filesOfPackage(folder) : []),
    join(folder, "package.json"),
  ]);
  return [...traced.map(([file]) => file), ...whole];
}
