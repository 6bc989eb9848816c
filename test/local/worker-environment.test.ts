import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { keptVariables, readDotEnv, watched, workerEnvironment } from "../../src/code/describe/worker-environment.ts";
import { defineEnvironment, emptyEnvironment } from "../../src/core/task/environment.ts";
import { Client, until } from "../support/http-client.ts";
import { startOwnServer } from "../support/local-server.ts";
import { projectWith } from "../support/project.ts";

const declared = defineEnvironment({
  variables: { API_BASE: "https://api.example.com", BUCKET: {} },
  secrets: { STRIPE_KEY: "prod/stripe" },
});

describe("the environment of local workers", () => {
  test("a declared variable has its value from the shell, else from .env, else from the declaration", () => {
    const dotEnv = { API_BASE: "http://localhost:1", BUCKET: "from-file" };
    expect(workerEnvironment(declared, {}, {}).values).toEqual({ API_BASE: "https://api.example.com" });
    expect(workerEnvironment(declared, {}, dotEnv).values).toEqual(dotEnv);
    expect(workerEnvironment(declared, { BUCKET: "from-shell" }, dotEnv).values).toEqual({
      API_BASE: "http://localhost:1",
      BUCKET: "from-shell",
    });
  });

  test("a secret has its value from .env or the shell, never its name in AWS", () => {
    expect(workerEnvironment(declared, {}, { STRIPE_KEY: "sk_test" }).values.STRIPE_KEY).toBe("sk_test");
    expect(workerEnvironment(declared, {}, {}).values).not.toHaveProperty("STRIPE_KEY");
  });

  test("declared names without a value are reported, and so are names in .env that are not declared", () => {
    expect(workerEnvironment(declared, {}, { OTHER: "x", NODE_ENV: "test" })).toMatchObject({
      missing: ["BUCKET", "STRIPE_KEY"],
      undeclared: ["OTHER"],
    });
    expect(workerEnvironment(emptyEnvironment, { SHELL_ONLY: "x" }, {}).values).toEqual({});
  });

  test("names in .env that only the shell may set are told: they have no effect there", () => {
    const dotEnv = {
      AWS_PROFILE: "shop",
      NODE_ENV: "test",
      OFFLOAD_KEY: "k",
      OTHER: "x",
      API_BASE: "http://localhost:1",
    };
    expect(workerEnvironment(declared, {}, dotEnv)).toMatchObject({
      ...{ shellOnly: ["AWS_PROFILE", "NODE_ENV", "OFFLOAD_KEY"], undeclared: ["OTHER"] },
      values: { API_BASE: "http://localhost:1" },
    });
  });

  test("variables of the machine, Node, AWS and Offload reach workers without a declaration", () => {
    const shell = { PATH: "/bin", NODE_ENV: "test", OFFLOAD_TABLE: "t", AWS_REGION: "r", https_proxy: "p", TOKEN: "x" };
    expect(Object.keys(keptVariables(shell))).toEqual([
      "PATH",
      "NODE_ENV",
      "OFFLOAD_TABLE",
      "AWS_REGION",
      "https_proxy",
    ]);
  });

  test("a missing .env has no variables; an existing one is read as Node reads it", () => {
    const folder = mkdtempSync(join(tmpdir(), "offload-env-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    expect(readDotEnv(join(folder, ".env"))).toEqual({});
    writeFileSync(join(folder, ".env"), 'A=1 # one\nexport B="two\nlines"\n');
    expect(readDotEnv(join(folder, ".env"))).toEqual({ A: "1", B: "two\nlines" });
  });
});

describe("reads of undeclared variables", () => {
  test("code may set a variable, again, too", () => {
    const env = watched(process.env, [], () => {});
    env.OFFLOAD_TEST_SET = "1";
    env.OFFLOAD_TEST_SET = "2";
    expect(process.env.OFFLOAD_TEST_SET).toBe("2");
    delete env.OFFLOAD_TEST_SET;
    expect("OFFLOAD_TEST_SET" in process.env).toBe(false);
  });

  test("a read by the project's code of a name without a value is reported", () => {
    const reads: string[] = [];
    const env = watched({ SET: "1" }, ["from_file"], (name) => reads.push(name));
    expect([env.SET, env.NOT_SET, env.from_file, env.OFFLOAD_X, env.toJSON]).toEqual([
      "1",
      ...Array(4).fill(undefined),
    ]);
    expect(reads).toEqual(["NOT_SET", "from_file"]);
  });
});

const type = `import * as z from "zod";
import { defineTask } from "offload";

export default defineTask({
  name: "env.read",
  input: z.strictObject({ names: z.array(z.string()) }),
  maxAttempts: 1,
  handler: ({ names }) => names.map((name) => process.env[name] ?? null),
});
`;

const environment = `import { defineEnvironment } from "offload";

export default defineEnvironment({
  variables: { API_BASE: "https://api.example.com", BUCKET: {} },
  secrets: { STRIPE_KEY: "prod/stripe", MAIL_KEY: "prod/mail" },
});
`;

test("a handler sees declared variables, and one log line names each undeclared one that it reads", async (context) => {
  using project = projectWith({ "env.read": type, environment });
  writeFileSync(join(project.folder, ".env"), "BUCKET=from-file\nSTRIPE_KEY=sk_test_1\nHIDDEN=a-value\n");
  const settings = { OFFLOAD_KEYS: "key:acme:operator", SHELL_ONLY: "a-value", BUCKET: "from-shell" };
  const server = await startOwnServer(settings, project.folder);
  context.onTestFinished(() => server.stop());
  const client = new Client(server.url, { token: "key", tenant: "acme", role: "operator" });
  const names = ["API_BASE", "BUCKET", "STRIPE_KEY", "MAIL_KEY", "HIDDEN", "SHELL_ONLY"];
  for (let repeat = 0; repeat < 2; repeat++) {
    const { task_id } = await client.submit("env.read", { names });
    const task = await client.ended(task_id);
    expect(task.result).toEqual(["https://api.example.com", "from-shell", "sk_test_1", null, null, null]);
  }
  const linesOf = (name: string) => server.output().split(`process.env.${name}, which is not declared`).length - 1;
  await until("the last log line", async () => (linesOf("SHELL_ONLY") > 0 ? true : undefined));
  expect(["HIDDEN", "SHELL_ONLY", "MAIL_KEY"].map(linesOf)).toEqual([1, 1, 0]);
  expect(server.output()).toContain("without a value here: MAIL_KEY.");
  expect(server.output()).not.toMatch(/sk_test_1|a-value/);
});
