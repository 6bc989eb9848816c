import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { buildSync, type Metafile } from "esbuild";
import { afterAll, describe, expect, test } from "vitest";
import { buildOptions, bundle } from "../../lib/esbuild.ts";
import { title } from "../../lib/per-tier.ts";
import { errorName } from "../../src/core/model/describe-error.ts";
import { consoleFiles } from "../../src/installed/console-files.ts";
import { codeFolder } from "../../src/installed/installation.ts";
import type { FunctionName } from "../../src/settings/config.ts";
import { nodeModules, nodeModulesIn, partBudgets, startup, watched } from "./at-start.ts";
import { inService, resources, stage } from "./synthesis.ts";

/** What a function may load at its start, in KiB: bytes cost a part of each cold start. A tenth above what they are. */
const budgets: Record<FunctionName, number> = {
  submit: 105,
  status: 71,
  control: 293,
  worker: 310,
  redrive: 85,
  fire: 296,
  authorizer: 56,
  publish: 28,
  socket: 36,
  notify: 118,
  wake: 22,
  console: 27,
};

const dev = stage("dev");
const folder = mkdtempSync(join(tmpdir(), "offload-bundles-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const names = Object.keys(budgets) as FunctionName[];
const texts = {
  ...{ "catalog.json": "[]", "schedules.json": "[]", "triggers.json": "[]", "openapi.json": "{}" },
  "console/index.html": "<!doctype html>",
};
const copies = { "notes/manifest.json": "package.json" };
const bundles = new Map(names.map((name) => [name, bundle(name, join(folder, name), { texts, copies })]));

const metafileOf = (name: FunctionName): Metafile => bundles.get(name) ?? { inputs: {}, outputs: {} };
const sourcesOf = (name: FunctionName): string[] => Object.keys(metafileOf(name).inputs);
const read = (...path: string[]): string => readFileSync(join(folder, ...path), "utf8");

test.each(Object.entries(budgets) as [FunctionName, number][])(
  "%s loads at most %d KiB at its start",
  (name, budget) => {
    const kib = Math.ceil(startup(metafileOf(name)).bytes / 1024);
    expect(kib).toBeLessThanOrEqual(budget);
    // Far less would mean that the bundle, or this measurement, is not complete.
    expect(kib).toBeGreaterThan(budget / 2);
  },
);

test.each(names)("%s loads few files at its start: each of them costs it more than its bytes", (name) => {
  // Those of a worker also come from the packages that its tasks share with late code, such as zod.
  expect(startup(metafileOf(name)).files).toBeLessThanOrEqual(name === "worker" ? 8 : 3);
});

test.each(watched)(
  "%s loads at its start no more of each package and folder than its budget, and no others",
  (name) => {
    const { kib } = startup(metafileOf(name));
    const above = Object.entries(kib).filter(([part, size]) => size > (partBudgets[name][part] ?? 0));
    expect(above).toEqual([]);
  },
);

test("the console has less than 130 KB as it is sent, and less than 140 KB of code at its start before it is compressed", () => {
  const files = consoleFiles();
  expect(Object.keys(files)).toEqual(expect.arrayContaining(["index.html", "app.js", "app.css", "icon.svg"]));
  const sent = Object.values(files).reduce((sum, text) => sum + gzipSync(text).byteLength, 0);
  expect(sent).toBeLessThan(130_000);
  const start = (name: string): string[] => {
    const imported = [...(files[name] ?? "").matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)].map(([, path = ""]) => path);
    return [name, ...imported.flatMap(start)];
  };
  const atStart = [...new Set(["app.css", ...start("app.js")])];
  expect(atStart.length).toBeGreaterThan(2);
  expect(atStart.reduce((sum, name) => sum + Buffer.byteLength(files[name] ?? ""), 0)).toBeLessThan(140_000);
});

/** All files of a bundle together, as they are uploaded. */
const wholeBytes = (name: FunctionName): number =>
  Object.values(metafileOf(name).outputs).reduce((sum, { bytes }) => sum + bytes, 0);

test.each<[FunctionName, number]>([
  // Rare submits load code of their own: those with callbacks, files, forms, batches, unique keys.
  ["submit", 409],
  ["status", 408],
  ["authorizer", 372],
])("%s has less than %d KB as a whole", (name, kilobytes) => {
  expect(wholeBytes(name)).toBeLessThan(kilobytes * 1000);
});

test.each(names)("%s has no file that no other file imports", (name) => {
  const { outputs } = metafileOf(name);
  const imported = new Set(Object.values(outputs).flatMap(({ imports }) => imports.map(({ path }) => path)));
  const codeOf = (path: string) => path.replace(/\.map$/, "");
  const loose = Object.keys(outputs).filter(
    (path) => !imported.has(codeOf(path)) && !/\/(index|watcher|witness)\.mjs(\.map)?$/.test(path),
  );
  expect(loose).toEqual([]);
  expect(readdirSync(join(folder, name)).filter((file) => /\.mjs(\.map)?$/.test(file))).toHaveLength(
    Object.keys(outputs).length,
  );
});

test.each(names)("%s has nothing of the local server or of the synth", (name) => {
  expect(
    sourcesOf(name).filter((path) =>
      /^(src\/(api\/openapi|code\/(build|describe)|installed|local|memory|testkit|tools)|lib|test)\b/.test(path),
    ),
  ).toEqual([]);
});

test.each(names.filter((name) => name !== "worker"))("%s has no task", (name) => {
  expect(sourcesOf(name).filter((path) => path.startsWith("tasks/"))).toEqual([]);
});

test.each(names.filter((name) => name !== "worker"))("%s has no package that only tasks use", (name) => {
  expect(sourcesOf(name).filter((path) => path.includes("node_modules/pdfmake/"))).toEqual([]);
});

/** Values of the kind that a deployment gives to a function. */
function environmentOf(name: FunctionName): Record<string, string> {
  // Only deployments with programs that submit directly, with channels or with containers have these functions.
  if (name === "publish" || name === "socket") return { OFFLOAD_TABLE: "offload" };
  if (name === "wake") return { OFFLOAD_CONTAINER_SERVICE: "offload/workers" };
  const id = name === "worker" ? "CriticalWorker" : title(name);
  const fn = resources(dev.service, "AWS::Lambda::Function")(`${id}/Function`);
  const variables = Object.entries(fn.get("Environment.Variables") ?? {}).map(([variable, value]) => {
    const text = inService(dev, value);
    if (variable.endsWith("_URLS")) return [variable, text.replaceAll(/:"/g, ':"https://sqs.example.com/')];
    if (variable.endsWith("_URL")) return [variable, `https://sqs.example.com/${text}`];
    return [
      variable,
      variable.endsWith("_ARN") ? `arn:${text}` : text.replace("<AWS::StackId>", "arn:of-a-stack/1234"),
    ];
  });
  return Object.fromEntries(variables);
}

interface Started {
  /** The type of its handler, or the end of the error. */
  handler: string;
  nodeModules: string[];
}

const startScript = `const before = process.moduleLoadList.slice();
import("./index.mjs").then(({ handler }) => {
  const loaded = process.moduleLoadList.filter((name) => !before.includes(name));
  console.log(JSON.stringify({ handler: typeof handler, loaded }));
});`;

/** Loads a bundle in a process of its own. */
async function start(name: FunctionName, settings: Record<string, string> = {}): Promise<Started> {
  const cwd = join(folder, name);
  const env = { ...environmentOf(name), ...settings, AWS_REGION: "us-east-1", LAMBDA_TASK_ROOT: cwd };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ["-e", startScript], { cwd, env });
    const { handler, loaded } = JSON.parse(stdout) as { handler: string; loaded: string[] };
    return { handler, nodeModules: nodeModulesIn(loaded) };
  } catch (error) {
    // Node shows the line at fault, and a bundle is one line.
    return { handler: String((error as { stderr?: string }).stderr ?? error).slice(-1000), nodeModules: [] };
  }
}

const handlerOf = async (...given: Parameters<typeof start>): Promise<string> => (await start(...given)).handler;

test.concurrent.each(names)("%s starts as an ES module, with the settings of its deployment", async (name) => {
  expect(await handlerOf(name)).toBe("function");
});

test.concurrent.each(watched)(
  "%s loads these modules of Node at its start: each is a part of a cold start",
  async (name) => {
    expect((await start(name)).nodeModules).toEqual(nodeModules[name]);
  },
);

describe("the worker", () => {
  test("the worker loads a task's heavy packages when they are needed", () => {
    const heavy = Object.entries(metafileOf("worker").outputs).filter(
      ([path, { bytes }]) => /\.mjs$/.test(path) && bytes > 500_000,
    );
    expect(heavy).toHaveLength(1);
    const loaded = startup(metafileOf("worker")).sources;
    expect(Object.keys(heavy[0]?.[1].inputs ?? {}).filter((path) => loaded.includes(path))).toEqual([]);
  });

  const secretsOf = (path: string) =>
    /^src\/(core\/task|aws)\/secrets\.ts$|lean\/client-(secrets-manager|ssm)/.test(path);

  test("the worker loads the code that reads secrets only where secrets are declared", () => {
    expect(sourcesOf("worker").filter(secretsOf)).toHaveLength(4);
    expect(startup(metafileOf("worker")).sources.filter(secretsOf)).toEqual([]);
  });

  test("the worker starts with secrets that cannot be read: only attempts fail", async () => {
    const OFFLOAD_SECRETS = '{"STRIPE_KEY":{"secretName":"prod/stripe"}}';
    expect(await handlerOf("worker", { OFFLOAD_SECRETS, AWS_ENDPOINT_URL: "http://127.0.0.1:9" })).toBe("function");
  });

  test("errors that clients see keep their names in a bundle, and so do classes of a project that extend them", async () => {
    const outdir = join(folder, "errors");
    const contents = `export * from "${join(codeFolder, "src/core/model/errors.ts")}";`;
    buildSync({ ...buildOptions, stdin: { contents, resolveDir: codeFolder }, outdir, entryNames: "index" });
    const errors = (await import(join(outdir, "index.mjs"))) as typeof import("../../src/core/model/errors.ts");
    class CardDeclined extends errors.PermanentError {}
    expect(new errors.BusinessRuleViolation("").name).toBe("BusinessRuleViolation");
    expect(errorName(new errors.RetryAfter(1))).toBe("RetryAfter");
    expect(errorName(new errors.Misuse(""))).toBe("TypeError");
    expect(errorName(new CardDeclined(""))).toBe("CardDeclined");
    const named = Object.entries(errors).filter(
      ([, one]) => one instanceof Function && one.prototype instanceof errors.TaskError,
    );
    expect(named.length).toBeGreaterThan(8);
    expect(named.map(([, one]) => (one as { name: string }).name)).toEqual(named.map(([name]) => name));
  });
});

test("texts are written beside the code", () => {
  expect(read("submit", "catalog.json")).toBe("[]");
});

test("files are copied beside the code", () => {
  expect(read("worker", "notes", "manifest.json")).toContain('"name": "offload"');
});
