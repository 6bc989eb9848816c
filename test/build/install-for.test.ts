import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { installedFor } from "../../src/build/install-for.ts";

let folder: string;
let project: string;
let calls: string;

/** An `npm` that notes where it runs, and installs a package of the integrity `sha512-made`. */
const npm = (log: string) => `#!/bin/sh
pwd >> ${log}
mkdir -p node_modules/owner
printf '{"packages":{"node_modules/owner":{"version":"1.0.0","integrity":"sha512-made"}}}' > node_modules/.package-lock.json
`;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "offload-install-"));
  project = join(folder, "project");
  calls = join(folder, "calls");
  mkdirSync(join(project, "node_modules"), { recursive: true });
  mkdirSync(join(folder, "bin"));
  writeFileSync(join(folder, "bin/npm"), npm(calls));
  chmodSync(join(folder, "bin/npm"), 0o755);
  vi.stubEnv("PATH", `${join(folder, "bin")}${delimiter}${process.env.PATH}`);
  vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const callsMade = () => readFileSync(calls, "utf8").trim().split("\n");

test("a package for another machine is installed once, and not into the project", async () => {
  const modules = await installedFor(project, "owner", "1.0.0");
  expect(await installedFor(project, "owner", "1.0.0")).toBe(modules);
  expect(existsSync(join(modules, "owner"))).toBe(true);
  expect(callsMade()).toHaveLength(1);
  expect(modules.startsWith(join(folder, "cache/offload"))).toBe(true);
  expect(readdirSync(project, { recursive: true })).toEqual(["node_modules"]);
});

test("two projects share no packages, as their registries may differ", async () => {
  const other = join(folder, "other");
  mkdirSync(other);
  expect(await installedFor(other, "owner", "1.0.0")).not.toBe(await installedFor(project, "owner", "1.0.0"));
});

test("builds at the same time get the same whole folder, and leave no other", async () => {
  const all = await Promise.all([1, 2, 3].map(() => installedFor(project, "owner", "1.0.0")));
  expect(new Set(all).size).toBe(1);
  expect(readdirSync(join(all[0] ?? "", "../.."))).toHaveLength(1);
});

test("without a home that can be written, a folder of the process has it", async () => {
  writeFileSync(join(folder, "file"), "");
  vi.stubEnv("XDG_CACHE_HOME", join(folder, "file"));
  const modules = await installedFor(project, "owner", "1.0.0");
  expect(modules).toContain("offload-packages-");
  expect(existsSync(join(modules, "owner"))).toBe(true);
});

test("a package of another integrity than the lock file's is refused, also when it was installed before", async () => {
  await installedFor(project, "owner", "1.0.0");
  const locked = { packages: { "node_modules/owner": { version: "1.0.0", integrity: "sha512-other" } } };
  writeFileSync(join(project, "package-lock.json"), JSON.stringify(locked));
  await expect(installedFor(project, "owner", "1.0.0")).rejects.toThrow("its integrity differs");
});
