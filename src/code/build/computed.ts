import { existsSync, readdirSync, statSync } from "node:fs";
import MagicString from "magic-string";
import type { Plugin } from "rolldown";
import { parseSync, Visitor } from "rolldown/utils";
import { basename, dirname, resolve } from "../../machine/paths.ts";
import { declaredNames, languageOf } from "./own-places.ts";
import { isCode, isOfPackage, placeOf } from "./places.ts";

const quoted = (text: string): string => JSON.stringify(text);

/** Code that may load a module by a name that is not one text. */
const sign = /\b(?:import|require)\s*\(\s*(?!["'][^"']*["']\s*[,)])/;

type Visits = NonNullable<ConstructorParameters<typeof Visitor>[0]>;
type Expression = Parameters<NonNullable<Visits["ImportExpression"]>>[0]["source"];

export interface ComputedOptions {
  root: string;
  /** `local`: files stay where they are. `asset`: they are copied to their places. */
  mode: "local" | "asset";
}

/**
 * A name that is put together, as in `import(\`./locales/${language}.ts\`)`, may mean each file that fits: these are
 * built, too, and loaded when they are needed. Any other name means what it means for Node, seen from the place of the
 * file.
 */
export const computedImports = ({ root, mode }: ComputedOptions): Plugin => ({
  name: "computed-imports",
  transform(text, id) {
    if (id.startsWith("\0") || isOfPackage(id) || !isCode(id) || !sign.test(text)) return null;
    const { program, errors } = parseSync(id, text, { lang: languageOf(id) });
    // The bundler tells it.
    if (errors.length > 0) return null;
    const out = new MagicString(text);
    const place = quoted(mode === "local" ? id : placeOf(root, id));
    const put = (
      node: { start: number; end: number },
      source: Expression,
      load: "import" | "require",
      other: string,
    ) => {
      const name = text.slice(source.start, source.end);
      const known = filesFor(id, source).map(([key, file]) => `${quoted(key)}: () => ${load}(${quoted(file)})`);
      out.overwrite(node.start, node.end, `__offload_load(${name}, { ${known.join(", ")} }, ${other})`);
    };
    const ownRequire = !declaredNames(program).has("require");
    const visits: Visits = {
      ImportExpression(node) {
        if (isText(node.source)) return;
        put(node, node.source, "import", `(name) => import(__offload_from(${place}, name))`);
      },
      CallExpression(node) {
        const [name, more] = node.arguments;
        if (!ownRequire || node.callee.type !== "Identifier" || node.callee.name !== "require") return;
        if (name === undefined || more !== undefined || name.type === "SpreadElement" || isText(name)) return;
        put(node, name, "require", `__offload_create(__offload_path(${place}))`);
      },
    };
    new Visitor(visits).visit(program);
    return out.hasChanged() ? { code: out.toString(), map: out.generateMap({ hires: "boundary", source: id }) } : null;
  },
});

const isText = (node: Expression): boolean =>
  node.type === "Literal" || (node.type === "TemplateLiteral" && node.expressions.length === 0);

/** Stands in a name for a part that only the running program knows. */
const unknown = "\0";

/** The text of an expression, with a mark for each part that only the running program knows. */
function textOf(node: Expression): string {
  if (node.type === "Literal" && typeof node.value === "string") return node.value;
  if (node.type === "TemplateLiteral") return node.quasis.map(({ value }) => value.cooked ?? "").join(unknown);
  if (node.type === "BinaryExpression" && node.operator === "+") {
    return textOf(node.left) + textOf(node.right);
  }
  return unknown;
}

/**
 * Files that an expression may mean, by the names that it may have. A part of a name is within one folder, as for other
 * bundlers.
 */
function filesFor(id: string, source: Expression): [string, string][] {
  const text = textOf(source);
  if (!/^\.{1,2}\/[^\0]*\0/.test(text)) return [];
  const steps = text.split("/");
  const last = steps.pop() ?? "";
  let folders: Named[] = [["", dirname(id)]];
  for (const step of steps) {
    folders = folders.flatMap(([name, folder]) =>
      foldersIn(folder, step).map(([key, path]) => [`${name}${key}/`, path]),
    );
  }
  const files = folders.flatMap(([name, folder]) => filesIn(folder, last).map(([key, file]) => [name + key, file]));
  return files.filter((one): one is Named => one[1] !== id);
}

/** A name, as code says it, and the path that it means. */
type Named = [name: string, path: string];

/** Folders that one step of a name may mean. */
function foldersIn(folder: string, step: string): Named[] {
  if (!step.includes(unknown)) return [[step, resolve(folder, step)]];
  return entriesOf(folder)
    .filter((entry) => entry.isDirectory() && fits(step, entry.name))
    .map(({ name }) => [name, resolve(folder, name)]);
}

/** Files that the end of a name may mean. A folder stands for its index. */
const filesIn = (folder: string, step: string): Named[] =>
  entriesOf(folder).flatMap((entry) => {
    const path = resolve(folder, entry.name);
    const file = entry.isDirectory() ? indexOf(path) : path;
    const names = entry.isDirectory() ? [entry.name] : namesOf(path);
    return file === undefined ? [] : names.filter((name) => fits(step, name)).map((name): Named => [name, file]);
  });

const fits = (step: string, name: string): boolean =>
  new RegExp(`^${step.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&").replaceAll(unknown, ".+")}$`).test(name);

/** Entries of a folder, sorted. None: there is no such folder. */
const entriesOf = (folder: string) =>
  existsSync(folder) && statSync(folder).isDirectory()
    ? readdirSync(folder, { withFileTypes: true })
        .filter(({ name }) => name !== "node_modules")
        .sort((a, b) => (a.name < b.name ? -1 : 1))
    : [];

const indexOf = (folder: string): string | undefined =>
  ["index.ts", "index.tsx", "index.js", "index.cjs", "index.json"]
    .map((name) => resolve(folder, name))
    .find(existsSync);

/** Names by which code may load a file: that of the compiled file, and the name without its extension. */
function namesOf(file: string): string[] {
  if (!isCode(file) && !file.endsWith(".json")) return [];
  const name = basename(file);
  const compiled = name.replace(/\.([cm]?)tsx?$/, ".$1js");
  return [...new Set([name, compiled, name.replace(/\.\w+$/, "")])];
}
