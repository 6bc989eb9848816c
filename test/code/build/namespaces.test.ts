import { rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { buildAssetCode } from "../../../src/code/build/asset-code.ts";
import { buildLocalCode } from "../../../src/code/build/local-code.ts";
import { projectOf, taskText } from "../../support/project.ts";

const root = projectOf({
  "package.json": '{ "private": true, "type": "module" }',
  "node_modules/many/package.json": '{ "name": "many", "version": "1.0.0" }',
  "node_modules/many/index.js": "exports.one = 1; exports.two = 2;",
  "old/old.cjs": 'exports.early = 1; exports.seen = require("./first.ts").seen; exports.late = 2;',
  "old/first.ts": 'import * as old from "./old.cjs";\nexport const seen = Object.keys(old);',
  "tasks/use.first.ts": taskText("use.first", "many", 'import * as many from "many";'),
  "tasks/use.second.ts": taskText("use.second", "many", 'import * as many from "many";'),
  "tasks/use.third.ts": taskText(
    "use.third",
    "[old.early, old.seen, old.late]",
    'import * as old from "../old/old.cjs";',
  ),
});
const out = `${root}-built`;
afterAll(() => {
  for (const folder of [root, out]) rmSync(folder, { recursive: true, force: true });
});

const built = {
  async laptop() {
    return (await buildLocalCode(join(root, "tasks"))).file;
  },
  async Lambda() {
    await buildAssetCode({ tasks: join(root, "tasks") }, join(out, "code"), join(out, "here"));
    return join(out, "code/tasks.mjs");
  },
};

test.each(["laptop", "Lambda"] as const)(
  "a CommonJS module has one namespace, as in Node: code for the %s",
  async (place) => {
    const { files } = await import(pathToFileURL(await built[place]()).href);
    const call = async (name: string) => (await files[`${name}.ts`]()).default.handler({});
    const first = await call("use.first");
    expect(await call("use.second")).toBe(first);
    expect(first).toMatchObject({ one: 1, two: 2, default: { one: 1, two: 2 } });
    // Seen by a file that the module requires before it is complete, and after it is.
    expect(await call("use.third")).toEqual([1, expect.arrayContaining(["early"]), 2]);
  },
);
