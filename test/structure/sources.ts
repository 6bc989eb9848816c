import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** One source file of the project. */
export interface Source {
  /** From the project's root. */
  path: string;
  text: string;
}

/** The folders with sources of our own, and the files beside them. */
const patterns = ["{bin,console,examples,lambdas,lib,src,tasks,test}/**/*.ts", "console/**/*.tsx", "*.ts"];

/** Every TypeScript file of the project. */
export const sources = (): Source[] =>
  globSync(patterns, { exclude: (path) => path.includes("node_modules") })
    .sort()
    .map((path) => ({ path, text: readFileSync(path, "utf8") }));

const statement = /(?:^|[\n;])\s*(?:import|export)\b(?:[^"'`;()]*?\bfrom)?\s*["']([^"']+)["']/g;
const dynamic = /\bimport\s*\(\s*["']([^"']+)["']/g;

/** Text without its comments, so that an example in one is no import. Strings that hold `//` may lose their end. */
const withoutComments = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/(^|[^:"'`])\/\/[^\n]*/g, "$1");

/** What a file imports, statically or later: paths from the project's root, or names of packages. */
export function importsOf({ path, text }: Source): string[] {
  const code = withoutComments(text);
  const specifiers = [...code.matchAll(statement), ...code.matchAll(dynamic)].map(([, specifier]) => specifier ?? "");
  return specifiers.map((specifier) =>
    specifier.startsWith(".") ? normalize(join(dirname(path), specifier)) : packageOf(specifier),
  );
}

/** `@scope/name` or `name` of what is imported from a package; `node:` modules keep their name. */
function packageOf(specifier: string): string {
  if (specifier.startsWith("node:")) return specifier;
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}
