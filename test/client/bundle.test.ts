import { build, type Metafile } from "esbuild";
import { expect, test } from "vitest";

/** The files that a page loads at its start: the entry, and what it imports statically. */
function startup(outputs: Metafile["outputs"]) {
  const files = new Set(Object.keys(outputs).filter((file) => file.endsWith("stdin.js")));
  for (const file of files) {
    for (const { kind, path } of outputs[file]?.imports ?? []) if (kind === "import-statement") files.add(path);
  }
  return [...files].flatMap((file) => outputs[file] ?? []);
}

test("the client without submitMany, files and push is about 10 KiB in a browser, and has no code but its own", async () => {
  const { metafile, outputFiles } = await build({
    // What a program imports that submits and waits. `Admin`, `Operations`, `Audit`, `Webhooks` and `Flow` are clients of their own, for operators.
    stdin: {
      contents: `export { createClient, ProblemError, TaskFailed, TaskCancelled, TaskExpired, CallTimeout, ConnectionError } from "./src/client/index.ts";`,
      resolveDir: ".",
      sourcefile: "index.ts",
    },
    bundle: true,
    splitting: true,
    outdir: "client",
    minify: true,
    format: "esm",
    platform: "browser",
    metafile: true,
    write: false,
    logLevel: "silent",
  });
  const inputs = Object.keys(metafile.inputs).filter((path) => path !== "index.ts");
  expect(inputs.filter((path) => !path.startsWith("src/client/"))).toEqual([]);
  expect(inputs.length).toBeGreaterThan(5);
  const loaded = startup(metafile.outputs);
  expect(loaded.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(10.5 * 1024);
  const sources = loaded.flatMap(({ inputs }) => Object.keys(inputs));
  expect(sources).toContain("src/client/client.ts");
  const forOperators = [
    "src/client/admin.ts",
    "src/client/operation-calls.ts",
    "src/client/audit-calls.ts",
    "src/client/flow.ts",
    "src/client/receiver-calls.ts",
    "src/client/webhook-calls.ts",
  ];
  const later = inputs.filter((path) => !sources.includes(path) && !forOperators.includes(path));
  const files = ["src/client/files.ts", "src/client/send-file.ts", "src/client/transfer.ts"];
  const push = ["src/client/follow.ts", "src/client/push.ts"];
  expect(later.sort()).toEqual([...files, ...push, "src/client/submit-many.ts"].sort());
  const text = outputFiles.map((file) => file.text).join("\n");
  expect(text).toContain("createClient");
  expect(text).not.toMatch(/\bBuffer\b|\bprocess\b|node:/);
});
