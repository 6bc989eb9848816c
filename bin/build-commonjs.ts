import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Plugin } from "esbuild";
import { copyDeclarations, toCommonJs, writeChunks } from "./package-parts.ts";

/*
 * Writes dist/commonjs, for programs whose loader is not Node's own: Jest, ts-node, bundlers. A part of
 * `npm run build`, after the compiler. All entries share their chunks, so that an error of one is known to the others.
 * The declarations are there, too, once for both kinds of modules: those of the ES modules only point at them.
 */

const dist = resolve(import.meta.dirname, "../dist");
const target = join(dist, "commonjs");

const entries = {
  index: "src/entries/index",
  client: "src/client/index",
  direct: "src/direct/index",
  testing: "src/entries/testing",
  schedules: "src/entries/schedules",
  triggers: "src/entries/triggers",
  cdk: "lib/index",
};

/** Packages that have only ES modules. They become a part of the files. */
const bundled = ["jose", "uuid"];

const packages: Plugin = {
  name: "packages",
  setup: ({ onResolve }) => {
    onResolve({ filter: /^#aws-sdk\// }, ({ path }) => ({ path: `@${path.slice(1)}`, external: true }));
    onResolve({ filter: /^[^./#]/ }, ({ path }) => (bundled.includes(path) ? undefined : { path, external: true }));
  },
};

/** Moves the declarations that the entries need, and deletes all others. */
function moveDeclarations(): void {
  copyDeclarations(dist, entries, join(target, "types"));
  for (const path of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
    if (path.endsWith(".d.ts") && !path.startsWith("commonjs")) rmSync(join(dist, path));
  }
  for (const file of Object.values(entries)) {
    const up = "../".repeat(file.split("/").length - 1);
    writeFileSync(join(dist, `${file}.d.ts`), `export * from "${up}commonjs/types/${file}.js";\n`);
  }
}

await writeChunks(dist, entries, target, { plugins: [packages] });
// Places are those of the ES modules, where the sources of the functions are.
await toCommonJs(target, target, "../src/installed/commonjs.js", {});
moveDeclarations();
