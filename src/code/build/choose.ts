import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join, slashed } from "../../machine/paths.ts";
import { isBinary, isCode, isOfPackage, packageName, packageOf } from "./places.ts";
import type { TracedFile, TracedFiles } from "./trace.ts";

/** A package that is copied as it is, and not bundled. */
export interface CopiedPackage {
  /** The reason, as the end of "it ...". */
  readonly why: string;
  /** True when all its files are copied, as nobody can know which of them it loads. */
  whole: boolean;
}

/** By the packages' folders. */
export type CopiedPackages = ReadonlyMap<string, CopiedPackage>;

const comments = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

/** Code that loads by a name or a place that only the running program knows. */
const signs: readonly { why: string; sign: RegExp; whole: boolean }[] = [
  { why: "starts a worker thread", sign: /\bnew\s+Worker\s*\(|\bWorker\)\s*\(/, whole: false },
  { why: "makes its own `require`", sign: /\bcreateRequire\w*\s*\)?\s*\(/, whole: false },
  {
    why: "loads a computed name",
    // All but one text, and but a function of that name.
    sign: /(?<![.\w$])(?:require|import)\s*\(\s*(?!(["'`])(?:(?!\1|\$\{).)*\1\s*[,)])(?!\w+\s*\)\s*\{)[^)]/,
    whole: true,
  },
];

/**
 * Chooses the packages that are copied: those of which a bundle would not work. Every package that one of them loads is
 * copied too, so that no package exists twice.
 * @param bundled The files that the bundler sees.
 * @param asked Names of packages that the user wants to be copied.
 */
export function chooseCopied(
  files: TracedFiles,
  bundled: ReadonlySet<string>,
  asked: readonly string[],
): CopiedPackages {
  const chosen = new Map<string, CopiedPackage>();
  const choose = (folder: string | undefined, why: string, whole = false) => {
    if (folder === undefined) return;
    const known = chosen.get(folder);
    if (known === undefined) chosen.set(folder, { why, whole });
    else known.whole ||= whole;
  };
  for (const [file, traced] of files) {
    const folder = packageOf(file);
    if (folder === undefined || !isFile(file)) continue;
    if (asked.includes(packageName(folder))) choose(folder, "is named in an option");
    for (const { why, whole } of reasonsOf(file, traced)) choose(folder, why, whole);
    const own = traced.parents.some((parent) => !isOfPackage(parent));
    if (own && !bundled.has(file)) choose(folder, "is loaded by the project's own `require`");
  }
  chooseLoaders(files, choose);
  chooseLoaded(files, chosen, choose);
  return chosen;
}

/** The facts about its package that one file shows. */
function reasonsOf(file: string, { isRead }: TracedFile): readonly { why: string; whole: boolean }[] {
  const name = basename(file);
  if (isBinary(file)) return [{ why: `has the binary ${name}`, whole: true }];
  if (isRead && name !== "package.json") return [{ why: `reads its file ${name}`, whole: false }];
  if (!isCode(file)) return [];
  const text = readFileSync(file, "utf8").replace(comments, "");
  return signs.filter(({ sign }) => sign.test(text));
}

/** Adds the packages that load a binary of another one. */
function chooseLoaders(files: TracedFiles, choose: (folder: string | undefined, why: string) => void): void {
  for (const [file, { parents }] of files) {
    if (isBinary(file)) for (const parent of parents) choose(packageOf(parent), `loads the binary ${basename(file)}`);
  }
}

/** Adds the packages that the chosen ones load, directly or not. */
function chooseLoaded(
  files: TracedFiles,
  chosen: ReadonlyMap<string, CopiedPackage>,
  choose: (folder: string, why: string) => void,
): void {
  const loads = new Map<string, Set<string>>();
  for (const [file, { parents }] of files) {
    const folder = packageOf(file);
    for (const parent of parents.map(packageOf)) {
      if (folder === undefined || parent === undefined || parent === folder) continue;
      loads.set(parent, (loads.get(parent) ?? new Set()).add(folder));
    }
  }
  // The loop also visits those that it adds.
  for (const folder of chosen.keys()) {
    for (const other of loads.get(folder) ?? []) choose(other, `is loaded by ${packageName(folder)}`);
  }
}

export const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();

/** Files that no program reads: texts, types, maps, and what a compiler leaves beside the binary. */
const useless =
  /\.(map|md|markdown|d\.[cm]?ts|flow|tsbuildinfo)$|(^|\/)build\/(Release|Debug)\/(obj|obj\.target|\.deps)\/|(^|\/)(LICENSE|CHANGELOG|README)[^/]*$/i;

/** The files of a whole package, without nested packages, types, maps and texts. */
export const filesOfPackage = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map(slashed)
    .filter((path) => !path.split("/").includes("node_modules") && !useless.test(path))
    .map((path) => join(folder, path))
    .filter((path) => statSync(path).isFile());
