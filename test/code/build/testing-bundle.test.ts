import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { expect, test } from "vitest";

test("a bundle of the test kit loads with its start what the core loads late: the kit's clock does not wait for code", async () => {
  const { metafile } = await build({
    stdin: { contents: `export { testKit } from "./src/entries/testing.ts";`, resolveDir: ".", sourcefile: "kit.ts" },
    ...{ bundle: true, splitting: true, outdir: "kit", format: "esm", platform: "node", packages: "external" },
    ...{ metafile: true, write: false, logLevel: "silent" },
  });
  const [start] = Object.entries(metafile.outputs).filter(([, { entryPoint }]) => entryPoint === "kit.ts");
  const files = new Set(start === undefined ? [] : [start[0]]);
  for (const file of files) {
    for (const { kind, path } of metafile.outputs[file]?.imports ?? [])
      if (kind === "import-statement") files.add(path);
  }
  const sources = [...files].flatMap((file) => Object.keys(metafile.outputs[file]?.inputs ?? {}));
  const late = ["src/core/pipeline/work/late-code.ts", "src/core/extras/late-code.ts"].flatMap((list) =>
    [...readFileSync(list, "utf8").matchAll(/(?:from|import) "([^"]+)"/g)].map(([, path = ""]) =>
      new URL(path, `file:///${list}`).pathname.slice(1),
    ),
  );
  expect(late.length).toBeGreaterThan(5);
  expect(sources).toEqual(expect.arrayContaining(late));
});
