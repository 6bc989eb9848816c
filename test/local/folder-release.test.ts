import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { packageVersion } from "../../src/installed/installation.ts";
import { noteRelease } from "../../src/local/disk/folder-release.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "offload-release-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const said = (stateDir: string | undefined): string[] => {
  const lines: string[] = [];
  noteRelease(stateDir, (line) => lines.push(line));
  return lines;
};
const noted = () => readFileSync(join(folder, "release"), "utf8").trim();

test("a folder says which release wrote to it last; the same release says nothing", () => {
  expect(said(folder)).toEqual([]);
  expect(noted()).toBe(packageVersion());
  expect(said(folder)).toEqual([]);
  expect(said(undefined)).toEqual([]);
});

test("a folder of an earlier release is named, and taken over", () => {
  writeFileSync(join(folder, "release"), "0.0.9\n");
  const own = packageVersion();
  expect(said(folder)).toEqual([`The folder ${folder}/ was written by Offload 0.0.9; this is ${own}, which reads it.`]);
  expect(noted()).toBe(own);
});

test("a folder of a later release is refused in one sentence, and stays as it is", () => {
  writeFileSync(join(folder, "release"), "10.2.0\n");
  const own = packageVersion();
  const sentence =
    `The folder ${folder}/ was written by Offload 10.2.0, which is later than this ${own}: ` +
    "install offload@10.2.0, or set OFFLOAD_STATE_DIR to another folder";
  expect(() => said(folder)).toThrow(sentence);
  expect(noted()).toBe("10.2.0");
});
