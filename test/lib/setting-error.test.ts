import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { settingError } from "../../lib/setting-error.ts";

const folder = mkdtempSync(join(tmpdir(), "offload-setting-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs an app as the `cdk` command does. */
function ran(args: readonly string[], context: object) {
  const env = { ...process.env, CDK_OUTDIR: folder, CDK_CONTEXT_JSON: JSON.stringify(context) };
  const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8", timeout: 120_000 });
  return { status, stderr };
}

test.each([
  [{ stage: "prod" }, /^Error: the alarms of stage prod have no receiver: set alarmEmail or alarmTopicArn .*\n$/],
  [{ alarms: "2" }, /^Error: -c alarms=2: expected 0 or 1\n$/],
  [{ profile: "tiny" }, /^Error: profile must be one of standard, small; got "tiny"\n$/],
])("the app ends with one line for the context %j", (context, line) => {
  expect(ran(["bin/app.ts"], context)).toEqual({ status: 1, stderr: expect.stringMatching(line) });
});

const file = JSON.stringify(pathToFileURL("lib/setting-error.ts").href);
const script = (code: string) => ["--input-type=module", "-e", `const m = await import(${file}); ${code}`];

test("an app that catches the error goes on, and another error keeps its stack trace", () => {
  const caught = 'try { throw m.settingError("wrong") } catch {}';
  expect(ran(script(caught), {})).toEqual({ status: 0, stderr: "" });
  const { status, stderr } = ran(script(`${caught} throw new Error("a bug")`), {});
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(/^Error: a bug\n {4}at /) });
});

test("outside of the cdk command the error has no effect on the process", () => {
  const before = process.listenerCount("uncaughtException");
  expect(settingError("wrong")).toEqual(new TypeError("wrong"));
  expect(process.listenerCount("uncaughtException")).toBe(before);
});
