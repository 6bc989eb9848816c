import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { leanClients } from "../../src/installed/installation.ts";
import { spareVariable } from "../../src/local/workers/local-code.ts";
import { forkWorker } from "../../src/local/workers/worker-fork.ts";
import { Client } from "../support/http-client.ts";
import { startOwnServer } from "../support/local-server.ts";

const taskFile = `import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "env.show",
  input: z.object({}),
  handler: () => Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith("AWS_"))),
});
`;

/** Variables of a developer's shell that must neither reach Offload's own clients nor be hidden from handlers. */
const own = {
  AWS_PROFILE: "no-such-profile",
  AWS_ACCESS_KEY_ID: "mine",
  AWS_SECRET_ACCESS_KEY: "my-secret",
  AWS_REGION: "eu-central-1",
  AWS_ENDPOINT_URL: "http://127.0.0.1:1",
};

test("the local server starts beside any AWS settings, and handlers keep them", async () => {
  const folder = mkdtempSync(join(tmpdir(), "offload-own-aws-"));
  mkdirSync(join(folder, "tasks"));
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "tasks/env.show.ts"), taskFile);
  const server = await startOwnServer(own, folder);
  try {
    const client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
    const task = await client.submit("env.show", {});
    expect((await client.ended(task.task_id)).result).toMatchObject(own);
    expect(server.output()).not.toContain("credential");
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}, 300_000);

test("a worker process has the small clients of AWS, as a deployed one", async () => {
  const child = forkWorker({ env: { [spareVariable]: "1" } });
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
  expect(child.spawnargs).toContain(`--conditions=${leanClients}`);
});

test("the command that starts a server loads the small clients of AWS", async () => {
  const dev = JSON.stringify(pathToFileURL(resolve("src/tools/cli/dev.ts")));
  const group = JSON.stringify(pathToFileURL(resolve("src/tools/cli/group.ts")));
  const clients = JSON.stringify(pathToFileURL(resolve("src/aws/clients.ts")));
  const program = `
    const { Command } = await import("commander");
    const { Group } = await import(${group});
    const { registerStart } = await import(${dev});
    const command = new Command();
    registerStart(new Group(command, {}, () => {}));
    // There is no such folder: the server does not start, and its modules are loaded.
    await command.parseAsync(["--ephemeral"], { from: "user" }).catch(() => {});
    const { queueClient } = await import(${clients});
    console.log("config" in queueClient());
    process.exit();
  `;
  const env = { ...process.env, ...own, OFFLOAD_LOCAL_SERVICES: JSON.stringify({ sqs: "http://127.0.0.1:1" }) };
  const none = join(tmpdir(), "offload-no-such-folder");
  const args = ["--input-type=module", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: resolve("."),
    env: { ...env, OFFLOAD_TASKS: none },
  });
  expect(stdout.trim().split("\n").at(-1)).toBe("false");
});
