import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App } from "aws-cdk-lib";
import { afterAll } from "vitest";
import { withoutBundles } from "./synthesis.ts";

const outdirs: string[] = [];
afterAll(() => {
  for (const outdir of outdirs) rmSync(outdir, { recursive: true, force: true });
});

/** An app that a test adds to and synthesizes itself. Its output is deleted after the file's tests. */
export function newApp(): App {
  const outdir = mkdtempSync(join(tmpdir(), "offload-app-"));
  outdirs.push(outdir);
  return new App({ outdir, context: withoutBundles, builtinCloudFormationValidation: false });
}
