import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SignatureV4 } from "@smithy/signature-v4";
import { expect, onTestFinished, test } from "vitest";
import { archiveOf, openArguments, startArguments } from "../../lib/container-code.ts";
import { signed } from "../../src/aws/container-start.ts";
import { httpStub } from "../support/http-stub.ts";
import { Sha256 } from "../support/sha256.ts";

const keys = { AccessKeyId: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI", Token: "a+session/token" };

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "offload-start-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The archive of a program that prints what it finds. */
function archiveOfProgram(): Buffer {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "notes"));
  writeFileSync(join(folder, "notes/hello.txt"), "hello");
  const program = [
    'import { readFileSync } from "node:fs";',
    'const text = readFileSync(new URL("notes/hello.txt", import.meta.url), "utf8");',
    "const { execArgv, argv, env } = process;",
    "console.log(JSON.stringify({ text, execArgv, args: argv.slice(2), root: env.LAMBDA_TASK_ROOT, uid: process.getuid(), pid: process.pid }));",
  ];
  writeFileSync(join(folder, "index.mjs"), program.join("\n"));
  return archiveOf(folder);
}

/** Arguments with the given folder in place of `/tmp`. */
const within = (args: readonly string[], temporary: string): string[] =>
  args.map((text) => text.replace(/(["'`])\/tmp\1/, JSON.stringify(temporary)));

/** The user of a container, who cannot be another one than that of the tests, unless this is root. */
const user = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {};

/** Runs the commands of both containers of a task, one after the other, with the given folder in place of `/tmp`. */
async function runStart(temporary: string, env: Record<string, string>) {
  // As Fargate creates a volume.
  chmodSync(temporary, 0o755);
  execFileSync(process.execPath, within(openArguments(), temporary), { timeout: 300_000 });
  const args = within(startArguments(), temporary);
  const child = spawn(process.execPath, args, { env: { ...env, AWS_REGION: "eu-west-1" }, ...user });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (part) => {
    stdout += part;
  });
  child.stderr.on("data", (part) => {
    stderr += part;
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  return { code, stdout, stderr, pid: child.pid };
}

test("the command loads the code from S3 with the credentials of the task role, and becomes it", async () => {
  const archive = archiveOfProgram();
  const { url, requests } = await httpStub(({ url }) => ({
    body: url?.startsWith("/credentials") ? JSON.stringify(keys) : archive,
  }));
  const temporary = temporaryFolder();
  const { code, stdout, stderr, pid } = await runStart(temporary, {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/credentials`,
    OFFLOAD_CODE_URL: `${url}/assets/0123abcd.gz`,
  });
  expect(stderr.replaceAll(/.*Warning.*\n/g, "")).toBe("");
  expect(code).toBe(0);
  const root = join(temporary, "offload");
  const { uid = process.getuid?.() } = user;
  expect(JSON.parse(stdout)).toEqual({ ...{ text: "hello", execArgv: [], args: [], root, pid }, uid });
  // As of any machine's /tmp: who may write there may not replace what others wrote.
  expect(statSync(temporary).mode & 0o7777).toBe(0o1777);
  expect(statSync(join(root, "index.mjs")).mode & 0o222).toBe(0);
  expect(requests.map((request) => request.url)).toEqual(["/credentials", "/assets/0123abcd.gz"]);
  expect(requests[1]?.headers["x-amz-security-token"]).toBe(keys.Token);
});

test("the command tries three times, then ends with the answer", async () => {
  const { url, requests } = await httpStub(() => ({ status: 403, body: "AccessDenied" }));
  const { code, stderr } = await runStart(temporaryFolder(), {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/credentials`,
    OFFLOAD_CODE_URL: `${url}/assets/0123abcd.gz`,
  });
  expect(code).toBe(1);
  expect(stderr).toContain("answered 403: AccessDenied");
  expect(requests).toHaveLength(3);
});

test("requests to S3 are signed as the SDK signs them", async () => {
  const url = new URL("https://s3.eu-west-1.amazonaws.com/cdk-assets-123/0123abcd.gz");
  const now = new Date("2027-01-02T03:04:05Z");
  const own = signed(url, keys, "eu-west-1", now);
  const signer = new SignatureV4({
    service: "s3",
    region: "eu-west-1",
    uriEscapePath: false,
    sha256: Sha256,
    credentials: {
      accessKeyId: keys.AccessKeyId,
      secretAccessKey: keys.SecretAccessKey,
      sessionToken: keys.Token,
    },
  });
  const headers = { host: url.host, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };
  const request = { method: "GET", protocol: "https:", hostname: url.hostname, path: url.pathname, headers };
  const { headers: theirs } = await signer.sign(request, { signingDate: now });
  expect(own.authorization).toBe(theirs.authorization);
});

test("the command fits into a task definition", () => {
  // ECS allows 64 KiB for a whole task definition.
  expect(Buffer.byteLength(startArguments().join(" "))).toBeLessThan(8_000);
});

test("the same files make the same archive", () => {
  expect(archiveOfProgram().equals(archiveOfProgram())).toBe(true);
});
