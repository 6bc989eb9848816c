import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { nodeFileTrace, resolve as nodeResolve } from "@vercel/nft";
import { transformSync } from "rolldown/utils";
import { entries as ownEntries, ownFolders } from "../../installed/installation.ts";
import { isAbsolute, join, ownPaths, realPath, slashed, topOf } from "../../machine/paths.ts";
import { type ImportGraph, isShared } from "./imports.ts";
import { KeptAnalyses } from "./kept-analyses.ts";
import { languageOf } from "./own-places.ts";
import { packageCache } from "./package-cache.ts";
import { isCode, isOfPackage } from "./places.ts";

/** A file that the code may read. */
export interface TracedFile {
  /** Files that read it. */
  readonly parents: string[];
  /** True when it is read as a file, and not as code. */
  isRead: boolean;
}

export type TracedFiles = ReadonlyMap<string, TracedFile>;

/**
 * Finds every file that Node may read: code whose name is computed, files beside the code, binaries. A bundler sees
 * none of them.
 * @param graph Where the bundler found each import: so both see the same files.
 */
export async function traceFiles(root: string, entries: readonly string[], graph: ImportGraph): Promise<TracedFiles> {
  const kept = new KeptAnalyses(packageCache(root), tracerVersion());
  // The tracer compares paths as the machine writes them.
  const { native } = ownPaths;
  const base = native(topOf(root));
  const { fileList, reasons } = await nodeFileTrace(entries.map(native), {
    cache: { analysisCache: kept.byFile },
    base,
    processCwd: native(root),
    mixedModules: true,
    conditions: ["node", "module-sync"],
    ts: true,
    ignore: (path) => ownFolders.some((folder) => join(base, path).startsWith(folder)),
    readFile: readCode,
    async resolve(specifier, from, job, required) {
      const parent = slashed(from);
      const known = graph.get(parent)?.get(specifier);
      // What the code around the project's own has already. A package that is copied needs its own.
      if (!isOfPackage(parent) && (ownEntries[specifier] !== undefined || isShared(known ?? ""))) return [];
      if (known !== undefined) return isAbsolute(known) ? native(known) : [];
      // Of JSX that is read for the trace only.
      if (!isOfPackage(parent) && specifier.endsWith("/jsx-runtime")) return [];
      // What is not there is optional, or the bundler has told it.
      return Promise.resolve(nodeResolve(specifier, from, job, required)).catch(() => []);
    },
  });
  kept.save();
  const files = new Map<string, TracedFile>();
  for (const path of fileList) {
    const why = reasons.get(path);
    const file = realFile(join(base, path));
    const known: TracedFile = files.get(file) ?? { parents: [], isRead: false };
    files.set(file, known);
    known.parents.push(...[...(why?.parents ?? [])].map((parent) => realFile(join(base, parent))));
    known.isRead ||= why?.type.some((type) => type === "asset" || type === "sharedlib") ?? false;
  }
  return files;
}

const tracerVersion = (): string =>
  (createRequire(import.meta.url)("@vercel/nft/package.json") as { version: string }).version;

/** The project's code as JavaScript. */
async function readCode(path: string): Promise<string | null> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "EISDIR") return null;
    throw error;
  });
  if (text === null || isOfPackage(slashed(path)) || !isCode(path)) return text;
  // JSX that a `tsconfig.json` leaves would end the trace.
  const jsx = { runtime: "automatic" } as const;
  return transformSync(path, text, { lang: languageOf(path), sourcemap: false, decorator: { legacy: true }, jsx }).code;
}

/** Packages are links in many projects: a file counts once, where it really is. */
function realFile(path: string): string {
  try {
    return realPath(path);
  } catch {
    return path;
  }
}
