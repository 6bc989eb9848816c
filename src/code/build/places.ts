import { existsSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, join, realPath, relative } from "../../machine/paths.ts";

/* Where a file of the project, or of a package, lies in a worker's asset. */

const packages = "/node_modules/";

/** True for a file of a package. The project's own code includes packages of its workspace, which are links there. */
export const isOfPackage = (file: string): boolean => file.includes(packages);

/** The folder that the code's places start at: the nearest one above the task files with a `package.json`. */
export function rootOf(tasks: string): string {
  const start = dirname(realPath(tasks));
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
    if (folder === dirname(folder)) return start;
  }
}

/**
 * Path of a file in the asset: as below the root. Files above the root are below `outside`, those of packages below
 * `node_modules`.
 */
export function placeOf(root: string, file: string): string {
  if (isOfPackage(file)) return file.slice(file.indexOf(packages) + 1);
  const path = relative(root, file);
  // On another drive.
  if (isAbsolute(path)) return `outside/${path.replace(/^\/+/, "").replace(":", "")}`;
  const up = /^(\.\.\/)+/.exec(path)?.[0] ?? "";
  return `${up.replaceAll("..", "outside")}${path.slice(up.length)}`;
}

/** Folder of the package that has a file, such as `/x/node_modules/@a/b`. Undefined: it is the project's own code. */
export function packageOf(file: string): string | undefined {
  const at = file.lastIndexOf(packages);
  const name = at < 0 ? undefined : /^(?:@[^/]+\/)?[^/]+/.exec(file.slice(at + packages.length))?.[0];
  return name === undefined ? undefined : file.slice(0, at + packages.length) + name;
}

/** Name of a package, from its folder. */
export const packageName = (folder: string): string => folder.slice(folder.lastIndexOf(packages) + packages.length);

/** The part of a `package.json` that counts here. */
export interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly type?: string;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Packages do not change while a process runs; the project's own manifests may. */
const known = new Map<string, Manifest | undefined>();

export function manifestOf(folder: string): Manifest | undefined {
  if (known.has(folder)) return known.get(folder);
  const file = join(folder, "package.json");
  const found = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Manifest) : undefined;
  if (isOfPackage(file)) known.set(folder, found);
  return found;
}

/** True when Node runs a file as an ES module. */
export function isModule(file: string): boolean {
  if (/\.(mjs|mts)$/.test(file)) return true;
  if (/\.(cjs|cts|json|node)$/.test(file)) return false;
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = manifestOf(folder);
    if (manifest !== undefined) return manifest.type === "module";
  }
  return false;
}

/** True for a file with code, declarations excluded. */
export const isCode = (file: string): boolean => /\.[cm]?[jt]sx?$/.test(file) && !/\.d\.[cm]?ts$/.test(file);

/** True for a file with machine code. */
export const isBinary = (file: string): boolean => /\.(node|so(\.\d+)*|dylib|dll)$/.test(file);
