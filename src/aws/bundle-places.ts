import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { fileURLToPath } from "node:url";
import { type Place, type PlaceOf, type StackOf, stackText } from "../core/model/stack.ts";

/**
 * Writes stacks with the places in the authors' sources, by the source maps beside the bundle (`lib/esbuild.ts`). It
 * loads with the first error of a worker, and reads a map with the first error in its file, so that they cost a cold
 * start nothing.
 */
export const bundleStackOf: StackOf = async (error) => stackText(error, placeInSources);

const maps = new Map<string, SourceMap | undefined>();

/** Place in the authors' sources of a place in the bundle. */
export const placeInSources: PlaceOf = ({ file, line, column }): Place | undefined => {
  // The build has put the place into the error.
  if (isSource(file)) return { file, line, column };
  const entry = mapOf(file)?.findEntry(line - 1, column - 1);
  if (entry === undefined || !("originalSource" in entry) || entry.originalSource === "") return undefined;
  return { file: entry.originalSource, line: entry.originalLine + 1, column: entry.originalColumn + 1 };
};

/** True for a path of the sources, as source maps name them. */
const isSource = (file: string): boolean => !/^([/\\]|[a-z]+:)/i.test(file);

/** Undefined: the file is none of the bundle's, such as Node's own and those of layers. */
function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(file));
  return maps.get(file);
}

function readMap(file: string): SourceMap | undefined {
  try {
    const path = file.startsWith("file://") ? fileURLToPath(file) : file;
    return new SourceMap(JSON.parse(readFileSync(`${path}.map`, "utf8")));
  } catch {
    return undefined;
  }
}
