import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import MagicString from "magic-string";
import type { Plugin } from "rolldown";
import { parseSync, Visitor } from "rolldown/utils";
import { dirname, pathOfUrl } from "../../machine/paths.ts";
import { isCode, isOfPackage, placeOf } from "./places.ts";

const quoted = (text: string): string => JSON.stringify(text);

/** Code that may ask for its own place. */
const sign = /import\.meta|__dirname|__filename|\brequire\.resolve\b/;

type Visits = ConstructorParameters<typeof Visitor>[0];
type Program = ReturnType<typeof parseSync>["program"];

export interface OwnPlacesOptions {
  root: string;
  /** `local`: files stay where they are. `asset`: they are copied to their places. */
  mode: "local" | "asset";
  /**
   * Gets each code file that the code names by a URL, such as that of a worker thread: it becomes a file of its own.
   */
  onThread(file: string): void;
}

/**
 * Each file keeps its own `import.meta.url`, `import.meta.dirname`, `__dirname` and so on, although all are in one
 * file: the place below the project's root, wherever that is.
 */
export const ownPlaces = (options: OwnPlacesOptions): Plugin => ({
  name: "own-places",
  transform(text, id) {
    if (id.startsWith("\0") || !isCode(id) || !sign.test(text)) return null;
    const { program, errors } = parseSync(id, text, { lang: languageOf(id) });
    // The bundler tells it.
    if (errors.length > 0) return null;
    const out = new MagicString(text);
    replacePlaces(program, id, out, options);
    return out.hasChanged() ? { code: out.toString(), map: out.generateMap({ hires: "boundary", source: id }) } : null;
  },
});

export const languageOf = (file: string): "ts" | "tsx" | "jsx" => {
  if (file.endsWith(".tsx")) return "tsx";
  return /\.[cm]?ts$/.test(file) ? "ts" : "jsx";
};

function replacePlaces(
  program: Program,
  id: string,
  out: MagicString,
  { root, mode, onThread }: OwnPlacesOptions,
): void {
  const place = (file: string) => quoted(mode === "local" ? file : placeOf(root, file));
  const [filename, dirnameOf] = [`__offload_path(${place(id)})`, `__offload_path(${place(dirname(id))})`];
  const ofModule = new Map([
    ["url", `__offload_url(${place(id)})`],
    ["filename", filename],
    ["dirname", dirnameOf],
    ["resolve", `__offload_resolver(${place(id)})`],
  ]);
  const ofCommonJs = new Map([
    ["__filename", filename],
    ["__dirname", dirnameOf],
  ]);
  const names = declaredNames(program);
  const done: [number, number][] = [];
  const put = ({ start, end }: { start: number; end: number }, value: string) => {
    if (done.some(([from, to]) => from <= start && end <= to)) return;
    done.push([start, end]);
    out.overwrite(start, end, value);
  };
  const visits: Visits = {
    NewExpression(node) {
      const [path, base] = node.arguments;
      if (!isNamed(node.callee, "URL") || path?.type !== "Literal" || typeof path.value !== "string") return;
      if (base?.type !== "MemberExpression" || !isMeta(base.object) || isOfPackage(id)) return;
      const target = codeFileAt(path.value, id);
      if (target === undefined) return;
      onThread(target);
      put(node, `__offload_thread(${quoted(threadFile(root, target))})`);
    },
    MemberExpression(node) {
      const value = node.property.type === "Identifier" ? ofModule.get(node.property.name) : undefined;
      if (value !== undefined && isMeta(node.object)) put(node, value);
      const isResolve = isNamed(node.object, "require") && isNamed(node.property, "resolve");
      if (isResolve && !names.has("require") && !isOfPackage(id)) {
        put(node, `__offload_create(__offload_path(${place(id)})).resolve`);
      }
    },
    Identifier({ name, start, end }) {
      const value = ofCommonJs.get(name);
      if (value !== undefined && !names.has(name)) put({ start, end }, value);
    },
  };
  new Visitor(visits).visit(program);
}

const isNamed = (node: { type: string; name?: unknown }, name: string): boolean =>
  node.type === "Identifier" && node.name === name;

const isMeta = (node: { type: string; meta?: { name: string } }): boolean =>
  node.type === "MetaProperty" && node.meta?.name === "import";

/** Names of `__dirname` and `__filename` that the file declares itself, as ES modules do. */
export function declaredNames(program: Program): ReadonlySet<string> {
  const names = new Set<string>();
  new Visitor({
    VariableDeclarator({ id }) {
      if (id.type === "Identifier") names.add(id.name);
    },
    ImportSpecifier({ local }) {
      names.add(local.name);
    },
  }).visit(program);
  return names;
}

/** The code file of a URL, whose extension may be that of its compiled form. */
function codeFileAt(relative: string, id: string): string | undefined {
  const path = pathOf(URL.parse(relative, pathToFileURL(id).href));
  if (path === undefined) return undefined;
  const written = [path, path.replace(/\.js$/, ".ts"), path.replace(/\.mjs$/, ".mts"), path.replace(/\.cjs$/, ".cts")];
  return written.find((one) => isCode(one) && existsSync(one));
}

/** Undefined: it names no file of this machine. */
function pathOf(url: URL | null): string | undefined {
  try {
    return url?.protocol === "file:" ? pathOfUrl(url) : undefined;
  } catch {
    return undefined;
  }
}

/** Path of the built file of a worker thread. */
export const threadFile = (root: string, file: string): string => `threads/${placeOf(root, file)}.mjs`;

/**
 * Top of a built file.
 * @param up The way from the file to the folder of the built code.
 */
export const placesBanner = (up: string): string =>
  [
    'import { createRequire as __offload_create } from "node:module";',
    'import { pathToFileURL as __offload_to } from "node:url";',
    'import { join as __offload_join, resolve as __offload_resolve } from "node:path";',
    `const __offload_root = __offload_join(import.meta.dirname, ${quoted(up)});`,
    "const __offload_path = (path) => __offload_resolve(__offload_root, path);",
    "const __offload_url = (path) => __offload_to(__offload_path(path)).href;",
    "const __offload_from = (path, name) => (/^\\.{1,2}\\//.test(name) ? new URL(name, __offload_url(path)).href : name);",
    "const __offload_resolver = (path) => (name) => __offload_to(__offload_create(__offload_path(path)).resolve(name)).href;",
    "const __offload_load = (name, known, other) => (Object.hasOwn(known, name) ? known[name]() : other(name));",
    "const __offload_thread = (path) => __offload_to(__offload_join(__offload_root, path));",
    'const __offload_require = __offload_create(__offload_join(__offload_root, "index.js"));',
  ].join("\n");
