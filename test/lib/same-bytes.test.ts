import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { bundleKey } from "../../lib/bundle.ts";
import { archiveOf } from "../../lib/container-code.ts";
import { bundle } from "../../lib/esbuild.ts";

const root = mkdtempSync(join(tmpdir(), "offload-same-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A project with two task types that share code, so that their bundle has parts of its own. */
function projectIn(name: string): string {
  const folder = join(root, name);
  mkdirSync(join(folder, "tasks"), { recursive: true });
  writeFileSync(join(folder, "package.json"), "{}");
  writeFileSync(
    join(folder, "common.ts"),
    `export const text = "shared"; export const late = () => import(${JSON.stringify("./late.ts")});`,
  );
  writeFileSync(join(folder, "late.ts"), `export const late = "late";`);
  for (const type of ["mail.send", "mail.check"]) {
    const code = `import { text, late } from ${JSON.stringify("../common.ts")}; export default { name: "${type}", run: () => [text, late()] };`;
    writeFileSync(join(folder, `tasks/${type}.ts`), code);
  }
  return folder;
}

/** The files of a bundle, by name. */
function filesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "base64")]));
}

const project = projectIn("a/project");

test.each(["worker", "work"] as const)("the same sources make the same %s in any output folder", (name) => {
  const made = ["one", "deeper/in/two"].map((place) => {
    const folder = join(root, "out", name, place);
    mkdirSync(folder, { recursive: true });
    bundle(name, folder, { tasks: join(project, "tasks") });
    return folder;
  });
  const [first = "", second = ""] = made;
  expect(Object.keys(filesIn(first)).length).toBeGreaterThan(1);
  expect(filesIn(second)).toEqual(filesIn(first));
  expect(archiveOf(second).equals(archiveOf(first))).toBe(true);
});

test("the same sources make the same worker in any checkout", () => {
  const made = ["b/project", "further/in/c/project"].map((place) => {
    const folder = join(root, "out", place);
    mkdirSync(folder, { recursive: true });
    bundle("worker", folder, { tasks: join(projectIn(place), "tasks") });
    return filesIn(folder);
  });
  expect(made[1]).toEqual(made[0]);
});

test("an archive does not depend on how a machine compresses", () => {
  const archive = archiveOf(join(project, "tasks"));
  // The tenth byte of gzip's header names the operating system; 255 names none.
  expect(archive[9]).toBe(255);
  // A block of deflate that is stored as it is.
  expect((archive[10] ?? 0) & 0b110).toBe(0);
});

test("what is not bundled, as in a test, is named the same in any folder", () => {
  const keys = ["a/project", "b"].map((place) => {
    const folder = join(root, place);
    const cwd = vi.spyOn(process, "cwd").mockReturnValue(folder);
    try {
      return bundleKey("worker", { tasks: join(folder, "tasks"), copies: { fonts: join(folder, "fonts") } });
    } finally {
      cwd.mockRestore();
    }
  });
  expect(keys[1]).toEqual(keys[0]);
  expect(JSON.stringify(keys[0])).not.toContain(root);
});
