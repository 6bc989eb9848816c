import { createHash } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Metafile } from "esbuild";
import { codeFolder, ownFolders } from "../src/installation.ts";

/*
 * Names in a bundle that do not depend on the folder of the checkout: the same sources make the same bytes, and a deployment from another
 * machine replaces no function.
 */

/**
 * Names the sources in the source maps by their places in the project. Offload's own sources lose their names: stacks leave them out.
 * @param code Folder of the built code of the task types, whose own maps name their sources by places already.
 */
export function nameSources({ outputs }: Metafile, code: string): void {
  const nameOf = (source: string): string => {
    if (source.startsWith(`${code}/`)) return source.slice(code.length + 1);
    const isOwn = ownFolders.some((folder) => source.startsWith(folder));
    return isOwn ? "" : source.slice(Math.max(0, source.indexOf("/node_modules/") + 1));
  };
  for (const output of Object.keys(outputs).filter((path) => path.endsWith(".map"))) {
    const path = join(codeFolder, output);
    const map = JSON.parse(readFileSync(path, "utf8")) as { sources: string[] };
    const sources = map.sources.map((source) => nameOf(resolve(dirname(path), source)));
    writeFileSync(path, JSON.stringify({ ...map, sources }));
  }
}

/** A name that esbuild makes of the contents of a file and of its map, in which paths of this machine were. */
const hashed = /-([A-Z0-9]{8})\.mjs$/;

/** Gives the files of a bundle names that follow from their code alone. @returns the metafile with these names */
export function nameFiles(metafile: Metafile): Metafile {
  const paths = Object.keys(metafile.outputs).filter((path) => hashed.test(path));
  let names = new Map(paths.map((path) => [path, "_".repeat(8)]));
  const texts = new Map(
    Object.keys(metafile.outputs)
      .filter((path) => path.endsWith(".mjs"))
      .map((path) => [path, readFileSync(join(codeFolder, path), "utf8")]),
  );
  // A file's name follows from its text, in which are the names of others: first without them, then with those of the round before.
  for (let round = 0; round < 3; round++) {
    const before = names;
    names = new Map(paths.map((path) => [path, hashOf(renamed(texts.get(path) ?? "", before))]));
  }
  for (const [path, text] of texts) writeFileSync(join(codeFolder, path), renamed(text, names));
  for (const path of Object.keys(metafile.outputs)) {
    const target = renamed(path, names);
    if (target !== path) renameSync(join(codeFolder, path), join(codeFolder, target));
  }
  return JSON.parse(renamed(JSON.stringify(metafile), names));
}

/** Replaces names in a text. They keep their length, so that places in maps stay right. */
function renamed(text: string, names: ReadonlyMap<string, string>): string {
  let result = text;
  for (const [path, hash] of names) {
    const name = basename(path);
    result = result.replaceAll(name, name.replace(hashed, `-${hash}.mjs`));
  }
  return result;
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 8).toUpperCase();
