import { build } from "esbuild";
import { expect, test } from "vitest";

test("the client is under 10 KB in a browser, and has no code but its own", async () => {
  const { metafile, outputFiles } = await build({
    entryPoints: ["src/client/index.ts"],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    metafile: true,
    write: false,
    logLevel: "silent",
  });
  const inputs = Object.keys(metafile.inputs);
  expect(inputs.filter((path) => !path.startsWith("src/client/"))).toEqual([]);
  expect(inputs.length).toBeGreaterThan(5);
  const [{ contents, text } = { contents: new Uint8Array(), text: "" }] = outputFiles;
  expect(contents.byteLength).toBeLessThan(10 * 1024);
  expect(text).toContain("createClient");
  expect(text).not.toMatch(/\bBuffer\b|\bprocess\b|node:/);
});
