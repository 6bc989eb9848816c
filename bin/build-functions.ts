import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import type { FunctionName } from "../src/settings/config.ts";

/*
 * Writes dist/functions: the code of the functions that has nothing of a project, so that a synth copies it. A part of
 * `npm run build`, after the compiler, from whose output it is built, as a synth would. dist/LICENSES.txt has the
 * licences of the packages in these files and in the console's.
 */

const root = resolve(import.meta.dirname, "..");
const { buildCode, buildThreads, builtFolder } = (await import(
  pathToFileURL(join(root, "dist/lib/esbuild.js")).href
)) as typeof import("../lib/esbuild.ts");

const functions = join(root, "dist", builtFolder);
const names = readdirSync(join(root, "lambdas"))
  .filter((file) => file.endsWith(".ts") && file !== "worker.ts")
  .map((file) => file.slice(0, -".ts".length) as FunctionName);
const { metafile: page } = await build({
  absWorkingDir: join(root, "dist"),
  entryPoints: [join(root, "console/src/main.tsx")],
  ...{ bundle: true, write: false, metafile: true, splitting: true, format: "esm", outdir: "out" },
  ...{ jsx: "automatic", jsxImportSource: "preact" },
});
const built = [
  ...names.map((name) => buildCode(name, join(functions, name))),
  buildThreads(join(functions, "threads")),
  page,
];
writeFileSync(join(root, "dist/LICENSES.txt"), licencesOf(built.flatMap(({ inputs }) => Object.keys(inputs))));

/** @param sources Paths below `dist`, as all builds start there. */
function licencesOf(sources: readonly string[]): string {
  const paths = sources.map((source) => resolve(root, "dist", source));
  const folders = new Set(paths.flatMap((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []));
  const byText = Map.groupBy([...folders].sort(), textOf);
  return [...byText].map(([text, those]) => `${those.map(nameOf).join("\n")}\n\n${text}\n`).join("\n\n");
}

function nameOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return `${name} ${version}: ${license}`;
}

function textOf(folder: string): string {
  const file = readdirSync(folder).find((one) => /^licen[cs]e(\.\w+)?$/i.test(one));
  return file === undefined ? "" : readFileSync(join(folder, file), "utf8").trim();
}
