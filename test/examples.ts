import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { all, cdk, createKey, deploy, gatewayOf, run } from "./support/deployment.ts";
import { type EmulatedAccount, emulatedAccount } from "./support/emulated-account.ts";
import { openGateway } from "./support/gateway.ts";
import { call, hasEmulator, packed, root, strangerEnv } from "./support/packed.ts";

/*
 * Uses the examples as a stranger does who copied their folders: `npm run test:examples [name...]`. It installs them with the packed
 * package. For each: the compiler, its own tests, `cdk synth`; and, where MiniStack is installed, `cdk deploy` and its tests against
 * that deployment.
 */

const source = join(root, "examples");
const folder = mkdtempSync(join(tmpdir(), "offload-examples-"));
const isExample = (name: string) => readdirSync(join(source, name)).includes("package.json");
const names = readdirSync(source, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== "node_modules" && isExample(entry.name))
  .map(({ name }) => name)
  .filter((name) => process.argv.length < 3 || process.argv.includes(name));

const step = (text: string) => console.log(`- ${text}`);

/** Copies the examples into one npm workspace, so that they share an installation, and installs the packed package in it. */
function install(): void {
  packed(root, folder);
  const file = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  for (const name of names) {
    const own = (path: string) => !/\/(node_modules|cdk\.out|\.offload)(\/|$)/.test(path.slice(source.length));
    cpSync(join(source, name), join(folder, name), { recursive: true, filter: own });
    const path = join(folder, name, "package.json");
    const manifest = JSON.parse(readFileSync(path, "utf8"));
    manifest.dependencies.offload = `file:../${file}`;
    writeFileSync(path, JSON.stringify(manifest, null, 2));
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, workspaces: names }));
  call(folder, "npm", "install", "--no-audit", "--no-fund");
}

/** The PATH of an npm script in an example. */
const binFolders = (name: string): string =>
  [join(folder, name), folder].map((at) => `${at}/node_modules/.bin`).join(":");

/** Runs a command in an example, with this process's output. Throws when it fails. */
async function inExample(name: string, env: NodeJS.ProcessEnv, command: string, ...args: string[]): Promise<void> {
  const own = { ...strangerEnv, ...env, PATH: `${binFolders(name)}:${process.env.PATH}`, CI: "true" };
  const code = await run(command, args, own, join(folder, name));
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} in the example ${name} ended with ${code}`);
}

async function useLocally(name: string): Promise<void> {
  await inExample(name, {}, "tsc", "--noEmit");
  await inExample(name, {}, "npm", "test");
  await inExample(name, {}, "npm", "run", "synth");
  step(`${name}: compiles, its tests pass, it synthesises`);
}

/** Deploys an example's own CDK app to an emulated account, and runs its tests against the deployment. */
async function useDeployed(name: string, account: EmulatedAccount): Promise<void> {
  const project = join(folder, name);
  cpSync(join(root, "test/support/emulate.ts"), join(project, "bin/emulate.ts"));
  const app = readFileSync(join(project, "bin/app.ts"), "utf8");
  writeFileSync(
    join(project, "bin/emulated-app.ts"),
    `${app.replace("import", 'import { emulate } from "./emulate.ts";\nimport')}\nemulate(app);\n`,
  );
  const deployable = { project, folder: join(folder, `deployed-${name}`), app: "bin/emulated-app.ts" };
  mkdirSync(deployable.folder);
  // A receiver of webhooks on this machine.
  account.env.CALLBACK_HOSTS = "127.0.0.1:4100";
  await cdk(account, deployable, "bootstrap");
  const outputs = all(await deploy(account, deployable, {}));
  const gateway = await openGateway(gatewayOf(account, outputs));
  try {
    const table = outputs.TableName ?? "";
    const key = await createKey(account, table, "acme", "operator");
    const admin = await createKey(account, table, "acme", "admin");
    const deployment = { OFFLOAD_URL: gateway.url, OFFLOAD_KEY: key, OFFLOAD_ADMIN_KEY: admin, OFFLOAD_TABLE: table };
    await inExample(name, { ...account.env, ...deployment }, "npm", "test");
    step(`${name}: deployed to the emulated account, its tests pass there`);
  } finally {
    await gateway.close();
  }
}

async function main(): Promise<void> {
  install();
  step(`${names.join(", ")}: installed with the packed package`);
  for (const name of names) await useLocally(name);
  if (!hasEmulator()) return console.log("\n!!! MINISTACK IS NOT INSTALLED: THE EXAMPLES WERE NOT DEPLOYED !!!\n");
  for (const name of names) {
    const account = await emulatedAccount();
    await useDeployed(name, account).finally(() => account.stop({ keepLog: false }));
  }
}

try {
  await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
