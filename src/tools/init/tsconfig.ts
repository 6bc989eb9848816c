/*
 * The project's own `tsconfig.json`. Its build would compile the new folders, too: with another root folder for its
 * output, and without the settings that imports with `.ts` need.
 */

const comments = /("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*.*?\*\//gs;

interface Settings {
  compilerOptions?: { outDir?: string; allowImportingTsExtensions?: boolean };
  include?: string[];
  files?: string[];
  exclude?: string[];
}

/** Undefined for a text that is not JSON with comments. */
function parsed(text: string): Settings | undefined {
  try {
    return JSON.parse(text.replaceAll(comments, "$1").replaceAll(/,(\s*[}\]])/g, "$1")) as Settings;
  } catch {
    return undefined;
  }
}

/** True when a pattern of `include` can match a file at the project's root folder or in any folder. */
const takesAll = (pattern: string): boolean => /^(\.\/?|(\.\/)?\*.*)$/.test(pattern);

/**
 * Leaves the new files out of the project's own compilation, and changes nothing else in the text.
 * @returns undefined when they are not in it, or the project already compiles such imports
 */
export function withoutTasks(text: string, paths: readonly string[]): string | undefined {
  const settings = parsed(text);
  if (settings === undefined || settings.compilerOptions?.allowImportingTsExtensions === true) return undefined;
  const { include, files, exclude = [] } = settings;
  const takes = (path: string) => include?.some((one) => takesAll(one) || one.replace(/^\.\//, "").startsWith(path));
  const taken = include === undefined ? (files === undefined ? paths : []) : paths.filter(takes);
  const missing = taken.filter((path) => !exclude.includes(path));
  if (missing.length === 0) return undefined;
  const listed = missing.map((path) => JSON.stringify(path)).join(", ");
  const present = /"exclude"\s*:\s*\[/.exec(text);
  if (present !== null) {
    const at = present.index + present[0].length;
    return `${text.slice(0, at)}${listed}${exclude.length > 0 ? ", " : ""}${text.slice(at)}`;
  }
  // A list of its own replaces the compiler's, which has the packages and the output.
  const own = ["node_modules", settings.compilerOptions?.outDir].filter((path) => path !== undefined);
  return text.replace("{", `{\n  "exclude": [${[...own.map((path) => JSON.stringify(path)), listed].join(", ")}],`);
}
