import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { BuildOptions, Metafile } from "esbuild";
import { codeFile } from "../src/installed/installation.ts";
import { join } from "../src/machine/paths.ts";
import type { AroundRequest, AroundResult } from "./around-code-process.ts";
import { temporaryFolder } from "./task-code.ts";

/** Longest time for a build, in milliseconds. */
const limitMs = 120_000;

/**
 * esbuild's name for the files of the built code (`src/build`): the same wherever these are, so that the same sources
 * make the same bytes.
 */
export const codePrefix = "offload-code:";

/**
 * Builds Offload's code around the built code of task types, in a process of its own: only an esbuild that waits can
 * name files.
 */
export function buildAround(
  code: string,
  options: BuildOptions & { write: false },
): { metafile: Metafile; outputFiles: AroundResult["outputFiles"] } {
  const request: AroundRequest = {
    code,
    prefix: codePrefix,
    options,
    result: join(temporaryFolder("offload-around-"), "result.json"),
  };
  const program = codeFile("lib/around-code-process");
  const { status, signal, stderr } = spawnSync(process.execPath, [program, JSON.stringify(request)], {
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
    timeout: limitMs,
    killSignal: "SIGKILL",
  });
  if (status !== 0) throw new Error(`the worker could not be built (${signal ?? status}): ${stderr.trim()}`);
  process.stderr.write(stderr);
  return JSON.parse(readFileSync(request.result, "utf8")) as AroundResult;
}
