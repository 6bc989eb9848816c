import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, buildSync, type Metafile } from "esbuild";
import type { FunctionName } from "../src/config.ts";
import { taskFiles } from "../src/task-files.ts";

/** The project's folder. */
export const root = fileURLToPath(new URL("../", import.meta.url));

/** Files that go beside a function's code, by their path in the bundle. */
export interface BundleFiles {
  /** Texts that are known at synth. Default: none. */
  readonly texts?: Readonly<Record<string, string>>;
  /** Files or folders to copy; paths start at the project's folder. Default: none. */
  readonly copies?: Readonly<Record<string, string>>;
}

/** CommonJS packages inside an ES module bundle still ask for what only CommonJS has. */
const commonJsNames = [
  'import { createRequire as commonJsRequire } from "node:module";',
  "const require = commonJsRequire(import.meta.url);",
  "const __filename = import.meta.filename, __dirname = import.meta.dirname;",
].join("\n");

/**
 * Has `#aws-sdk/...` in `src/aws` mean the stand-ins of `src/aws/lean`: a quarter of the SDK's time per call, a tenth of its
 * bytes. A task's own `@aws-sdk/...` stays the SDK. `package.json` has the counterpart.
 */
const leanClients = "offload-lean";

/** How code for Lambda is built: what is imported dynamically becomes a file of its own, read when it is first needed. */
export const buildOptions = {
  absWorkingDir: root,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  splitting: true,
  platform: "node",
  target: "node24",
  format: "esm",
  mainFields: ["module", "main"],
  banner: { js: commonJsNames },
  minify: true,
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
} as const satisfies BuildOptions;

/**
 * Functions in which no attempt runs or is settled. In all others the names of classes survive minifying, as the name of a
 * task's error is part of the API; that costs a call for each function and class when they load.
 */
const nameless: readonly FunctionName[] = ["submit", "status", "authorizer"];

/**
 * Bundles `lambdas/<name>.ts` with all it imports into a folder, as `index.mjs`.
 * @returns What is in which file.
 */
export function bundle(name: FunctionName, folder: string, files: BundleFiles = {}): Metafile {
  const { metafile } = buildSync({
    ...buildOptions,
    ...entryOf(name),
    outdir: folder,
    conditions: ["module", leanClients],
    keepNames: !nameless.includes(name),
  });
  dropUnreached(metafile);
  for (const [path, text] of Object.entries(files.texts ?? {})) {
    writeFileSync(within(folder, path), text);
  }
  for (const [path, source] of Object.entries(files.copies ?? {})) {
    cpSync(join(root, source), within(folder, path), { recursive: true });
  }
  return metafile;
}

/** The entry of a function: its file in `lambdas/`; for the worker, code that hands the task types to that file. */
const entryOf = (name: FunctionName): Pick<BuildOptions, "entryPoints" | "entryNames" | "stdin"> =>
  name === "worker"
    ? { stdin: { contents: workerEntry(), resolveDir: root, sourcefile: "worker-entry.ts" }, entryNames: "index" }
    : { entryPoints: { index: `lambdas/${name}.ts` } };

/** Imports each file in `tasks/`: in Lambda there is no folder to read. */
function workerEntry(): string {
  const files = taskFiles();
  return [
    'import { createWorker } from "./lambdas/worker.ts";',
    ...files.map((file, index) => `import type${index} from ${JSON.stringify(`./tasks/${file}`)};`),
    `export const handler = await createWorker([${files.map((_, index) => `type${index}`)}]);`,
  ].join("\n");
}

/**
 * Removes files that no other file imports: esbuild writes one for each dynamic import that it reads, also where it then
 * leaves out the code around it.
 */
function dropUnreached({ outputs }: Metafile): void {
  const reached = new Set(Object.keys(outputs).filter((path) => path.endsWith("/index.mjs")));
  for (const path of reached) {
    for (const { path: target } of outputs[path]?.imports ?? []) if (outputs[target] !== undefined) reached.add(target);
  }
  for (const path of Object.keys(outputs).filter((path) => !reached.has(path))) {
    rmSync(join(root, path));
    delete outputs[path];
  }
}

function within(folder: string, path: string): string {
  const target = join(folder, path);
  mkdirSync(dirname(target), { recursive: true });
  return target;
}
