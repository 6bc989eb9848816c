import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { fileURLToPath } from "node:url";

/*
 * What the emulator (MiniStack 1.5.33) does unlike AWS, as far as the pipeline can tell:
 * - It asks for permissions that AWS does not have: see `emulated-app.ts`.
 * - It answers `/health` of any API itself, unless the API is reached by its path: see `gateway.ts`. It decodes `%2F` in a
 *   path before it looks for the route.
 * - A message that a redrive policy moves keeps its receive count.
 * - A schedule's input reaches its target as it is: `<aws.scheduler.scheduled-time>` is not filled in. A firing that finds
 *   no function is logged and forgotten: neither retries nor the Scheduler's DLQ.
 * - There are no metrics of queues: alarms stay INSUFFICIENT_DATA. Throttles, memory limits and `arm64` mean nothing.
 */

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Programs of this project come first: the emulator runs functions with the `node` that it finds. */
const path = [join(root, "node_modules/.bin"), process.env.PATH ?? ""].join(delimiter);

/** An AWS account on this machine. */
export interface EmulatedAccount {
  endpoint: URL;
  /** Environment of programs that are to use the account. */
  env: NodeJS.ProcessEnv;
  /** Stops what was started for it; with `keepLog`, says where the emulator's log is, and leaves it there. */
  stop(options: { keepLog: boolean }): Promise<void>;
}

const credentials = {
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "test",
  AWS_REGION: "us-east-1",
  AWS_DEFAULT_REGION: "us-east-1",
  AWS_EC2_METADATA_DISABLED: "true",
};

/**
 * The account at `AWS_ENDPOINT_URL` if one answers there; else one that is started, with its permissions enforced.
 * @throws Error saying how to get the emulator, when there is none
 */
export async function emulatedAccount(): Promise<EmulatedAccount> {
  const given = process.env.AWS_ENDPOINT_URL;
  if (given && (await answers(given))) {
    const env = { ...process.env, ...credentials, ...endpointVariables(given), PATH: path };
    return { endpoint: new URL(given), env, stop: async () => {} };
  }
  return startMiniStack(findMiniStack());
}

function findMiniStack(): string {
  const folders = [join(root, ".venv/bin"), ...path.split(delimiter)];
  const found = folders.map((folder) => join(folder, "ministack")).find(existsSync);
  if (found !== undefined) return found;
  throw new Error(
    "no emulated account: nothing answers at AWS_ENDPOINT_URL, and MiniStack is neither on PATH nor in .venv. " +
      "Install it with: python3 -m venv .venv && .venv/bin/pip install ministack==1.5.33",
  );
}

/**
 * Starts MiniStack with permissions enforced. Queues and buckets refuse requests without TLS, so it gets a certificate,
 * which this process and the functions are told to trust.
 */
async function startMiniStack(program: string): Promise<EmulatedAccount> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "emulated-account-"));
  const endpoint = `https://localhost:${port}`;
  const log = join(folder, "ministack.log");
  const certificate = join(folder, "ministack-tls/server.crt");
  const trust = { NODE_EXTRA_CA_CERTS: certificate, AWS_CA_BUNDLE: certificate };
  const settings = {
    AUTH: "true",
    USE_SSL: "1",
    BIND_HOST: "127.0.0.1",
    GATEWAY_PORT: String(port),
    IOT_MTLS_ENABLED: "0",
    // For the functions, which are to have no more memory than in Lambda.
    NODE_OPTIONS: "--max-old-space-size=512",
  };
  const output = openSync(log, "w");
  const child = spawn(program, {
    cwd: folder,
    env: { PATH: path, TMPDIR: folder, HOME: folder, AWS_ENDPOINT_URL: endpoint, ...settings, ...trust },
    stdio: ["ignore", output, output],
  });
  const kill = () => child.kill();
  process.once("exit", kill);
  const stop = async ({ keepLog }: { keepLog: boolean }) => {
    process.off("exit", kill);
    await ended(child);
    if (keepLog) console.error(`The emulated account's log, with those of its functions: ${log}`);
    else rmSync(folder, { recursive: true, force: true });
  };
  try {
    await ready(child, certificate, endpoint, log);
  } catch (error) {
    await stop({ keepLog: false });
    throw error;
  }
  const env = { ...process.env, ...credentials, ...endpointVariables(endpoint), ...trust, PATH: path };
  return { endpoint: new URL(endpoint), env, stop };
}

const endpointVariables = (endpoint: string) => ({ AWS_ENDPOINT_URL: endpoint, AWS_ENDPOINT_URL_S3: endpoint });

async function ready(child: ChildProcess, certificate: string, endpoint: string, log: string): Promise<void> {
  const failed = new Promise<never>((_, reject) => child.once("error", reject));
  const trustedBefore = getCACertificates("default");
  const deadline = Date.now() + 240_000;
  while (Date.now() < deadline && child.exitCode === null) {
    const pem = existsSync(certificate) ? readFileSync(certificate, "utf8") : "";
    if (pem.includes("END CERTIFICATE")) {
      setDefaultCACertificates([...trustedBefore, pem]);
      if (await answers(endpoint)) return;
    }
    await Promise.race([failed, sleep(200)]);
  }
  throw new Error(`MiniStack did not start:\n${readFileSync(log, "utf8").slice(-2000)}`);
}

async function answers(endpoint: string): Promise<boolean> {
  return fetch(endpoint, { signal: AbortSignal.timeout(2_000) }).then(
    () => true,
    () => false,
  );
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const killer = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await exit;
  clearTimeout(killer);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
