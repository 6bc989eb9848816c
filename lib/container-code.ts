import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { gzipSync } from "node:zlib";
import { AssetHashType, BundlingOutput, DockerImage } from "aws-cdk-lib";
import { Asset } from "aws-cdk-lib/aws-s3-assets";
import type { Construct } from "constructs";
import { buildSync } from "esbuild";
import { codeFile, codeFolder } from "../src/installed/installation.ts";
import { join } from "../src/machine/paths.ts";
import { bundleKey } from "./bundle.ts";
import { type BundleFiles, bundle } from "./esbuild.ts";

/** Adds the code of the container workers to the deployment's assets in S3: one file, made within the synth process. */
export const addContainerCode = (scope: Construct, id: string, files: BundleFiles): Asset =>
  new Asset(scope, id, {
    path: join(codeFolder, "lambdas"),
    displayName: "Offload: container workers",
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry("none"),
      outputType: BundlingOutput.SINGLE_FILE,
      // Never executed. The CDK shares a bundle between constructs with the same command.
      command: bundleKey("work", files),
      local: {
        tryBundle(folder) {
          writeArchive(join(folder, "work.gz"), files);
          return true;
        },
      },
    },
  });

/** Bundles the container worker into one file, as `src/aws/container-start.ts` reads it. */
function writeArchive(file: string, files: BundleFiles): void {
  const folder = mkdtempSync(join(tmpdir(), "offload-work-"));
  try {
    bundle("work", folder, files);
    writeFileSync(file, archiveOf(folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Place of the operating system in a gzip header, and the number that stands for none. */
const systemByte = 9;
const anySystem = 255;

/**
 * The files of a folder as one file. The same files make the same bytes, on any machine: so nothing is compressed,
 * which each build of zlib does in its own way, and the header does not name the operating system.
 */
export function archiveOf(folder: string): Buffer {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort();
  const archive = Object.fromEntries(
    paths.map((path) => [path.slice(folder.length + 1), readFileSync(path).toString("base64")]),
  );
  const gzipped = gzipSync(JSON.stringify(archive), { level: 0 });
  gzipped[systemByte] = anySystem;
  return gzipped;
}

/** Arguments of `node` that let all users write to `/tmp`, as on any machine. */
export const openArguments = (): string[] => ["-e", 'require("node:fs").chmodSync("/tmp", 0o1777)'];

let startText: string | undefined;

/** Arguments of `node` that load the code and become it. */
export function startArguments(): string[] {
  startText ??= buildSync({
    stdin: {
      contents: `import { start } from ${JSON.stringify(codeFile("src/aws/container-start"))}; await start();`,
      resolveDir: codeFolder,
    },
    bundle: true,
    write: false,
    platform: "node",
    target: "node24",
    format: "esm",
    minify: true,
    legalComments: "none",
    // CloudFormation takes `${...}` for a parameter.
    supported: { "template-literal": false },
    logLevel: "silent",
  }).outputFiles[0]?.text.trim();
  return ["--input-type=module", "-e", startText ?? ""];
}
