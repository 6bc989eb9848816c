import type { Metafile } from "esbuild";
import { codeFolder } from "../src/installed/installation.ts";
import { relative } from "../src/machine/paths.ts";

/** Written files of a build. */
export interface Built {
  metafile: Metafile;
  outputFiles: readonly { path: string; text: string }[];
}

/**
 * Removes the banner that defines CommonJS names from each file that uses none of them. esbuild writes it into all
 * files, and makes a `require` for each of them.
 */
export function withoutUnusedBanners({ metafile, outputFiles }: Built, banner: string): Built {
  const head = `${banner}\n`;
  const isBare = (path: string, text: string) =>
    path.endsWith(".mjs") &&
    text.startsWith(head) &&
    !/\b(require|__filename|__dirname)\b/.test(text.slice(head.length));
  const bare = new Set(outputFiles.filter(({ path, text }) => isBare(path, text)).map(({ path }) => path));
  const outputs = { ...metafile.outputs };
  for (const path of [...bare].map((file) => relative(codeFolder, file))) {
    const output = outputs[path];
    if (output !== undefined) outputs[path] = { ...output, bytes: output.bytes - Buffer.byteLength(head) };
  }
  const textOf = (path: string, text: string): string => {
    if (bare.has(path)) return text.slice(head.length);
    return bare.has(path.replace(/\.map$/, "")) ? withoutLines(text, head.split("\n").length - 1) : text;
  };
  return {
    metafile: { ...metafile, outputs },
    outputFiles: outputFiles.map(({ path, text }) => ({ path, text: textOf(path, text) })),
  };
}

/** Moves the places of a source map up: each line has a semicolon. */
function withoutLines(map: string, lines: number): string {
  const { mappings, ...rest } = JSON.parse(map) as { mappings: string };
  return JSON.stringify({ ...rest, mappings: mappings.slice(lines) });
}
