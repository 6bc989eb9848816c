/** A place in a code file. Line and column count from 1. */
export interface Place {
  file: string;
  line: number;
  column: number;
}

/**
 * Translates a place in the code that runs to a place in the sources. Returns undefined for code that authors do not
 * look for.
 */
export type PlaceOf = (place: Place) => Place | undefined;

/** Writes the stack of a thrown value. Undefined: it has none. Never rejects. */
export type StackOf = (error: unknown) => Promise<string | undefined>;

/** Longest stack, in characters. It is stored with each failed attempt, and DynamoDB counts each 1 KB of a write. */
const longestStack = 2_000;

/** Frames that are kept of one error. */
const maxFrames = 8;

/** Nested causes that are written. */
const deepestCause = 4;

/** Longest text of an error's name and message in a stack, in characters. */
const longestTitle = 300;

/**
 * Writes the names, the messages and the places of an error and its causes:
 *
 *     TypeError: fetch failed
 *         at send (tasks/webhook.send.ts:18:40)
 *     caused by Error ECONNREFUSED: connect ECONNREFUSED 127.0.0.1:9
 *
 * It has at most 2,000 characters. Never throws, whatever was thrown.
 * @returns Undefined for a value that is not an error, or is an error without a place
 */
export function stackText(error: unknown, placeOf: PlaceOf): string | undefined {
  const parts: string[] = [];
  let places = 0;
  let current = error;
  for (let depth = 0; depth <= deepestCause && isError(current); depth++) {
    const frames = framesOf(current, placeOf);
    places += frames.length;
    parts.push(`${depth === 0 ? "" : "caused by "}${titleOf(current)}`, ...frames);
    current = read(current, "cause") ?? firstOf(read(current, "errors"));
  }
  return places === 0 ? undefined : bounded(parts);
}

/** Writes stacks with the places of the code that runs, without those of Node and of an installed Offload. */
export const plainStackOf: StackOf = async (error) =>
  stackText(error, (place) => (/^node:|[/\\]node_modules[/\\]offload[/\\]/.test(place.file) ? undefined : place));

/** The first place in a stack that `stackText` wrote, as `file:line:column`. Undefined: there is none. */
export function firstPlaceIn(stack: string | null | undefined): string | undefined {
  const [, named, alone] = /^ {4}at (?:.*? \((.+:\d+:\d+)\)|(.+:\d+:\d+))$/m.exec(stack ?? "") ?? [];
  return named ?? alone;
}

/** Errors of code that is wrong, however often it runs. */
const bugs: ReadonlySet<string> = new Set(["TypeError", "ReferenceError"]);

/**
 * True for a bug of the author's own code: a TypeError or ReferenceError whose stack begins in the author's sources,
 * not in a package, in Node or in Offload. `fetch` and others throw a TypeError with a cause for what may pass. Never
 * rejects.
 */
export async function isOwnBug(error: unknown, stackOf: StackOf): Promise<boolean> {
  if (!isError(error) || !bugs.has(textOf(error, "name")) || read(error, "cause") !== undefined) return false;
  if (textOf(error, "code") !== "") return false;
  const first = stackLines(error).find((line) => line.length <= longestLine && /^\s*at /.test(line));
  if (first === undefined || frameIn(first) === undefined) return false;
  // Places that authors do not look for are left out: then nothing is left.
  const place = firstPlaceIn(await stackOf({ name: "TypeError", message: "", stack: `TypeError\n${first}` }));
  return place !== undefined && !/(^|[/\\])node_modules[/\\]|^node:/.test(place);
}

/** Leaves out whole lines at the end. */
function bounded(lines: readonly string[]): string {
  let text = lines[0] ?? "";
  for (const line of lines.slice(1)) {
    if (text.length + line.length + 1 > longestStack) break;
    text += `\n${line}`;
  }
  return text.toWellFormed();
}

/** An error's name, code and message in one line. */
function titleOf(error: object): string {
  const name = textOf(error, "name") || "Error";
  const code = textOf(error, "code");
  const message = textOf(error, "message").replaceAll(/\s+/g, " ").trim();
  const named = code === "" || code === name ? name : `${name} ${code}`;
  return (message === "" ? named : `${named}: ${message}`).slice(0, longestTitle);
}

/**
 * A frame of V8: `at <function> (<file>:<line>:<column>)`, or without a function `at <file>:<line>:<column>`, perhaps
 * with `async`. Paths may have parentheses, too. A loader may have put a query behind the file; a question mark in the
 * name of a folder has a slash after it.
 */
const frame = /^\s*at (?!.*\(eval at )(?:(.*?) \((?=.*\)$)|async )?(.+?)(?:\?[^?/\\:\s]*)?:(\d+):(\d+)\)?$/;

interface Frame extends Place {
  /** The function, as V8 names it. Undefined: it has no name. */
  called: string | undefined;
}

/** Undefined: the line is no frame, or one of code that `eval` made. */
export function frameIn(line: string): Frame | undefined {
  const [, called, file, lineNumber, column] = (line.length > longestLine ? null : frame.exec(line)) ?? [];
  return file === undefined ? undefined : { called, file, line: Number(lineNumber), column: Number(column) };
}

/** A longer line is not a frame, in characters. */
const longestLine = 1_000;

function framesOf(error: object, placeOf: PlaceOf): string[] {
  const frames: string[] = [];
  for (const line of stackLines(error)) {
    const found = frameIn(line);
    if (found === undefined) continue;
    const { called, ...at } = found;
    const place = translated(placeOf, at);
    if (place === undefined) continue;
    const where = `${place.file}:${place.line}:${place.column}`;
    frames.push(called === undefined ? `    at ${where}` : `    at ${plainName(called)} (${where})`);
    if (frames.length === maxFrames) break;
  }
  return frames;
}

/** V8 names a function in a member of an object `Object.handler`, or `Object.name.name [as handler]`. */
const plainName = (called: string): string =>
  called
    .replace(/^.* \[as (.+)\]$/, "$1")
    .replace(/^(async )?Object\./, "$1")
    .slice(0, 100);

/** The lines of an error's stack below its message, which can have lines that look like frames. */
function stackLines(error: object): string[] {
  const stack = textOf(error, "stack");
  const message = textOf(error, "message");
  const at = message === "" ? -1 : stack.indexOf(message);
  // A stack of an author's making may be of any length; V8 writes 10 frames.
  return stack
    .slice(at < 0 ? 0 : at + message.length)
    .slice(0, 20_000)
    .split("\n", 100);
}

function translated(placeOf: PlaceOf, place: Place): Place | undefined {
  try {
    return placeOf(place);
  } catch {
    // A source map that cannot be read must not cost the rest of the stack.
    return place;
  }
}

const isError = (value: unknown): value is object =>
  typeof value === "object" && value !== null && typeof read(value, "stack") === "string";

const firstOf = (value: unknown): unknown => (Array.isArray(value) ? value[0] : undefined);

function textOf(error: object, name: string): string {
  const value = read(error, name);
  return typeof value === "string" ? value : "";
}

/** Reads a property of anything; a getter that throws counts as absent. */
function read(value: object, name: string): unknown {
  try {
    return (value as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}
