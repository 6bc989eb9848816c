import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "../machine/paths.ts";
import { codeExtension, codeFolder } from "./installation.ts";

/** Texts of the console's files, by their names. */
export type ConsoleFiles = Readonly<Record<string, string>>;

/** Files of the console that are served as they are. */
const plain = ["index.html", "icon.svg"];

let files: ConsoleFiles | undefined;

/**
 * Returns the texts of the console's files by their names. The installed package has them in `dist/console`; from the
 * sources they are built, once in a process.
 */
export function consoleFiles(): ConsoleFiles {
  const folder = join(codeFolder, "console");
  files ??= codeExtension === ".ts" ? builtConsole(folder) : filesIn(folder);
  return files;
}

/** Builds the console from its sources: one script, files that it loads later, and one style sheet. */
function builtConsole(folder: string): ConsoleFiles {
  // Loaded here, as the installed package starts its local server without a bundler.
  const { buildSync } = createRequire(import.meta.url)("esbuild") as typeof import("esbuild");
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

const filesIn = (folder: string): ConsoleFiles =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]));
