import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { projectOf, taskText } from "../support/project.ts";

/** The superuser may write anywhere, so it becomes somebody who owns nothing. */
const nobody = 65_534;

const app = `import cdk from ${JSON.stringify(resolve("node_modules/aws-cdk-lib/index.js"))};
import { TaskPipeline } from ${JSON.stringify(resolve("lib/task-pipeline.ts"))};
new TaskPipeline(new cdk.App(), "Offload", {});
`;

const root = projectOf({
  "package.json": '{ "private": true, "type": "module" }',
  "bin/app.ts": app,
  "tasks/mail.send.ts": taskText("mail.send", "{}"),
  "tasks/environment.ts": `import { defineEnvironment } from "offload";\nexport default defineEnvironment({});\n`,
});
const made = mkdtempSync(join(tmpdir(), "offload-read-only-"));
chmodSync(made, 0o777);

/** All folders of the project. */
const folders = [
  "",
  ...readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((one) => one.isDirectory())
    .map((one) => join(one.parentPath, one.name).slice(root.length)),
];
const allow = (mode: number) => {
  for (const folder of folders) chmodSync(join(root, folder), mode);
};
afterAll(() => {
  allow(0o755);
  for (const folder of [root, made]) rmSync(folder, { recursive: true, force: true });
});

test("a synth with its bundles needs no right to write into the project, and no home", { timeout: 300_000 }, () => {
  const before = readdirSync(root, { recursive: true });
  allow(0o555);
  const { status, stderr } = spawnSync(process.execPath, ["bin/app.ts"], {
    cwd: root,
    env: { PATH: process.env.PATH, TMPDIR: made, HOME: "/nonexistent", CDK_OUTDIR: join(made, "out") },
    encoding: "utf8",
    ...(process.getuid?.() === 0 && { uid: nobody, gid: nobody }),
  });
  expect(stderr).not.toMatch(/EACCES|Error/);
  expect(status).toBe(0);
  expect(readdirSync(root, { recursive: true })).toEqual(before);
  expect(readdirSync(join(made, "out")).filter((name) => name.startsWith("asset."))).not.toEqual([]);
});
