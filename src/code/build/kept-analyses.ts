import { createHash } from "node:crypto";
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { packageVersion } from "../../installed/installation.ts";
import { join, slashed } from "../../machine/paths.ts";
import { isOfPackage } from "./places.ts";

/** Findings of the tracer about one file, as its cache has them. */
export interface Analysis {
  assets: Set<string>;
  deps: Set<string>;
  imports: Set<string>;
  isESM: boolean;
}

const texts = z.array(z.string());
const keptFile = z.object({ stamp: z.string(), assets: texts, deps: texts, imports: texts, isESM: z.boolean() });
const keptFiles = z.record(z.string(), keptFile);

/**
 * Keeps the analyses of the files of packages between builds: they change only with a file, and most of a build's time
 * goes into them. What cannot be read is analyzed again, and what cannot be written is not kept.
 */
export class KeptAnalyses {
  /** By the paths of the files. The tracer reads it, and adds to it. */
  readonly byFile: Map<string, Analysis>;
  readonly #file: string;
  readonly #known: number;
  readonly #startedMs = Date.now();

  /**
   * @param folder Folder of the user for this project.
   * @param tracer Version of the tracer.
   */
  constructor(folder: string, tracer: string) {
    const versions = [tracer, packageVersion(), process.version, process.platform].join();
    this.#file = join(folder, `analyses-${createHash("sha256").update(versions).digest("hex").slice(0, 16)}.json`);
    this.byFile = new Map(readKept(this.#file));
    this.#known = this.byFile.size;
  }

  /** Writes the analyses, if there are new ones. Of two builds at once the later one's stay. */
  save(): void {
    const ofPackages = [...this.byFile].filter(([file]) => isOfPackage(slashed(file)));
    if (ofPackages.length <= this.#known) return;
    const kept = ofPackages.flatMap(([file, { assets, deps, imports, isESM }]) => {
      const stamp = stampOf(file, this.#startedMs);
      if (stamp === undefined) return [];
      return [[file, { stamp, assets: [...assets], deps: [...deps], imports: [...imports], isESM }] as const];
    });
    const written = `${this.#file}.${process.pid}`;
    try {
      writeFileSync(written, JSON.stringify(Object.fromEntries(kept)), { mode: 0o600 });
      renameSync(written, this.#file);
    } catch {
      // The next build analyzes the packages again.
      rmSync(written, { force: true });
    }
  }
}

/** The analyses of files that are as they were. A file that another program has damaged counts as none. */
function readKept(file: string): [string, Analysis][] {
  try {
    const kept = keptFiles.parse(JSON.parse(readFileSync(file, "utf8")));
    return Object.entries(kept)
      .filter(([path, { stamp }]) => stamp === stampOf(path))
      .map(([path, { assets, deps, imports, isESM }]) => [
        path,
        { assets: new Set(assets), deps: new Set(deps), imports: new Set(imports), isESM },
      ]);
  } catch {
    return [];
  }
}

/** Changes with each write of the file. Undefined: it is not there, or was changed at or after the time. */
function stampOf(file: string, beforeMs = Number.POSITIVE_INFINITY): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined || Math.max(found.mtimeMs, found.ctimeMs) >= beforeMs) return undefined;
  return [found.size, found.mtimeMs, found.ctimeMs].join();
}
