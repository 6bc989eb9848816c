import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import type { BuildOptions } from "esbuild";
import { copyDeclarations, toCommonJs, withoutComments, writeChunks } from "./package-parts.ts";

/*
 * Writes the package `offload-client` (packages/client) from the compiled sources: the clients with all that they need,
 * for programs that only submit. A part of `npm run build`, after `build-commonjs.ts`.
 */

const root = resolve(import.meta.dirname, "..");
const dist = join(root, "dist");
const target = join(root, "packages/client");
const esm = join(target, "dist/esm");
const commonjs = join(target, "dist/commonjs");

const entries = { index: "src/client/index", direct: "src/direct/lean" };

const small: BuildOptions = { minify: true, legalComments: "none", external: ["@opentelemetry/api"] };

/** Declarations whose names no program of a client's sees: their comments would be a tenth of the package. */
const isInside = /^src\/(?:aws|core\/(?:flow|limits|ports))\/|^src\/core\/model\/record\.d\.ts$/;

/** The client's types come of no schema. Names of zod that are left in declarations beside them stand for any type. */
function withoutZod(types: string): void {
  const texts = copyDeclarations(join(dist, "commonjs/types"), { ...entries, direct: "src/direct/index" }, types);
  const [names, inCore] = [new Set<string>(), new Set<string>()];
  for (const [file, text] of texts) {
    const code = withoutComments(text);
    for (const [, name = ""] of code.matchAll(/\bz\.(?!core\b)(\w+)/g)) names.add(name);
    for (const [, name = ""] of code.matchAll(/\bz\.core\.([\w$]+)/g)) inCore.add(name);
    const up = "../".repeat(file.split("/").length - 1);
    const shown = isInside.test(file) ? code : text;
    writeFileSync(join(types, file), shown.replaceAll('from "zod"', `from "${up}zod.js"`));
  }
  const stands = (name: string) => `export type ${name}<_A = unknown, _B = unknown, _C = unknown> = any;`;
  const core = `export declare namespace core { ${[...inCore].map(stands).join(" ")} }`;
  writeFileSync(join(types, "zod.d.ts"), [...[...names].map(stands), core, ""].join("\n"));
}

/** The version of the package is that of Offload. */
function useVersion(): void {
  const path = join(target, "package.json");
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const manifest = JSON.parse(readFileSync(path, "utf8")) as object;
  writeFileSync(path, `${JSON.stringify({ ...manifest, version }, null, 2)}\n`);
}

/** Points from an ES module at the CommonJS file of the same name: a process has one copy of its classes. */
function writeEsModule(name: keyof typeof entries, types: string): void {
  const names = Object.keys(createRequire(import.meta.url)(join(commonjs, `${name}.js`))).sort();
  const text = `import commonjs from "../commonjs/${name}.js";\n\nexport const { ${names.join(", ")} } = commonjs;\n`;
  writeFileSync(join(esm, `${name}.js`), text);
  writeFileSync(join(esm, `${name}.d.ts`), `export * from "../commonjs/types/${types}.js";\n`);
}

rmSync(join(target, "dist"), { recursive: true, force: true });
mkdirSync(esm, { recursive: true });
await writeChunks(dist, entries, commonjs, { ...small, conditions: ["module", "offload-lean"] });
await toCommonJs(commonjs, commonjs, "index.js", { minify: true, legalComments: "none" });
withoutZod(join(commonjs, "types"));
writeEsModule("index", "src/client/index");
writeEsModule("direct", "src/direct/index");
useVersion();
