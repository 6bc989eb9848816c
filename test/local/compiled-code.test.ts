import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { boundCompiled } from "../../src/local/workers/compiled-code.ts";

function folderOf(sizes: readonly number[]): string {
  const folder = mkdtempSync(join(tmpdir(), "offload-compiled-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [index, bytes] of sizes.entries()) {
    const path = join(folder, `${index}`);
    writeFileSync(path, Buffer.alloc(bytes));
    utimesSync(path, index + 1, index + 1);
  }
  return folder;
}

test("the oldest compiled code is deleted when there is too much, until half of it is left", async () => {
  const folder = folderOf([40, 40, 40]);
  await boundCompiled(folder, 100);
  expect(readdirSync(folder)).toEqual(["2"]);
});

test("compiled code that is not too much stays", async () => {
  const folder = folderOf([40, 40]);
  await boundCompiled(folder, 100);
  expect(readdirSync(folder)).toEqual(["0", "1"]);
});
