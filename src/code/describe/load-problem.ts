import { readFileSync } from "node:fs";
import { firstPlaceIn, type Place, type PlaceOf, stackText } from "../../core/model/stack.ts";
import { resolve } from "../../machine/paths.ts";
import type { FailedFile, TaskCode } from "../project/task-code.ts";
import { TaskFileError } from "../project/task-modules.ts";

/** A file of the project that cannot be used. */
export interface LoadProblem {
  readonly file: string;
  /** Says where and why, and shows the line. */
  readonly message: string;
  /** Code of the error, such as `ENOENT`. */
  readonly code: string | undefined;
  /** The stack, with places in the sources. */
  readonly stack: string | undefined;
  /** Secrets that the file read while it was loaded, and for which only a placeholder was there. */
  readonly placeholders: readonly string[];
}

/**
 * Describes why a file cannot be used.
 * @param root Folder that the places of the sources start at.
 */
export function problemOf(
  { folder }: TaskCode,
  { file, error }: FailedFile,
  { root, placeOf, placeholders }: { root: string; placeOf: PlaceOf; placeholders: readonly string[] },
): LoadProblem {
  const shown = `${folder}/${file}`;
  const stack = stackText(error, (place) => belowRoot(placeOf(place), root));
  const code = (error as { code?: unknown } | null)?.code;
  const facts = { file, stack, code: typeof code === "string" ? code : undefined, placeholders };
  if (error instanceof TaskFileError) return { ...facts, message: error.message };
  const said = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const place = firstPlaceIn(stack);
  const at = place === undefined ? "" : ` at ${place}`;
  const line = place === undefined ? undefined : lineAt(root, place);
  const shownLine = line === undefined ? "" : `\n\n    ${line.trim()}\n`;
  return {
    ...facts,
    message: `${shown} could not be imported${at}: ${said.replaceAll(/\s+/g, " ").trim()}.${shownLine}`,
  };
}

const belowRoot = (place: Place | undefined, root: string): Place | undefined =>
  place?.file.startsWith(`${root}/`) ? { ...place, file: place.file.slice(root.length + 1) } : place;

/** The line of a place in the sources. Undefined: the file cannot be read here. */
function lineAt(root: string, place: string): string | undefined {
  const [, path = "", line] = /^(.+):(\d+):\d+$/.exec(place) ?? [];
  try {
    return readFileSync(resolve(root, path), "utf8").split("\n")[Number(line) - 1];
  } catch {
    return undefined;
  }
}
