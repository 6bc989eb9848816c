import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { codeFile } from "../src/installed/installation.ts";
import { join } from "../src/machine/paths.ts";
import type { AroundRequest, AroundResult } from "./around-code-process.ts";
import { temporaryFolder } from "./task-code.ts";

/** Longest time for a build, in milliseconds. */
const limitMs = 120_000;

/**
 * esbuild's name for the files of the built code (`src/code/build`): the same wherever these are, so that the same
 * sources make the same bytes.
 */
export const codePrefix = "offload-code:";

/**
 * Builds a function in a process of its own, with the built code of task types where it has some: only an esbuild that
 * waits can name files.
 */
export function buildAround(given: Pick<AroundRequest, "code" | "options" | "start">): AroundResult {
  const result = join(temporaryFolder("offload-around-"), "result.json");
  const request: AroundRequest = { ...given, prefix: codePrefix, result };
  const program = codeFile("lib/around-code-process");
  const { status, signal, stderr } = spawnSync(process.execPath, [program, JSON.stringify(request)], {
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
    timeout: limitMs,
    killSignal: "SIGKILL",
  });
  if (status !== 0) throw new Error(`a function could not be built (${signal ?? status}): ${stderr.trim()}`);
  process.stderr.write(stderr);
  return JSON.parse(readFileSync(result, "utf8")) as AroundResult;
}
