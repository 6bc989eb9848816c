import { readFileSync } from "node:fs";
import type { Plugin } from "rolldown";
import { parseSync } from "rolldown/utils";
import { extname } from "../../machine/paths.ts";
import { languageOf } from "./own-places.ts";
import { isCode, isOfPackage, placeOf } from "./places.ts";

const quoted = (text: string): string => JSON.stringify(text);

/** A module that throws when it is reached: only the types that import it fail. */
const throwing = (error: string) => ({ code: `throw ${error};\nexport default undefined;`, moduleType: "js" as const });

const mark = "\0missing:";

/** Id of the module that stands for an import that leads nowhere. */
export const missingId = (source: string, importer: string, required: boolean): string =>
  mark + JSON.stringify([source, importer, required]);

/** An import that leads nowhere throws when it is reached, as in Node: packages load optional ones within `try`. */
export const missingImports = (root: string): Plugin => ({
  name: "missing-imports",
  load: {
    filter: { id: /^\0missing:/ },
    handler(id) {
      const [source, importer, required] = JSON.parse(id.slice(mark.length)) as [string, string, boolean];
      const kind = /^[./]/.test(source) ? "module" : "package";
      const message = `Cannot find ${kind} '${source}' imported from ${placeOf(root, importer)}`;
      const code = required ? "MODULE_NOT_FOUND" : "ERR_MODULE_NOT_FOUND";
      const at = `${placeOf(root, importer)}:${importPosition(importer, source)}`;
      const error = `Object.assign(new Error(${quoted(message)}), { code: ${quoted(code)}, stack: ${quoted(`Error: ${message}\n    at ${at}`)} })`;
      return required ? { code: `throw ${error};\nmodule.exports = {};`, moduleType: "js" } : throwing(error);
    },
  },
});

/** Line and column of the text of an import in a file. */
function importPosition(file: string, source: string): string {
  const lines = readFileSync(file, "utf8").split("\n");
  const index = lines.findIndex((line) => /\b(from|import|require)\b/.test(line) && line.includes(source));
  return `${index + 1}:${(lines[index]?.indexOf(source) ?? 0) + 1}`;
}

/** Files that the bundler reads: code, and JSON. */
const readable = /\.([cm]?[jt]sx?|json)$/;

/** A file of the project that cannot be parsed, or that Node would not import, throws when it is reached. */
export const unreadableFiles = (root: string): Plugin => ({
  name: "unreadable-files",
  load(id) {
    if (id.startsWith("\0") || readable.test(id)) return null;
    const message = `Unknown file extension "${extname(id)}" of ${placeOf(root, id)}: read the file, or import a module`;
    return throwing(`Object.assign(new TypeError(${quoted(message)}), { code: "ERR_UNKNOWN_FILE_EXTENSION" })`);
  },
  transform(text, id) {
    if (id.startsWith("\0") || isOfPackage(id)) return null;
    if (id.endsWith(".json")) return jsonFault(text, placeOf(root, id));
    if (!isCode(id)) return null;
    const [error] = parseSync(id, text, { lang: languageOf(id) }).errors;
    if (error === undefined) return null;
    const place = `${placeOf(root, id)}:${positionIn(text, error.labels?.[0]?.start ?? 0)}`;
    return throwing(syntaxError(place, error.message));
  },
});

/** An error whose stack has the place that the parser found. */
const syntaxError = (place: string, message: string): string =>
  `((error) => { error.stack = ${quoted(`SyntaxError: ${message}\n    at ${place}`)}; return error; })(new SyntaxError(${quoted(message)}))`;

function jsonFault(text: string, place: string) {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    const { message } = error as Error;
    const at = Number(/position (\d+)/.exec(message)?.[1] ?? 0);
    return throwing(syntaxError(`${place}:${positionIn(text, at)}`, message));
  }
}

/** Line and column of a character, both from 1. */
function positionIn(text: string, at: number): string {
  const lines = text.slice(0, at).split("\n");
  return `${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`;
}
