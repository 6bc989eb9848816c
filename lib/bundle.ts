import { AssetHashType, DockerImage } from "aws-cdk-lib";
import { Code } from "aws-cdk-lib/aws-lambda";
import { codeFolder } from "../src/installed/installation.ts";
import { join, relative, resolve } from "../src/machine/paths.ts";
import { type BundleFiles, type BundleName, bundle } from "./esbuild.ts";

/**
 * Bundles the code of a function, or of the container worker, with this project's esbuild, within the synth process: no
 * Docker, no shell.
 */
export function bundledCode(name: BundleName, files: BundleFiles = {}): Code {
  return Code.fromAsset(join(codeFolder, "lambdas"), {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry("none"),
      // Never executed. The CDK shares a bundle between functions with the same command.
      command: bundleKey(name, files),
      local: {
        tryBundle(folder) {
          bundle(name, folder, files);
          return true;
        },
      },
    },
  });
}

/**
 * Tells bundles apart. Paths start at the working directory: the hash of code that a test does not bundle follows from
 * this text.
 */
export function bundleKey(name: BundleName, { tasks, copies = {}, ...files }: BundleFiles): string[] {
  const shown = (path: string) => relative(process.cwd(), resolve(path));
  const places = Object.fromEntries(Object.entries(copies).map(([path, source]) => [path, shown(source)]));
  return [name, JSON.stringify({ ...files, copies: places, ...(tasks !== undefined && { tasks: shown(tasks) }) })];
}
