import { readFileSync } from "node:fs";
import { parseJson } from "../../api/http/body.ts";
import { Problem } from "../../core/model/problem.ts";
import { type Terminal, UsageError } from "./terminal.ts";

/**
 * Parses JSON of the command line.
 * @throws UsageError when the text is not JSON, or not an input that the API accepts
 */
export function jsonOf(text: string | undefined, name = "--input"): unknown {
  try {
    return text === undefined ? undefined : parseJson(text);
  } catch (error) {
    const isJson = error instanceof Problem && error.cause === undefined;
    throw new UsageError(
      `${name}: ${isJson ? error.detail : `expected JSON, got ${JSON.stringify(text?.slice(0, 60))}`}`,
    );
  }
}

/** Reads JSON given as text, as `@file`, or as `-` for the standard input. */
export async function readInput(given: string | undefined, terminal: Terminal): Promise<unknown> {
  if (given === "-") return jsonOf(await terminal.input(), "standard input");
  return given?.startsWith("@") ? jsonOf(readText(given.slice(1)), given) : jsonOf(given, "input");
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read the input from ${path}: ${(error as Error).message}`);
  }
}
