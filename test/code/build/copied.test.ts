import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { buildAssetCode } from "../../../src/code/build/asset-code.ts";
import { projectOf, taskText } from "../../support/project.ts";

const made: string[] = [];
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

const offload = {
  "node_modules/offload/package.json": '{ "name": "offload", "version": "1.0.0", "main": "index.js" }',
  "node_modules/offload/index.js": 'exports.near = require("near"); exports.z = require("zod");',
  "node_modules/near/package.json": '{ "name": "near", "version": "1.0.0" }',
  "node_modules/near/index.js": "exports.near = 1;",
};

async function copiedFrom(files: Record<string, string>): Promise<string[]> {
  const root = projectOf({ "package.json": '{ "private": true, "type": "module" }', ...offload, ...files });
  const out = mkdtempSync(join(tmpdir(), "offload-copied-"));
  made.push(root, out);
  await buildAssetCode({ tasks: join(root, "tasks") }, join(out, "code"), join(out, "here"));
  return readdirSync(join(out, "code"), { recursive: true, encoding: "utf8" }).sort();
}

test("a worker has no copy of Offload and zod, which the code around the task types has already", async () => {
  const files = { "tasks/add.one.ts": taskText("add.one", "1") };
  expect(await copiedFrom(files)).toEqual(["tasks.mjs", "tasks.mjs.map"]);
});

test("a package that is copied has what it requires of them", async () => {
  const copied = await copiedFrom({
    "node_modules/many/package.json": '{ "name": "many", "version": "1.0.0" }',
    "node_modules/many/index.js":
      'exports.z = require("zod"); exports.read = (name) => require("node:fs").readFileSync(require("node:path").join(__dirname, "texts", name));',
    "node_modules/many/texts/a.txt": "a",
    "tasks/add.one.ts": taskText("add.one", "Object.keys(many).length", 'import many from "many";'),
  });
  expect(copied).toEqual(
    expect.arrayContaining([
      "node_modules/many/index.js",
      "node_modules/many/texts/a.txt",
      "node_modules/zod/package.json",
    ]),
  );
  expect(copied).not.toContain("node_modules/near/index.js");
});
