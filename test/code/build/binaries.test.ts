import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkAsset } from "../../../lib/asset-checks.ts";
import { buildAssetCode } from "../../../src/code/build/asset-code.ts";
import { machineOf } from "../../../src/code/build/machine.ts";
import { projectOf, taskText } from "../../support/project.ts";

const processors = { x64: 62, arm64: 183 };

/** The start of a library for Linux. */
function library(processor: keyof typeof processors, more = ""): Buffer {
  const head = Buffer.alloc(64);
  head.write("7f454c46", "hex");
  head.writeUInt16LE(processors[processor], 18);
  return Buffer.concat([head, Buffer.from(more)]);
}

const loads = (path: string) =>
  `exports.load = () => require(${JSON.stringify(path)}.replace("CPU", process.arch));\nexports.name = () => "loaded";`;

const files = {
  "package.json": '{ "private": true, "type": "module" }',
  "node_modules/many/package.json": '{ "name": "many", "version": "1.0.0" }',
  "node_modules/many/index.js": loads("./prebuilds/linux-CPU/many.node"),
  "tasks/use.many.ts": taskText("use.many", "many.name()", 'import many from "many";'),
  "node_modules/owner/package.json":
    '{ "name": "owner", "version": "1.0.0", "optionalDependencies": { "@owner/linux-x64": "1.0.0", "@owner/linux-arm64": "1.0.0" } }',
  "node_modules/owner/index.js": loads("@owner/linux-CPU"),
  "node_modules/@owner/linux-x64/package.json":
    '{ "name": "@owner/linux-x64", "os": ["linux"], "cpu": ["x64"], "main": "owner.node" }',
  "node_modules/@owner/linux-arm64/package.json":
    '{ "name": "@owner/linux-arm64", "os": ["linux"], "cpu": ["arm64"], "main": "owner.node" }',
  "tasks/use.owner.ts": taskText(
    "use.owner",
    "owner.name()",
    'import owner from "owner";\nimport { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);\nexport const both = () => [require("@owner/linux-x64"), require("@owner/linux-arm64")];',
  ),
};

const binaries = {
  "node_modules/many/prebuilds/linux-x64/many.node": library("x64"),
  "node_modules/many/prebuilds/linux-arm64/many.node": library("arm64"),
  "node_modules/many/prebuilds/linux-arm64/many.musl.node": library("arm64", "libc.musl-aarch64.so.1"),
  "node_modules/@owner/linux-x64/owner.node": library("x64"),
  "node_modules/@owner/linux-arm64/owner.node": library("arm64"),
};

let root: string;
const put = (path: string, content: Buffer | string) => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
};
const made: string[] = [];
const builtIn = async () => {
  const folder = mkdtempSync(join(tmpdir(), "offload-binaries-"));
  made.push(folder);
  const [out, here] = [join(folder, "out"), join(folder, "here")];
  await buildAssetCode({ tasks: join(root, "tasks") }, out, here);
  return { out, here };
};
const binariesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".node"))
    .sort();

beforeAll(() => {
  root = projectOf(files);
  made.push(root);
  for (const [path, content] of Object.entries(binaries)) put(path, content);
});
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

test("a worker has the binaries of Lambda's machine only; those of this one are kept apart", async () => {
  const { out, here } = await builtIn();
  expect(binariesIn(out)).toEqual([
    "node_modules/@owner/linux-arm64/owner.node",
    "node_modules/many/prebuilds/linux-arm64/many.node",
  ]);
  expect(binariesIn(here)).toEqual([
    "node_modules/@owner/linux-x64/owner.node",
    "node_modules/many/prebuilds/linux-arm64/many.musl.node",
    "node_modules/many/prebuilds/linux-x64/many.node",
  ]);
  expect(existsSync(join(out, "node_modules/@owner/linux-x64"))).toBe(false);
  expect(() => checkAsset(out)).not.toThrow();
});

test("a binary that was made on this machine is refused, with its package, the reason and the cure", async () => {
  put("node_modules/made/package.json", '{ "name": "made", "version": "1.0.0" }');
  put("node_modules/made/index.js", loads("./build/Release/made.node"));
  put("node_modules/made/build/Release/made.node", library("x64"));
  put("tasks/use.made.ts", taskText("use.made", "made.name()", 'import made from "made";'));
  const { out } = await builtIn();
  expect(() => checkAsset(out)).toThrow(
    "node_modules/made/build/Release/made.node is for linux-x64, and the workers run on linux-arm64. The package made makes it",
  );
  expect(() => checkAsset(out)).toThrow(
    'workerFiles of the TaskPipeline: { "node_modules/made/build/Release/made.node": ',
  );
});

test("what was made on this machine is left out where the code does without it", async () => {
  rmSync(join(root, "tasks/use.made.ts"), { force: true });
  put("node_modules/fast/package.json", '{ "name": "fast", "version": "1.0.0" }');
  put(
    "node_modules/fast/index.js",
    'let binding; try { binding = require("./build/Release/fast.node"); } catch {}\nexports.name = () => "slow";',
  );
  put("node_modules/fast/build/Release/fast.node", library("x64"));
  put("node_modules/fast/build/Release/obj.target/fast.o", library("x64"));
  put(
    "node_modules/user/package.json",
    '{ "name": "user", "version": "1.0.0", "optionalDependencies": { "cpu": "1.0.0" } }',
  );
  put(
    "node_modules/user/index.js",
    'let cpu; try { cpu = require("cpu"); } catch {}\nexports.name = () => require("fast").name();',
  );
  put("node_modules/cpu/package.json", '{ "name": "cpu", "version": "1.0.0" }');
  put("node_modules/cpu/index.js", 'module.exports = require("./build/Release/cpu.node");');
  put("node_modules/cpu/build/Release/cpu.node", library("x64"));
  put("tasks/use.optional.ts", taskText("use.optional", "user.name()", 'import user from "user";'));
  const { out } = await builtIn();
  expect(() => checkAsset(out)).not.toThrow();
  expect(existsSync(join(out, "node_modules/cpu"))).toBe(false);
  expect(binariesIn(out).filter((path) => path.includes("fast"))).toEqual([]);
  put(
    "node_modules/fast/index.js",
    'let binding; try { binding = require("./build/Release/fast.node"); } catch (error) { throw new Error("no fast", { cause: error }); }\nexports.name = () => "slow";',
  );
  const again = await builtIn();
  expect(() => checkAsset(again.out)).toThrow("node_modules/fast/build/Release/fast.node is for linux-x64");
  rmSync(join(root, "tasks/use.optional.ts"));
});

test("a program for a system that is neither this machine's nor Lambda's is left out", async () => {
  put("node_modules/agent/package.json", '{ "name": "agent", "version": "1.0.0" }');
  put(
    "node_modules/agent/index.js",
    'const { join } = require("node:path");\nconst program = join(__dirname, "util/agent.exe");\nexports.name = () => program;',
  );
  const windows = Buffer.alloc(64);
  windows.write("4d5a", "hex");
  put("node_modules/agent/util/agent.exe", windows);
  put("tasks/use.agent.ts", taskText("use.agent", "agent.name()", 'import agent from "agent";'));
  const { out } = await builtIn();
  expect(existsSync(join(out, "node_modules/agent/index.js"))).toBe(true);
  expect(existsSync(join(out, "node_modules/agent/util/agent.exe"))).toBe(process.platform === "win32");
  checkAsset(out);
  rmSync(join(root, "tasks/use.agent.ts"));
});

test("a worker that is too large is refused, with its largest packages", () => {
  const folder = mkdtempSync(join(tmpdir(), "offload-size-"));
  made.push(folder);
  for (const [path, bytes] of Object.entries({
    "index.mjs": 1,
    "node_modules/@a/big/x.js": 3,
    "node_modules/b/x.js": 2,
  })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), Buffer.alloc(bytes * 1_048_576));
  }
  expect(() => checkAsset(folder, 6 * 1_048_576)).not.toThrow();
  expect(() => checkAsset(folder, 5 * 1_048_576)).toThrow(
    "The workers' code has 6 MB, and Lambda takes at most 5 MB. The largest parts: @a/big 3 MB, b 2 MB, the code 1 MB.",
  );
});

test("machine code is known by its header", () => {
  const file = join(root, "a.node");
  const machine = (content: Buffer) => {
    writeFileSync(file, content);
    return machineOf(file);
  };
  const apple = Buffer.alloc(64);
  apple.write("cffaedfe0c000001", "hex");
  expect(machine(library("x64"))).toBe("linux-x64");
  expect(machine(library("arm64", "…libc.musl-aarch64.so.1"))).toBe("linux-arm64-musl");
  expect(machine(apple)).toBe("darwin-arm64");
  expect(machine(Buffer.from("exports.x = 1;"))).toBeUndefined();
  expect(machine(Buffer.alloc(0))).toBeUndefined();
});
