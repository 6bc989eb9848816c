import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type BuildOptions, build } from "esbuild";

/*
 * Steps by which compiled code becomes a part of a package: chunks that entries share, CommonJS files of them, and the
 * declarations.
 */

/** Paths of compiled entries below a folder, without extension, by the entry's name. */
export type Entries = Readonly<Record<string, string>>;

const oldestNode = "node20.19";

/**
 * Joins the modules of all entries to a few ES modules, with the licenses of the packages that become a part of them.
 */
export async function writeChunks(dist: string, entries: Entries, outdir: string, more: BuildOptions): Promise<void> {
  const { metafile } = await build({
    absWorkingDir: dist,
    entryPoints: Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, `./${file}.js`])),
    outdir,
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    keepNames: true,
    format: "esm",
    platform: "node",
    target: oldestNode,
    logLevel: "warning",
    ...more,
    metafile: true,
  });
  const folders = Object.keys(metafile.inputs).map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
  const packages = [...new Set(folders)].filter((folder) => folder !== undefined).sort();
  writeFileSync(join(outdir, "licenses.txt"), packages.map((folder) => licenseOf(join(dist, folder))).join("\n"));
}

function licenseOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  return `${name} ${version} (${license})\n\n${file === undefined ? "" : readFileSync(join(folder, file), "utf8")}\n`;
}

/**
 * Writes a folder's ES modules as CommonJS files.
 * @param place path from there to a file that stands for `import.meta.url`
 */
export async function toCommonJs(from: string, to: string, place: string, more: BuildOptions): Promise<void> {
  const ownPlace = `const ownUrl = require("node:url").pathToFileURL(require("node:path").join(__dirname, ${JSON.stringify(place)})).href;`;
  for (const file of readdirSync(from).filter((name) => name.endsWith(".js"))) {
    const needsPlace = readFileSync(join(from, file), "utf8").includes("import.meta.url");
    await build({
      entryPoints: [join(from, file)],
      outfile: join(to, file),
      allowOverwrite: true,
      format: "cjs",
      platform: "node",
      target: oldestNode,
      // Jest does not load a file by `import()`.
      supported: { "dynamic-import": false },
      ...(needsPlace && { define: { "import.meta.url": "ownUrl" }, banner: { js: ownPlace } }),
      logLevel: "warning",
      ...more,
    });
  }
  writeFileSync(join(to, "package.json"), '{ "type": "commonjs" }\n');
}

/** Examples in comments have names and imports of their own. */
export const withoutComments = (text: string): string => text.replaceAll(/\/\*.*?\*\//gs, "");

/** Copies the declarations that the entries need. Returns their texts by path. */
export function copyDeclarations(from: string, entries: Entries, to: string): Map<string, string> {
  const needed = new Set(Object.values(entries).map((file) => `${file}.d.ts`));
  const texts = new Map<string, string>();
  for (const file of needed) {
    const text = readFileSync(join(from, file), "utf8");
    for (const [, path = ""] of withoutComments(text).matchAll(/(?:from |import |import\()"(\.[^"]+)\.ts"/g)) {
      needed.add(join(dirname(file), `${path}.d.ts`));
    }
    texts.set(file, text);
    mkdirSync(dirname(join(to, file)), { recursive: true });
    writeFileSync(join(to, file), text);
  }
  return texts;
}
