import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Role } from "../src/core/model/words.ts";
import {
  all,
  cdk,
  createKey,
  type Deployable,
  deploy,
  gatewayOf,
  type Outputs,
  run,
  tierQueues,
} from "./support/deployment.ts";
import { submitDirectly } from "./support/direct-submits.ts";
import { type EmulatedAccount, emulatedAccount } from "./support/emulated-account.ts";
import { printFunctionErrors } from "./support/function-errors.ts";
import { openGateway } from "./support/gateway.ts";
import { receiverHost } from "./support/receiver.ts";
import { releaseOf } from "./support/releases.ts";
import { expectFinished, leaveTasks } from "./support/upgrade.ts";

/*
 * Deploys the pipeline to an emulated AWS account with the stock CDK command, runs the black-box suite against it, and then
 * deploys two releases after one another over it, the second of which finishes what the first has left. Arguments are
 * Vitest's, such as the name of one file, and leave out the upgrade; `upgrade` alone leaves out the suite. Without an
 * argument the files of `rules` are left out; `whole` runs them, too. `verify` alone runs all of `npx offload verify` in
 * place of the suite (25 minutes), and prints its report, in which the emulator's own differences are, too. Retry waits are
 * shortened for the suite: 30 s become 1 s.
 */

const root = fileURLToPath(new URL("../", import.meta.url));
const timeScale = "0.01";

/** Files about rules of the core, which are the same on the local server: here they are for the night, with `whole`. */
const rules = [
  ...["characters", "crash", "expiry", "flow", "idempotency", "keys"],
  ...["limits", "list", "priority", "problems", "search", "unique"],
];

/** What one release leaves to the next, which takes less than the delay to be deployed. */
const left = { tasks: 40, delaySeconds: 25, limitMs: 120_000 };

/** What cannot hold on the emulator, and why: `emulated-account.ts` says what it does unlike AWS. */
const beyondEmulator = [
  ["submits exactly one task for the scheduled time", "it does not fill in <aws.scheduler.scheduled-time>"],
  ["the task id ..%2Ftasks gets 404", "it decodes %2F before it looks for the route"],
  [
    "crashes by memory fails after exactly",
    "it has no memory limit, and few processes at once: a crash is noticed late",
  ],
  ["polls one task more than 10 times a second", "it answers too slowly, from a process for each request under way"],
] as const;

async function main(): Promise<number> {
  const account = await emulatedAccount();
  const folder = mkdtempSync(join(tmpdir(), "offload-deploy-"));
  const [only, ...more] = process.argv.slice(2);
  let code = 1;
  try {
    const own = deployable(folder, root);
    await cdk(account, own, "bootstrap");
    if (only === "verify") return await verifyWhole(account, await deploy(account, own, { probes: "1", push: "1" }));
    code = only === "upgrade" ? 0 : await runSuite(account, await deploy(account, own, suiteContext));
    const upgrades = only === undefined || ((only === "upgrade" || only === "whole") && more.length === 0);
    if (code === 0 && upgrades) await upgrade(account, folder);
    return code;
  } catch (error) {
    code = 1;
    throw error;
  } finally {
    await account.stop({ keepLog: code !== 0 });
    rmSync(folder, { recursive: true, force: true });
  }
}

const deployable = (folder: string, project: string): Deployable => ({
  project,
  folder,
  app: "test/support/emulated-app.ts",
});

/** With the probe types, and with everybody who can be told of tasks. */
const suiteContext = { probes: "1", timeScale, push: "1", events: "1", callbackHosts: receiverHost };

/** Deploys one release and then the next, which has to finish what the first has left in the queues. */
async function upgrade(account: EmulatedAccount, folder: string): Promise<void> {
  using first = releaseOf("first");
  using second = releaseOf("second");
  const outputs = all(await deploy(account, deployable(folder, first.folder), {}));
  const gateway = await openGateway(gatewayOf(account, outputs));
  try {
    const token = await createKey(account, outputs.TableName ?? "", "upgrade", "operator");
    const deployed = { url: gateway.url, token };
    const tasks = await leaveTasks(deployed, left);
    await deploy(account, deployable(folder, second.folder), {});
    await expectFinished(deployed, tasks, left.limitMs);
    console.log(`Upgrade: the second release finished ${left.tasks} tasks that the first had left`);
  } finally {
    await gateway.close();
  }
}

async function runSuite(account: EmulatedAccount, stacks: Outputs): Promise<number> {
  const outputs = all(stacks);
  const table = outputs.TableName ?? "";
  const gateway = await openGateway(gatewayOf(account, outputs));
  const tokens = callers.map(
    async ([tenant, role]) => `${await createKey(account, table, tenant, role)}:${tenant}:${role}`,
  );
  const env = {
    ...account.env,
    OFFLOAD_URL: gateway.url,
    OFFLOAD_KEYS: (await Promise.all(tokens)).join(","),
    OFFLOAD_TIME_SCALE: timeScale,
    OFFLOAD_TABLE: table,
    OFFLOAD_E2E_SOCKETS: account.endpoint.origin.replace(/^http/, "ws"),
    OFFLOAD_E2E_QUEUES: JSON.stringify(await tierQueues(account, "Offload-dev-data")),
  };
  for (const [test, why] of beyondEmulator) console.log(`Left out: "${test}", as the emulator is unlike AWS: ${why}`);
  const leftOut = beyondEmulator.map(([test]) => test.replaceAll(/[.*+?]/g, "\\$&")).join("|");
  const suite = ["run", "--project", "e2e", "--maxWorkers", "2", "--testNamePattern", `^(?!.*(${leftOut}))`];
  try {
    const code = await verifyByStack(account, gateway.url, ["--only", "files"]);
    if (code !== 0) throw new Error(`npx offload verify ended with ${code}`);
    await submitDirectly(account, outputs.CallerName ?? "", gateway.url, env.OFFLOAD_KEYS.split(":")[0] ?? "");
    const given = process.argv.slice(2);
    if (given.length === 0) console.log(`Left out, for the night: ${rules.join(", ")}`);
    const chosen =
      given.length > 0
        ? given.filter((one) => one !== "whole")
        : rules.flatMap((name) => ["--exclude", `test/e2e/${name}.test.ts`]);
    const failed = await run("vitest", [...suite, ...chosen], env);
    if (failed !== 0) await printFunctionErrors(account, "Offload-dev-service");
    return failed;
  } finally {
    await gateway.close();
  }
}

/**
 * Runs all checks of the deployment, at the waits of a real one. The exit code is that of the command: 1 when one differs.
 */
async function verifyWhole(account: EmulatedAccount, stacks: Outputs): Promise<number> {
  const gateway = await openGateway(gatewayOf(account, all(stacks)));
  try {
    return await verifyByStack(account, gateway.url);
  } finally {
    await gateway.close();
  }
}

/**
 * Finds the deployment by its stack, as an operator would, with a key that the command makes and revokes. Prints the
 * report.
 * @returns the command's exit code
 */
async function verifyByStack(account: EmulatedAccount, url: string, more: readonly string[] = []): Promise<number> {
  const report = join(mkdtempSync(join(tmpdir(), "offload-verify-")), "report.md");
  const args = ["verify", "--stack", "Offload-dev-service", "--url", url, "--yes", "--report", report, ...more];
  const code = await run("node", ["bin/offload.js", ...args], account.env);
  if (existsSync(report)) console.log(readFileSync(report, "utf8"));
  rmSync(dirname(report), { recursive: true });
  return code;
}

const callers: readonly [tenant: string, role: Role][] = [
  ["acme", "operator"],
  ["globex", "operator"],
  ["acme", "submitter"],
  ["acme", "admin"],
];

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  return 1;
});
