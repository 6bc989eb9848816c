import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { codeExtension, codeFolder } from "./installation.ts";

/** Files of the console that are served as they are. */
const plain = ["index.html", "icon.svg"];

/**
 * Returns the texts of the console's files by their names. The installed package has them in `dist/console`; from the sources they are
 * built now.
 */
export function consoleFiles(): Readonly<Record<string, string>> {
  return codeExtension === ".ts" ? builtConsole() : filesIn(join(codeFolder, "console"));
}

/** Builds the console from its sources: one script, files that it loads later, and one style sheet. */
export function builtConsole(): Record<string, string> {
  const folder = join(codeFolder, "console");
  const { outputFiles } = buildSync({
    absWorkingDir: folder,
    entryPoints: { app: "src/main.tsx" },
    outdir: "out",
    write: false,
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2023",
    platform: "browser",
    jsx: "automatic",
    jsxImportSource: "preact",
    chunkNames: "[name]-[hash]",
    minify: true,
    legalComments: "none",
    logLevel: "warning",
  });
  const built = outputFiles.map(({ path, text }) => [path.split(/[\\/]/).at(-1) ?? "", text] as const);
  const copied = plain.map((name) => [name, readFileSync(join(folder, name), "utf8")] as const);
  return Object.fromEntries([...copied, ...built]);
}

const filesIn = (folder: string): Record<string, string> =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]));
