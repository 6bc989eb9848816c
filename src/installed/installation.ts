import { readFileSync } from "node:fs";
import { dirname, pathOfUrl } from "../machine/paths.ts";

/*
 * Where this package's code is. It runs from its sources (`src/...ts`, in the repository), or compiled
 * (`dist/src/...js`, as installed). The tree below `codeFolder` is the same in both.
 */

/** Extension of this package's code files. */
export const codeExtension = import.meta.url.endsWith(".ts") ? ".ts" : ".js";

/** Folder of `bin`, `lib`, `lambdas` and `src`, with a slash at its end. */
export const codeFolder = pathOfUrl(new URL("../../", import.meta.url));

/** The package's folder, which has its `package.json`. */
export const packageFolder = codeExtension === ".ts" ? codeFolder : `${dirname(codeFolder)}/`;

/** Folders of this package's code, compiled and as source maps name it, each with a slash at its end. */
export const ownFolders = [codeFolder, packageFolder].flatMap((folder) =>
  ["bin", "lambdas", "lib", "src"].map((name) => `${folder}${name}/`),
);

/**
 * Import condition that resolves `#aws-sdk/...` in `src/aws` to the small clients in `src/aws/lean`, which need a
 * quarter of the SDK's time per call and a tenth of its bytes. `package.json` defines it. `@aws-sdk/...` in a task
 * stays the SDK.
 */
export const leanClients = codeExtension === ".ts" ? "offload-lean-source" : "offload-lean";

/** Path of a code file of this package, from its path below `codeFolder` without extension. */
export const codeFile = (path: string): string => `${codeFolder}${path}${codeExtension}`;

export const packageVersion = (): string =>
  (JSON.parse(readFileSync(`${packageFolder}package.json`, "utf8")) as { version: string }).version;

/** The package's entries that task files and examples import, and their files. */
export const entries: Readonly<Record<string, string>> = {
  offload: codeFile("src/entries/index"),
  "offload/client": codeFile("src/client/index"),
  "offload/schedules": codeFile("src/entries/schedules"),
  "offload/triggers": codeFile("src/entries/triggers"),
};
