import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AssetHashType, DockerImage } from "aws-cdk-lib";
import { Code } from "aws-cdk-lib/aws-lambda";
import { buildSync, type Metafile } from "esbuild";
import type { FunctionName } from "../src/config.ts";

const root = fileURLToPath(new URL("../", import.meta.url));

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
 * Has `#aws-sdk/...` in `src/aws` mean the stand-ins of `src/aws/lean`: a fifth of the SDK's time per call, a tenth of its
 * bytes. A task's own `@aws-sdk/...` stays the SDK. `package.json` has the counterpart.
 */
const leanClients = "offload-lean";

/**
 * Bundles `lambdas/<name>.ts` with all it imports into a folder, as `index.mjs`. What is imported dynamically becomes a
 * file of its own, read when it is first needed. Names survive minifying, as an error's name is part of the API.
 * @returns What is in which file.
 */
export function bundle(name: FunctionName, folder: string, files: BundleFiles = {}): Metafile {
  const { metafile } = buildSync({
    absWorkingDir: root,
    entryPoints: { index: `lambdas/${name}.ts` },
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    platform: "node",
    target: "node24",
    format: "esm",
    mainFields: ["module", "main"],
    conditions: ["module", leanClients],
    banner: { js: commonJsNames },
    minify: true,
    keepNames: true,
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
  });
  for (const [path, text] of Object.entries(files.texts ?? {})) {
    writeFileSync(within(folder, path), text);
  }
  for (const [path, source] of Object.entries(files.copies ?? {})) {
    cpSync(join(root, source), within(folder, path), { recursive: true });
  }
  return metafile;
}

/** The code of a function, bundled by the esbuild of this project inside the synth's own process: no Docker, no shell. */
export function bundledCode(name: FunctionName, files: BundleFiles = {}): Code {
  return Code.fromAsset(join(root, "lambdas"), {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry("none"),
      // Never run. Functions of equal bundles share one, and this is what tells bundles apart.
      command: [name, JSON.stringify(files)],
      local: {
        tryBundle(folder) {
          bundle(name, folder, files);
          return true;
        },
      },
    },
  });
}

function within(folder: string, path: string): string {
  const target = join(folder, path);
  mkdirSync(dirname(target), { recursive: true });
  return target;
}
