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
import { installedFor } from "../../../src/code/build/install-for.ts";

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

const locks: Record<string, (name: string, integrity: string) => string> = {
  "package-lock.json": (name, integrity) =>
    JSON.stringify({ packages: { [`node_modules/${name}`]: { version: "1.0.0", integrity } } }),
  "pnpm-lock.yaml": (name, integrity) =>
    `lockfileVersion: '9.0'\n\npackages:\n\n  '@a/b@2.0.0':\n    resolution: {integrity: sha512-b}\n\n  ${name}@1.0.0:\n    resolution: {integrity: ${integrity}}\n    cpu: [arm64]\n\nsnapshots:\n\n  ${name}@1.0.0: {}\n`,
  "pnpm-lock.yaml of version 6": (name, integrity) =>
    `lockfileVersion: '6.0'\n\npackages:\n\n  /@a/b@2.0.0(c@1.0.0):\n    resolution: {integrity: sha512-b}\n\n  /${name}@1.0.0:\n    resolution: {integrity: ${integrity}}\n    cpu: [arm64]\n`,
  "yarn.lock": (name, integrity) =>
    `# yarn lockfile v1\n\n\n"@a/b@^2.0.0", "@a/b@^2.0.1":\n  version "2.0.1"\n  resolved "https://example.com/b"\n  integrity sha512-b\n\n${name}@1.0.0, ${name}@^1.0.0:\n  version "1.0.0"\n  resolved "https://example.com/${name}"\n  integrity ${integrity}\n`,
  "bun.lock": (name, integrity) =>
    `{\n  "lockfileVersion": 1,\n  "packages": {\n    "@a/b": ["@a/b@2.0.0", "", {}, "sha512-b"],\n    "${name}": ["${name}@1.0.0", "", { "os": "linux", "cpu": "arm64" }, "${integrity}"],\n  }\n}\n`,
};

test.each(Object.entries(locks))(
  "a package of another integrity than that of the %s is refused, also when it was installed before",
  async (name, textOf) => {
    const modules = await installedFor(project, "owner", "1.0.0");
    const file = join(project, name.split(" ")[0] ?? "");
    writeFileSync(file, textOf("owner", "sha512-made"));
    expect(await installedFor(project, "owner", "1.0.0")).toBe(modules);
    writeFileSync(file, textOf("another", "sha512-other"));
    expect(await installedFor(project, "owner", "1.0.0")).toBe(modules);
    writeFileSync(file, textOf("owner", "sha512-other").replaceAll("\n", "\r\n"));
    await expect(installedFor(project, "owner", "1.0.0")).rejects.toThrow("its integrity differs");
  },
);

test("the checksums of Yarn 2 and later are of archives of its own, and are not compared", async () => {
  const lock =
    '__metadata:\n  version: 8\n\n"owner@npm:1.0.0":\n  version: 1.0.0\n  resolution: "owner@npm:1.0.0"\n  checksum: 10c0/abc\n';
  writeFileSync(join(project, "yarn.lock"), lock);
  expect(existsSync(await installedFor(project, "owner", "1.0.0"))).toBe(true);
});
