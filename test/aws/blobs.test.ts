import { buildSync } from "esbuild";
import { expect, test } from "vitest";
import { buildOptions } from "../../lib/esbuild.ts";

test("the SDK's S3 client is not in the file that a function loads at its start", () => {
  const { metafile } = buildSync({
    ...buildOptions,
    stdin: { contents: 'export { s3Blobs } from "./src/aws/blobs.ts";', resolveDir: process.cwd() },
    entryNames: "index",
    outdir: "out",
    write: false,
  });
  const first = Object.entries(metafile.outputs).find(([path]) => path.endsWith("/index.mjs"));
  expect(first?.[1].bytes).toBeLessThan(2_000);
  expect(Object.keys(metafile.inputs).some((path) => path.includes("@aws-sdk/client-s3"))).toBe(true);
});
