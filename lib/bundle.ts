import { join } from "node:path";
import { AssetHashType, DockerImage } from "aws-cdk-lib";
import { Code } from "aws-cdk-lib/aws-lambda";
import { codeFolder } from "../src/installation.ts";
import { type BundleFiles, type BundleName, bundle } from "./esbuild.ts";

/** Bundles the code of a function, or of the container worker, with this project's esbuild, within the synth process: no Docker, no shell. */
export function bundledCode(name: BundleName, files: BundleFiles = {}): Code {
  return Code.fromAsset(join(codeFolder, "lambdas"), {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry("none"),
      // Never executed. The CDK shares a bundle between functions with the same command.
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
