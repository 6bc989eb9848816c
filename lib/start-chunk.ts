import { build, type Plugin } from "esbuild";
import { codeFolder, ownFolders } from "../src/installed/installation.ts";
import { dirname, join, ownPaths, relative, slashed } from "../src/machine/paths.ts";

const start = "offload-start";
const late = "offload-late";

/** A file's name in bundles: the same wherever the folder is, so that the same sources make the same bytes. */
const nameOf = (file: string): string => `./${relative(codeFolder, file)}`;

/**
 * Makes one chunk of what a function loads at its start. esbuild makes a chunk for each set of late files that share
 * code, and sixty small files cost a start far more time than their bytes. So each of Offload's late files takes what
 * the start takes, which is there when a late file is loaded.
 * @param files The files that the first file imports. The first file itself stays apart: while it waits for late code,
 * that code must not wait for it.
 */
export const startChunk = (files: readonly string[]): Plugin => ({
  name: "start-chunk",
  setup(esbuild) {
    esbuild.onResolve({ filter: /^\.{1,2}\// }, ({ kind, path, importer, namespace, resolveDir }) => {
      const isOurs = namespace === "file" && ownFolders.some((own) => slashed(importer).startsWith(own));
      if (kind !== "dynamic-import" || !isOurs) return undefined;
      return { path: nameOf(join(resolveDir, path)), namespace: late };
    });
    esbuild.onResolve({ filter: new RegExp(`^${start}$`) }, () => ({ path: start, namespace: start }));
    esbuild.onLoad({ filter: /./, namespace: late }, ({ path }) => ({
      contents: `import ${JSON.stringify(start)}; export * from ${JSON.stringify(path)};`,
      resolveDir: ownPaths.native(codeFolder),
    }));
    esbuild.onLoad({ filter: /./, namespace: start }, () => ({
      contents: files
        .map((file, index) => `export * as start${index} from ${JSON.stringify(nameOf(file))};`)
        .join("\n"),
      resolveDir: ownPaths.native(codeFolder),
    }));
  },
});

/** The files that a file imports at its start, in their order. */
export async function importedBy(file: string): Promise<string[]> {
  const { metafile } = await build({
    ...{ entryPoints: [file], bundle: true, external: ["./*", "../*"], packages: "external" },
    ...{ platform: "node", format: "esm", write: false, outdir: dirname(file), metafile: true },
  });
  return Object.values(metafile.outputs)
    .flatMap(({ imports }) => imports)
    .filter(({ kind, path }) => kind === "import-statement" && path.startsWith("."))
    .map(({ path }) => join(dirname(file), path));
}
