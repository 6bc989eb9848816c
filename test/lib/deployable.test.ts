import { buildSync } from "esbuild";
import { expect, test } from "vitest";
import { buildOptions, mustBeDeployable } from "../../lib/esbuild.ts";
import { codeFile } from "../../src/installed/installation.ts";

/** The contents of a bundle that starts with a file of this package. */
const contentsOf = (name: string) =>
  buildSync({ ...buildOptions, write: false, outdir: "/out", entryPoints: [codeFile(name)] }).metafile;

test.each(["src/local/time/moved-time", "src/local/time/mover", "src/local/server/clock"])(
  "a bundle with %s fails the build",
  (name) => {
    expect(() => mustBeDeployable(contentsOf(name))).toThrow(
      /^A bundle for AWS contains src\/local\/.*such as its clock/,
    );
  },
);

test("a bundle of what is deployed, and a project with a folder of that name, do not", () => {
  const own = { inputs: { "../app/src/local/time/mover.ts": { bytes: 1, imports: [] } }, outputs: {} };
  for (const contents of [contentsOf("lambdas/authorizer"), own]) {
    expect(() => mustBeDeployable(contents)).not.toThrow();
  }
});
