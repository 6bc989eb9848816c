import { join } from "node:path";
import { AssetHashType, DockerImage } from "aws-cdk-lib";
import { Code } from "aws-cdk-lib/aws-lambda";
import type { FunctionName } from "../src/config.ts";
import { type BundleFiles, bundle, root } from "./esbuild.ts";

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
