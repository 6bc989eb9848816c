import { writeFileSync } from "node:fs";
import { TaskFileError } from "../project/task-modules.ts";
import { type AssetCode, type AssetOptions, buildAssetCode } from "./asset-code.ts";

/*
 * Builds a project's code in a process of its own, for a caller that must not wait: the bundler has no synchronous
 * calls.
 */

export interface BuildRequest {
  readonly options: AssetOptions;
  readonly out: string;
  /** Folder for this machine's binaries. */
  readonly here: string;
  /** File for the answer. */
  readonly result: string;
}

export type BuildAnswer = { built: AssetCode } | { refused: string } | { crash: string };

const { options, out, here, result } = JSON.parse(process.argv[2] ?? "") as BuildRequest;

const answer: BuildAnswer = await buildAssetCode(options, out, here).then(
  (built) => ({ built }),
  (error: unknown) => {
    if (error instanceof TaskFileError) return { refused: error.message };
    return { crash: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  },
);
writeFileSync(result, JSON.stringify(answer));
process.exit(0);
