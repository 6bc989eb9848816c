import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { projectOf, taskText } from "../support/project.ts";

const app = `import cdk from ${JSON.stringify(resolve("node_modules/aws-cdk-lib/index.js"))};
import { TaskPipeline } from ${JSON.stringify(resolve("lib/task-pipeline.ts"))};
const app = new cdk.App({ builtinCloudFormationValidation: false });
new TaskPipeline(app, "Offload", { alarms: false });
`;

/** Only the built worker has this variable while it is started for a check. */
const diesAsWorker = `if (process.env.OFFLOAD_LOAD_ONLY === "1") throw new Error("no such library");`;

const project = (imports: string) =>
  projectOf({
    "package.json": '{ "private": true, "type": "module" }',
    "cdk.json": JSON.stringify({ app: `${process.execPath} bin/app.ts` }),
    "bin/app.ts": app,
    "tasks/mail.send.ts": taskText("mail.send", "{}", imports),
  });

const dying = project(diesAsWorker);
const cached = project("");
const broken = project('throw new Error("down");');
afterAll(() => {
  for (const folder of [dying, cached, broken]) rmSync(folder, { recursive: true, force: true });
});

/** Runs a program of Node in a project, as a test of templates or the doctor does. */
const run = (cwd: string, args: readonly string[], variables = {}) => {
  const context = JSON.stringify({ "aws:cdk:bundling-stacks": [] });
  const env = { ...process.env, CDK_CONTEXT_JSON: context, CDK_OUTDIR: join(cwd, "out"), ...variables };
  return spawnSync(process.execPath, args, { cwd, env, encoding: "utf8", timeout: 240_000 });
};

test("where nothing is bundled, the worker is not built: the task types are read from their sources", () => {
  expect(run(dying, ["bin/app.ts"])).toMatchObject({ status: 0, stderr: "" });
});

test("what a description compiles is kept for the day in the user's folder", () => {
  const XDG_CACHE_HOME = join(cached, "cache");
  const described = join(XDG_CACHE_HOME, "offload/described");
  mkdirSync(join(described, "2026-01-02"), { recursive: true });
  for (const _ of ["new", "kept"]) {
    expect(run(cached, ["bin/app.ts"], { XDG_CACHE_HOME })).toMatchObject({ status: 0, stderr: "" });
    expect(readdirSync(described)).toEqual([expect.not.stringContaining("2026-01-02")]);
  }
  expect(readdirSync(described, { recursive: true }).length).toBeGreaterThan(50);
});

test("a file that cannot be loaded is refused there, too", () => {
  const { status, stderr } = run(broken, ["bin/app.ts"]);
  expect(status).not.toBe(0);
  expect(stderr).toContain("tasks/mail.send.ts could not be imported at tasks/mail.send.ts:3:7: Error: down");
});

test("the doctor bundles nothing either, and starts the worker all the same", () => {
  const { status, stderr } = run(dying, [resolve("bin/offload.js"), "doctor"]);
  expect(status).toBe(1);
  expect(stderr).toMatch(
    /the app does not synthesize: .*tasks\/mail\.send\.ts could not be imported .*no such library/,
  );
});
