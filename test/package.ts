import { strict as assert } from "node:assert";
import { execFileSync, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "../src/client/index.ts";
import { all, cdk, createKey, deploy, gatewayOf } from "./support/deployment.ts";
import { invoke } from "./support/direct-submits.ts";
import { type EmulatedAccount, emulatedAccount } from "./support/emulated-account.ts";
import { openGateway } from "./support/gateway.ts";
import { call, hasEmulator, packed, root, strangerEnv } from "./support/packed.ts";

/*
 * Packs the package, checks its exports with publint and attw, and uses it as a stranger does, in empty folders and from the packed file only: `init`, `npm test`, the compiler,
 * `offload dev` with a submit by the typed client, `cdk synth`; the same beside an existing CDK app; the next version over the first
 * one; and, where MiniStack is installed, `cdk deploy` with a task done there.
 */

const folder = mkdtempSync(join(tmpdir(), "offload-package-"));

const step = (text: string) => console.log(`- ${text}`);

/** A new folder, with the package installed. */
function projectWith(file: string, name: string, manifest?: object): string {
  const project = join(folder, name);
  mkdirSync(project);
  if (manifest !== undefined) writeFileSync(join(project, "package.json"), JSON.stringify(manifest));
  call(project, "npm", "install", file);
  return project;
}

const submitByClient = `
import { createClient } from "offload/client";
import type * as tasks from ${JSON.stringify("./tasks/index.ts")};

const [url = "", key = "", page = ""] = process.argv.slice(2);
const client = createClient<typeof tasks>({ url, key });
// @ts-expect-error: no such type
const misnamed = () => client.submit("link.chekc", { url: page });
// @ts-expect-error: no such field
const misspelt = () => client.submit("link.check", { ulr: page });
const task = await client.submit("link.check", { url: page });
const { status, title } = await client.result(task, { timeoutMs: 60_000 });
console.log(JSON.stringify({ status, title, unused: [typeof misnamed, typeof misspelt].length }));
`;

/** Submits to a server with the typed client, in the stranger's project. */
async function expectDone(project: string, url: string, key: string): Promise<void> {
  const site = createServer((_, response) => response.end("<title>Packed</title>"));
  await new Promise<void>((ready) => site.listen(0, "127.0.0.1", ready));
  const page = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
  try {
    const child = fork(join(project, "submit.ts"), [url, key, page], {
      cwd: project,
      execArgv: [],
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    let out = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      out += chunk.toString("utf8");
    });
    const [code] = await once(child, "close");
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(out), { status: 200, title: "Packed", unused: 2 });
  } finally {
    site.close();
  }
}

/** The installed package has the console built. */
async function expectConsole(url: string): Promise<void> {
  for (const [path, type, text] of [
    ["/console", "text/html; charset=utf-8", /<script type="module" src="\/console\/app.js">/],
    ["/console/app.js", "text/javascript; charset=utf-8", /.{5000}/s],
    ["/console/app.css", "text/css; charset=utf-8", /:root/],
    ["/console/config.json", "application/json", /"local":true/],
  ] as const) {
    const answer = await fetch(url + path);
    assert.deepEqual([answer.status, answer.headers.get("content-type")], [200, type], path);
    assert.match(await answer.text(), text, path);
  }
}

async function useLocally(project: string): Promise<void> {
  const ports = { PORT: "0", OFFLOAD_DYNAMODB_PORT: "0", OFFLOAD_SQS_PORT: "0" };
  const server = fork(join(project, "node_modules/offload/bin/offload.js"), ["dev", "--ephemeral"], {
    cwd: project,
    env: { ...strangerEnv, ...ports },
    execArgv: [],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  try {
    const [{ url }] = (await once(server, "message")) as [{ url: string }];
    await expectConsole(url);
    await expectDone(project, url, "dev-acme");
  } finally {
    const ended = once(server, "exit");
    server.kill("SIGTERM");
    await ended;
  }
}

const templatesIn = (project: string): string[] =>
  readdirSync(join(project, "cdk.out")).filter((file) => file.endsWith(".template.json"));

/** The functions that are deployed as the package has them built. */
function deployedFunctions(project: string): string[] {
  const assets = readdirSync(join(project, "cdk.out")).filter((name) => name.startsWith("asset."));
  const codeIn = (folder: string) => readFileSync(join(folder, "index.mjs"), "utf8");
  const deployed = new Set(
    assets
      .filter((name) => existsSync(join(project, "cdk.out", name, "index.mjs")))
      .map((name) => codeIn(join(project, "cdk.out", name))),
  );
  const built = join(project, "node_modules/offload/dist/functions");
  return readdirSync(built)
    .filter((name) => name !== "threads" && deployed.has(codeIn(join(built, name))))
    .sort();
}

/** An empty folder becomes a project that tests, compiles, runs and synthesises. */
async function newProject(file: string): Promise<string> {
  const project = projectWith(file, "new");
  const { status } = spawnSync("npx", ["offload", "init"], {
    cwd: project,
    input: "",
    encoding: "utf8",
    timeout: 300_000,
  });
  assert.equal(status, 2, "init without --yes and without a terminal must refuse");
  call(project, "npx", "offload", "init", "--yes");
  writeFileSync(join(project, "submit.ts"), submitByClient);
  writeFileSync(
    join(project, "tsconfig.json"),
    readFileSync(join(project, "tsconfig.json"), "utf8").replace('"bin"', '"submit.ts", "bin"'),
  );
  step(call(project, "npm", "test").match(/Tests .*/)?.[0] ?? "no tests ran");
  call(project, "npx", "tsc", "--noEmit");
  await useLocally(project);
  readDocs(project);
  call(project, "npm", "run", "synth");
  assert.equal(templatesIn(project).length, 2);
  assert.deepEqual(deployedFunctions(project), [
    "authorizer",
    "console",
    "control",
    "fire",
    "notify",
    "redrive",
    "status",
    "submit",
  ]);
  assert.match(call(project, "npx", "offload", "init", "--yes"), /Nothing is missing/);
  return project;
}

const shopStack = `
const { App, Stack } = require("aws-cdk-lib");
const { Queue } = require("aws-cdk-lib/aws-sqs");
const app = new App();
const shop = new Stack(app, "Shop");
new Queue(shop, "Orders");
`;

/** Code that the shop adds to its app: the pipeline, and a function of its own stack that submits directly. */
const withPipeline = `
const { CfnOutput, Duration } = require("aws-cdk-lib");
const { Runtime } = require("aws-cdk-lib/aws-lambda");
const { NodejsFunction } = require("aws-cdk-lib/aws-lambda-nodejs");
const { directSubmitBundling, TaskPipeline } = require("offload/cdk");
const pipeline = new TaskPipeline(app, "Tasks", { tasks: "tasks" });
const caller = new NodejsFunction(shop, "Caller", {
  entry: "infra/caller.ts",
  runtime: Runtime.NODEJS_24_X,
  timeout: Duration.seconds(30),
  bundling: directSubmitBundling,
});
pipeline.grantSubmit(caller);
new CfnOutput(shop, "CallerName", { value: caller.functionName });
`;

const submitsDirectly = `
import { createDirectClient } from "offload/direct";
import type linkCheck from ${JSON.stringify("../tasks/link.check.ts")};

const offload = createDirectClient<{ linkCheck: typeof linkCheck }>({ tenant: "acme", principal: "shop" });
export const handler = ({ url }: { url: string }) => offload.submit("link.check", { url });
`;

/** A CommonJS project with a CDK app and a stack of its own gets the pipeline beside it. */
function existingProject(file: string): string {
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const own = Object.fromEntries(["aws-cdk", "aws-cdk-lib", "constructs"].map((name) => [name, devDependencies[name]]));
  const project = projectWith(file, "shop", { name: "shop", private: true, main: "index.js", devDependencies: own });
  mkdirSync(join(project, "infra"));
  writeFileSync(join(project, "infra/app.cjs"), shopStack);
  writeFileSync(join(project, "cdk.json"), JSON.stringify({ app: "node infra/app.cjs" }));
  writeFileSync(join(project, "README.md"), "# Shop\n");
  assert.match(call(project, "npx", "offload", "init", "--yes"), /Add the pipeline to your CDK app/);
  assert.equal(readFileSync(join(project, "README.md"), "utf8"), "# Shop\n");
  assert.equal(existsSync(join(project, "bin")), false);
  writeFileSync(join(project, "infra/caller.ts"), submitsDirectly);
  writeFileSync(join(project, "infra/app.cjs"), shopStack + withPipeline);
  call(project, "npx", "cdk", "synth", "--quiet");
  assert.equal(templatesIn(project).length, 3);
  return project;
}

/** The next version over a project that the first one made: no file changes, and everything still works. */
function upgrade(project: string, file: string): void {
  const next = join(folder, "next");
  mkdirSync(next);
  execFileSync("tar", ["-xzf", file, "-C", next], { timeout: 300_000 });
  const manifest = JSON.parse(readFileSync(join(next, "package/package.json"), "utf8"));
  manifest.version = "9.9.9";
  writeFileSync(join(next, "package/package.json"), JSON.stringify(manifest));
  const before = ownFiles(project);
  call(project, "npm", "install", packed(join(next, "package"), folder, "--ignore-scripts"));
  assert.deepEqual(ownFiles(project), before);
  call(project, "npm", "test");
  call(project, "npx", "tsc", "--noEmit");
  assert.match(call(project, "npx", "offload", "init", "--yes"), /Nothing is missing/);
}

/** The pages are in the package: an alarm's text names a section, and a search finds one. */
function readDocs(project: string): void {
  assert.match(call(project, "npx", "offload", "docs", "runbook#depth"), /^offload docs runbook#depth\n## Depth\n/);
  assert.match(call(project, "npx", "offload", "docs", "exponential", "backoff"), /## Exponential backoff/);
  assert.match(
    call(project, "npx", "offload", "docs", "urn:offload:error:queue_full"),
    /# `queue_full`: 503 Queue full/,
  );
  const pages = readdirSync(join(project, "node_modules/offload/docs"));
  assert.equal(pages.includes("pages.json") && pages.includes("pictures") && !pages.includes("decisions.md"), true);
}

/** The texts of a project's files, without what npm and the CDK write. */
const ownFiles = (project: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(project, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !/node_modules|cdk\.out|package(-lock)?\.json$/.test(path))
      .map((path) => [path, readFileSync(path, "utf8")]),
  );

/** Deploys the projects' own CDK apps to an emulated account. */
async function useDeployed(project: string, shop: string): Promise<void> {
  const account = await emulatedAccount();
  try {
    cpSync(join(root, "test/support/emulate.ts"), join(shop, "infra/emulate.ts"));
    writeFileSync(
      join(shop, "infra/emulated-app.cjs"),
      `${shopStack}${withPipeline}require(${JSON.stringify("./emulate.ts")}).emulate(app);\n`,
    );
    const own = { project: shop, folder: join(folder, "deployed-shop"), app: "infra/emulated-app.cjs" };
    await cdk(account, own, "bootstrap");
    const shopOutputs = all(await deploy(account, own, {}));
    await expectDoneDirectly(account, shopOutputs);
    step("deployed beside a stack of its own: a function of that stack submitted directly, and the task was done");
    cpSync(join(root, "test/support/emulate.ts"), join(project, "bin/emulate.ts"));
    const app = readFileSync(join(project, "bin/app.ts"), "utf8");
    writeFileSync(
      join(project, "bin/emulated-app.ts"),
      `${app.replace("import", 'import { emulate } from "./emulate.ts";\nimport')}\nemulate(app);\n`,
    );
    const deployable = { project, folder: join(folder, "deployed"), app: "bin/emulated-app.ts" };
    const outputs = all(await deploy(account, deployable, {}));
    const gateway = await openGateway(gatewayOf(account, outputs));
    const key = await createKey(account, outputs.TableName ?? "", "acme", "operator");
    const use = async () => {
      await expectDone(project, gateway.url, key);
      const page = await fetch(`${gateway.url}/console`);
      assert.deepEqual([page.status, page.headers.get("content-type")], [200, "text/html; charset=utf-8"]);
    };
    await use().finally(() => gateway.close());
  } finally {
    await account.stop({ keepLog: false });
  }
}

/** Lets the shop's function submit. */
async function expectDoneDirectly(account: EmulatedAccount, outputs: Record<string, string>): Promise<void> {
  const gateway = await openGateway(gatewayOf(account, outputs));
  const site = createServer((_, response) => response.end("<title>Direct</title>"));
  await new Promise<void>((ready) => site.listen(0, "127.0.0.1", ready));
  try {
    const client = createClient({
      url: gateway.url,
      key: await createKey(account, outputs.TableName ?? "", "acme", "operator"),
    });
    const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
    const task = (await invoke(account, outputs.CallerName ?? "", { url })) as { task_id: string };
    assert.deepEqual(await client.result(task, { timeoutMs: 60_000 }), { status: 200, title: "Direct" });
  } finally {
    site.close();
    await gateway.close();
  }
}

async function main(): Promise<void> {
  const file = packed(root, folder);
  const paths = execFileSync("tar", ["-tzf", file], { encoding: "utf8", timeout: 300_000 }).trim().split("\n");
  call(root, "publint", file);
  call(root, "attw", file);
  const client = packed(join(root, "packages/client"), folder);
  call(root, "publint", client);
  call(root, "attw", client);
  step(`${paths.length} files, ${Math.round(readFileSync(file).length / 1024)} KB packed`);
  assert.deepEqual(
    paths.filter(
      (path) =>
        !/^package\/(dist\/(commonjs|console|functions|lib|lambdas|src)|bin\/offload\.js$|dist\/LICENSES\.txt$|templates\/|docs\/|tasks\/probe\.[a-z]+\.ts$|[^/]+$)/.test(
          path,
        ),
    ),
    [],
  );
  const project = await newProject(file);
  step("a new project tests, compiles, runs with a submit by the typed client, and synthesises");
  const shop = existingProject(file);
  step("an existing CommonJS project with a CDK app synthesises its own stack and the pipeline");
  upgrade(project, file);
  step("the next version over it: no file changes");
  if (hasEmulator()) {
    await useDeployed(project, shop);
    step("deployed to the emulated account: a task was done there");
  } else console.log("!!! MINISTACK IS NOT INSTALLED: THE PACKAGE WAS NOT DEPLOYED !!!");
}

try {
  await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
