import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startBeside } from "../../src/code/describe/beside.ts";

const env = process.env;
const limitMs = 200_000;

const waitsFor = (file: string) => `while (!fs.existsSync(${JSON.stringify(file)})) {} console.error("seen");`;

test("a process runs while its caller does something else", () => {
  const file = join(mkdtempSync(join(tmpdir(), "offload-beside-")), "made");
  const ended = startBeside(["-e", waitsFor(file)], { env, limitMs });
  writeFileSync(file, "");
  expect(ended()).toEqual({ status: 0, signal: null, stderr: "seen\n" });
});

test("the caller learns how a process ended that has failed, or has taken too long", () => {
  const failed = startBeside(["-e", "process.exit(7)"], { env, limitMs });
  const endless = startBeside(["-e", "for (;;);"], { env, limitMs: 100 });
  expect(failed()).toEqual({ status: 7, signal: null, stderr: "" });
  expect(endless()).toMatchObject({ status: null, signal: "SIGKILL" });
});

test("a folder that is not there is a reason", () => {
  const ended = startBeside(["-e", ""], { cwd: "/no/such/folder", env, limitMs });
  expect(ended()).toMatchObject({ status: null, stderr: expect.stringContaining("ENOENT") });
});
