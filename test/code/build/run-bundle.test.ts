import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { strangerEnv } from "../../support/packed.ts";
import { projectOf, taskText } from "../../support/project.ts";

const files = {
  "package.json": '{ "private": true, "type": "module" }',
  ".env": "BILL_KEY=k1\n",
  "src/mail.txt": "Hello",
  "src/late.txt": "late",
  "tasks/environment.ts": `import { defineEnvironment } from "offload";
export default defineEnvironment({ variables: { SHOP: "here" }, secrets: { BILL_KEY: "shop/bill" } });`,
  "tasks/where.am.ts": taskText(
    "where.am",
    '{ cwd: process.cwd() === process.env.LAMBDA_TASK_ROOT, own: process.env.OWN ?? "none", shop: process.env.SHOP, key: process.env.BILL_KEY, aws: process.env.AWS_ACCESS_KEY_ID, mail: readFileSync(new URL("../src/mail.txt", import.meta.url), "utf8") }',
    'import { readFileSync } from "node:fs";',
  ),
  "tasks/read.late.ts": `import { readFileSync } from "node:fs";
import { defineTask } from "offload";
import * as z from "zod";
export default defineTask({
  name: "read.late",
  input: z.strictObject({ name: z.string() }),
  maxAttempts: 1,
  handler: async ({ name }) => readFileSync(\`src/\${name}.txt\`, "utf8"),
});`,
  "tasks/in.container.ts": taskText("in.container", "1").replace("input:", 'runsOn: "container", input:'),
};

let root: string;
beforeAll(() => {
  root = projectOf(files);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Calls the command in the project, with variables that a deployed worker does not have. */
async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const command = [resolve("bin/offload.js"), "run", ...args, "--bundle"];
  const env = { ...strangerEnv, OWN: "shell", AWS_ACCESS_KEY_ID: "developer" };
  const child = spawn(process.execPath, command, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code, out, err };
}

describe("offload run --bundle", () => {
  test("runs a task on the built worker: Lambda's environment, the declared values, its files, and nothing else", async () => {
    const { code, out, err } = await run("where.am");
    expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining("completed in") });
    expect(JSON.parse(out)).toEqual({
      ...{ cwd: true, own: "none", shop: "here", key: "k1" },
      ...{ aws: "developer", mail: "Hello" },
    });
  });

  test("shows what only a deployment lacks, with the place in the user's file", async () => {
    const { code, err } = await run("read.late", '{"name":"late"}');
    expect(code).toBe(1);
    expect(err).toContain("ENOENT: no such file or directory, open 'src/late.txt'");
    expect(err).toContain("tasks/read.late.ts:8:");
  });

  test("names the types that it could run, and refuses one of containers", async () => {
    expect(await run("no.such")).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining("no worker of this app has the task type no.such; they have in.container, "),
    });
    expect((await run("in.container")).err).toContain(
      "in.container runs in containers, and --bundle starts a worker function",
    );
  });

  test("--context needs --bundle", async () => {
    const command = [resolve("bin/offload.js"), "run", "where.am", "-c", "stage=prod"];
    const child = spawn(process.execPath, command, { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
    const [err, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
    expect({ code, err }).toEqual({ code: 2, err: "offload: --context needs --bundle\n" });
  });
});
