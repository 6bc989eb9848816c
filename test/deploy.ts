import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";
import { title } from "../lib/per-tier.ts";
import { keys } from "../src/aws/table.ts";
import { hashSecret } from "../src/core/keys.ts";
import type { Role } from "../src/core/ports.ts";
import { tiers } from "../src/core/tier.ts";
import { type EmulatedAccount, emulatedAccount } from "./support/emulated-account.ts";
import { openGateway } from "./support/gateway.ts";

/*
 * Deploys the pipeline to an emulated AWS account with the stock CDK command, and runs the black-box suite against it.
 * Arguments are Vitest's, such as the name of one file. Retry waits are shortened: 30 s become 1 s.
 */

const root = fileURLToPath(new URL("../", import.meta.url));
const timeScale = "0.01";

/** What cannot hold on the emulator, and why: `emulated-account.ts` says what it does unlike AWS. */
const beyondEmulator = [
  ["submits exactly one task for the scheduled time", "it does not fill in <aws.scheduler.scheduled-time>"],
  ["404 for the task id ..%2Ftasks", "it decodes %2F before it looks for the route"],
  [
    "memory: the task fails after exactly",
    "it has no memory limit, and few processes at once: a crash is noticed late",
  ],
  ["polls one task more than 10 times a second", "it answers too slowly, from a process for each request under way"],
] as const;

type Outputs = Record<string, Record<string, string>>;

async function main(): Promise<number> {
  const account = await emulatedAccount();
  const folder = mkdtempSync(join(tmpdir(), "offload-deploy-"));
  let code = 1;
  try {
    code = await runSuite(account, await deploy(account, folder));
    return code;
  } finally {
    await account.stop({ keepLog: code !== 0 });
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `cdk bootstrap` and `cdk deploy`, as a user would, with the probe types. */
async function deploy(account: EmulatedAccount, folder: string): Promise<Outputs> {
  const outputsFile = join(folder, "outputs.json");
  const common = ["--app", "node test/support/emulated-app.ts", "--output", join(folder, "cdk.out"), "--no-notices"];
  const cdk = (...args: string[]) =>
    succeed("cdk", args, { ...account.env, CI: "true", CDK_DISABLE_CLI_TELEMETRY: "true" });
  await cdk("bootstrap", ...common);
  const context = ["-c", "probes=1", "-c", `timeScale=${timeScale}`];
  await cdk("deploy", "--all", ...common, ...context, "--require-approval", "never", "--outputs-file", outputsFile);
  return JSON.parse(readFileSync(outputsFile, "utf8")) as Outputs;
}

async function runSuite(account: EmulatedAccount, outputs: Outputs): Promise<number> {
  const all = Object.assign({}, ...Object.values(outputs)) as Record<string, string>;
  const apiId = new URL(all.ApiUrl ?? "").hostname.split(".")[0] ?? "";
  const gateway = await openGateway({ endpoint: account.endpoint, apiId });
  const queues = tiers.map((tier) => [
    tier,
    { url: all[`${title(tier)}QueueUrl`], dlq_url: all[`${title(tier)}DlqUrl`] },
  ]);
  const env = {
    ...account.env,
    OFFLOAD_URL: gateway.url,
    OFFLOAD_KEYS: await createKeys(account, all.TableName ?? ""),
    OFFLOAD_TIME_SCALE: timeScale,
    OFFLOAD_TABLE: all.TableName ?? "",
    OFFLOAD_E2E_QUEUES: JSON.stringify(Object.fromEntries(queues)),
  };
  for (const [test, why] of beyondEmulator) console.log(`Left out: "${test}", as the emulator is unlike AWS: ${why}`);
  const leftOut = beyondEmulator.map(([test]) => test.replaceAll(/[.*+?]/g, "\\$&")).join("|");
  const suite = ["run", "--project", "e2e", "--maxWorkers", "2", "--testNamePattern", `^(?!.*(${leftOut}))`];
  try {
    return await run("vitest", [...suite, ...process.argv.slice(2)], env);
  } finally {
    await gateway.close();
  }
}

const callers: readonly [tenant: string, role: Role][] = [
  ["acme", "operator"],
  ["globex", "operator"],
  ["acme", "submitter"],
  ["acme", "admin"],
];

/** Writes one API key for each caller, and gives the list of `token:tenant:role` that the suite reads. */
async function createKeys(account: EmulatedAccount, TableName: string): Promise<string> {
  const client = new DynamoDBClient({
    endpoint: account.endpoint.href,
    region: "us-east-1",
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
  });
  const documents = DynamoDBDocumentClient.from(client);
  const tokens = callers.map(async ([tenant_id, role]) => {
    const keyId = randomBytes(6).toString("hex");
    const secret = randomBytes(24).toString("hex");
    const Item = {
      ...keys.apiKey(keyId),
      secret_hash: hashSecret(secret),
      tenant_id,
      role,
      principal: keyId,
      created_at: new Date().toISOString(),
    };
    await documents.send(new PutCommand({ TableName, Item }));
    return `ofl_${keyId}_${secret}:${tenant_id}:${role}`;
  });
  return (await Promise.all(tokens)).join(",");
}

async function succeed(command: string, args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const code = await run(command, args, env);
  if (code !== 0) throw new Error(`${command} ${args[0]} ended with ${code}`);
}

function run(command: string, args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, env, stdio: "inherit" });
    const kill = () => child.kill();
    process.once("exit", kill);
    child.once("error", reject);
    child.once("exit", (code) => {
      process.off("exit", kill);
      resolve(code ?? 1);
    });
  });
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  return 1;
});
