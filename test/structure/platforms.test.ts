import { describe, expect, test } from "vitest";
import { sources } from "./sources.ts";

/*
 * Offload runs on Windows, too, and in folders of any name: a path is neither a text with slashes nor a URL.
 */

interface Rule {
  what: string;
  folders: RegExp;
  sign: RegExp;
  cure: string;
  /** Files in which the sign is right, and why. */
  exceptions: Readonly<Record<string, string>>;
}

const pathCode = /^(src\/(code|installed)|lib)\//;
const machineCode = /^(src\/(code|installed|tools\/(init|cli)|local|machine|testkit|work|entries)|lib)\//;

const asUrls = "it reads paths of URLs";
const asKeys = "it reads names of AWS, which have slashes";

const rules: readonly Rule[] = [
  {
    what: "paths of node:path and node:url in code that compares paths",
    folders: pathCode,
    sign: /^import [^;]*"node:path"|\b(fileURLToPath|realpathSync)\(/m,
    cure: "take them from src/machine/paths.ts",
    exceptions: { "lib/around-code-process.ts": "esbuild compares paths as the machine writes them" },
  },
  {
    what: "a slash as the mark of an absolute path, or as the separator of a path",
    folders: machineCode,
    sign: /startsWith\("\/|endsWith\("\/|split\("\/"\)|indexOf\("\/|base: "\/"/,
    cure: "isAbsolute, basename, dirname of src/machine/paths.ts",
    exceptions: {
      "lib/esbuild.ts": "it reads paths with slashes: esbuild's own, and those of src/machine/paths.ts",
      "lib/pipeline-stack.ts": "it reads the path of a construct",
      "src/code/build/choose.ts": "it reads paths with slashes",
      "src/code/build/computed.ts": "it reads what an import says",
      "src/code/build/trace.ts": "it reads what an import says",
      "src/local/gateway/gateway-event.ts": asUrls,
      "src/local/gateway/gateway.ts": asUrls,
      "src/local/s3/signature.ts": asKeys,
      "src/local/scheduler/scheduler.ts": asUrls,
      "src/local/server/reload.ts": "it reads paths with slashes",
      "src/local/sqs/own-queues.ts": asUrls,
      "src/local/sqs/receipt.ts": asKeys,
      "src/tools/init/manager.ts": "it reads the name of a package manager",
    },
  },
  {
    what: "a program that Node starts itself",
    folders: machineCode,
    sign: /import [^;]*\b(spawn|exec)\w*\b[^;]*"node:child_process"|require\("node:child_process"\)/,
    cure: "startProgram and runProgram of src/machine/platform.ts start programs of packages on Windows, too",
    exceptions: {
      "lib/assembly.ts": "it starts the machine's own shell",
      "lib/around-code.ts": "it starts Node",
      "src/code/describe/beside.ts": "it starts Node",
      "src/code/describe/describe.ts": "it starts Node",
    },
  },
  {
    what: "an import of a path",
    folders: /^(src|lib|bin)\//,
    sign: /\bimport\(\s*(?!\s|["'`]|pathToFileURL|`\$\{pathToFileURL|new URL|__offload|\$\{)[^)]/,
    cure: "import(pathToFileURL(path).href)",
    exceptions: {
      "src/code/build/computed.ts": "it writes and reads imports of others",
    },
  },
  {
    what: "the platform",
    folders: /^(src|lib)\//,
    sign: /process\.platform|"win32"/,
    cure: "src/machine/platform.ts knows it",
    exceptions: {
      "src/machine/platform.ts": "here",
      "src/code/build/binaries.ts": "it compares binaries with this machine",
      "src/code/build/kept-analyses.ts": "a part of a key: each machine keeps its own analyses",
      "src/code/build/machine.ts": "the kind of a binary",
    },
  },
];

const all = sources();

describe.each(rules)("$what", ({ folders, sign, cure, exceptions }) => {
  const found = all.filter(({ path, text }) => folders.test(path) && sign.test(text)).map(({ path }) => path);

  test(`is nowhere: ${cure}`, () => {
    expect(found.filter((path) => exceptions[path] === undefined)).toEqual([]);
  });

  test("each exception is still one", () => {
    expect(Object.keys(exceptions).filter((path) => !found.includes(path))).toEqual([]);
  });
});

test.each([
  ['import { join } from "node:path";', 0],
  ['file.startsWith("/")', 1],
  ['import { spawnSync } from "node:child_process";', 2],
  ["await import(path)", 3],
  ['process.platform === "win32"', 4],
])("%s is found", (text, rule) => {
  expect(rules[rule]?.sign.test(text)).toBe(true);
});

test("Node is started, and a URL imported", () => {
  expect(rules[2]?.sign.test('import { fork } from "node:child_process";')).toBe(false);
  expect(rules[3]?.sign.test("import(pathToFileURL(file).href)")).toBe(false);
});
