import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Metafile, type Plugin } from "esbuild";
import { nameInPlace } from "../src/code/build/sent-code.ts";
import { dirname, join } from "../src/machine/paths.ts";
import { importedBy, startChunk } from "./start-chunk.ts";

/*
 * Runs esbuild with names of its own for the files of the built code, for a caller that must not wait: plugins have no
 * synchronous calls.
 */

export interface AroundRequest {
  /** Folder of the built code. Absent: the function has nothing of a project. */
  readonly code?: string | undefined;
  /** The text that the names of its files start with, with a colon at the end. */
  readonly prefix: string;
  readonly options: BuildOptions & { readonly write: false };
  /** The function's first file, or the files that it imports. Absent: its start has no chunk of its own. */
  readonly start?: string | readonly string[] | undefined;
  /** File for the result. */
  readonly result: string;
}

export interface AroundResult {
  readonly metafile: Metafile;
  readonly outputFiles: readonly { readonly path: string; readonly text: string }[];
}

const { code, prefix, options, start, result } = JSON.parse(process.argv[2] ?? "") as AroundRequest;
const namespace = prefix.slice(0, -1);

/** Code with its source map in it. The sources have names that no folder is put before. */
function withMap(text: string, file: string): string {
  if (!existsSync(file)) return text;
  const map = JSON.parse(readFileSync(file, "utf8")) as { sources: string[] };
  const named = JSON.stringify({ ...map, sources: map.sources.map((source) => prefix + source) });
  const url = `data:application/json;base64,${Buffer.from(named).toString("base64")}`;
  return `${text.replace(/\n\/\/# sourceMappingURL=.*\s*$/, "")}\n//# sourceMappingURL=${url}\n`;
}

/**
 * The code of a project keeps the names of its functions and classes, which Offload's own code does not: the API shows
 * the class of an error, and a stack its functions.
 */
const namedCode = { keepNames: true, target: "node24", sourcemap: "inline", sourcesContent: false } as const;

const builtCode = (folder: string): Plugin => ({
  name: "built-code",
  setup(esbuild) {
    esbuild.onResolve({ filter: new RegExp(`^${prefix}`) }, ({ path }) => ({
      path: path.slice(prefix.length),
      namespace,
    }));
    esbuild.onResolve({ filter: /^file:/, namespace }, ({ path }) => ({ path: fileURLToPath(path) }));
    esbuild.onResolve({ filter: /^\.{1,2}\//, namespace }, ({ path, importer }) => ({
      path: join(dirname(importer), path),
      namespace,
    }));
    esbuild.onLoad({ filter: /./, namespace }, async ({ path }) => {
      const file = join(folder, path);
      const text = withMap(readFileSync(file, "utf8"), `${file}.map`);
      const named = await esbuild.esbuild.transform(text, { ...namedCode, sourcefile: prefix + path });
      return { contents: nameInPlace(named.code), loader: "js", resolveDir: dirname(file) };
    });
  },
});

const plugins = [
  ...(code === undefined ? [] : [builtCode(code)]),
  ...(start === undefined ? [] : [startChunk(typeof start === "string" ? await importedBy(start) : start)]),
];
const { metafile = { inputs: {}, outputs: {} }, outputFiles } = await build({ ...options, plugins });
const answer: AroundResult = { metafile, outputFiles: outputFiles.map(({ path, text }) => ({ path, text })) };
writeFileSync(result, JSON.stringify(answer));
