import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { build, type Plugin } from "esbuild";

/*
 * Writes dist/commonjs, for programs whose loader is not Node's own: Jest, ts-node, bundlers. A part of `npm run build`, after the compiler.
 * All entries share their chunks, so that an error of one is known to the others. The declarations are there, too, once for both kinds of
 * modules: those of the ES modules only point at them.
 */

const dist = resolve(import.meta.dirname, "../dist");
const target = join(dist, "commonjs");

/** Compiled files of the entries, by the entry's name. */
const entries = {
  index: "src/index",
  client: "src/client/index",
  direct: "src/direct/index",
  testing: "src/testing",
  schedules: "src/schedules",
  triggers: "src/triggers",
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

/** Joins the modules of all entries to a few files: a test runner reads each of them anew for each test file. */
async function writeChunks(): Promise<void> {
  await build({
    absWorkingDir: dist,
    entryPoints: Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, `./${file}.js`])),
    outdir: target,
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    keepNames: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    plugins: [packages],
    logLevel: "warning",
  });
}

/** Stands for `import.meta.url`: a place among the ES modules, where the sources of the functions are. */
const ownPlace =
  'const ownUrl = require("node:url").pathToFileURL(require("node:path").join(__dirname, "../src/commonjs.js")).href;';

async function toCommonJs(): Promise<void> {
  const files = readdirSync(target).map((file) => join(target, file));
  const needsPlace = (file: string) => readFileSync(file, "utf8").includes("import.meta.url");
  for (const file of files) {
    await build({
      entryPoints: [file],
      outfile: file,
      allowOverwrite: true,
      format: "cjs",
      platform: "node",
      target: "node20.19",
      // Jest does not load a file by `import()`.
      supported: { "dynamic-import": false },
      ...(needsPlace(file) && { define: { "import.meta.url": "ownUrl" }, banner: { js: ownPlace } }),
      logLevel: "warning",
    });
  }
  writeFileSync(join(target, "package.json"), '{ "type": "commonjs" }\n');
}

/** Moves the declarations that the entries need, and deletes all others. */
function moveDeclarations(): void {
  const needed = new Set(Object.values(entries).map((file) => `${file}.d.ts`));
  for (const file of needed) {
    // Examples in comments have imports of their own.
    const text = readFileSync(join(dist, file), "utf8").replaceAll(/\/\*.*?\*\//gs, "");
    for (const [, path = ""] of text.matchAll(/(?:from |import\()"(\.[^"]+)\.ts"/g)) {
      needed.add(join(dirname(file), `${path}.d.ts`));
    }
    const copy = join(target, "types", file);
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(join(dist, file), copy);
  }
  for (const path of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
    if (path.endsWith(".d.ts") && !path.startsWith("commonjs")) rmSync(join(dist, path));
  }
  for (const file of Object.values(entries)) {
    const up = "../".repeat(file.split("/").length - 1);
    writeFileSync(join(dist, `${file}.d.ts`), `export * from "${up}commonjs/types/${file}.js";\n`);
  }
}

await writeChunks();
await toCommonJs();
moveDeclarations();
