import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { allowedByPnpm } from "../../../src/tools/init/builds.ts";
import { installFlags, managerOf, usesPnp } from "../../../src/tools/init/manager.ts";
import { isOlder, obstacles } from "../../../src/tools/init/obstacles.ts";
import { withoutTasks } from "../../../src/tools/init/tsconfig.ts";

const base = mkdtempSync(join(tmpdir(), "offload-init-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));

let count = 0;
/** A repository with these files. */
function repository(files: Record<string, string>): string {
  count += 1;
  const root = join(base, String(count));
  for (const [path, text] of Object.entries({ ".git/HEAD": "", ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

describe("the package manager", () => {
  test.each([
    ["npm", { "package-lock.json": "{}" }],
    ["pnpm", { "pnpm-lock.yaml": "" }],
    ["pnpm", { "pnpm-workspace.yaml": "packages: []" }],
    ["yarn", { "yarn.lock": "" }],
    ["bun", { "bun.lock": "" }],
    ["pnpm", { "package.json": '{"packageManager":"pnpm@10.1.0"}', "package-lock.json": "{}" }],
  ] as const)("is %s in a repository with %j, also for a package of it", (name, files) => {
    const root = repository({ ...files, "packages/background/package.json": "{}" });
    expect(managerOf(root)).toEqual({ name, root });
    expect(managerOf(join(root, "packages/background"))).toEqual({ name, root });
  });

  test("is the one that runs `init` where nothing says it, and npm else", () => {
    const root = repository({});
    expect(managerOf(root, "pnpm/10.26.0 npm/? node/v24.1.0 linux x64")).toEqual({ name: "pnpm", root });
    expect(managerOf(root)).toEqual({ name: "npm", root });
  });

  test("may keep packages in archives", () => {
    const yarn = (files: Record<string, string>) => usesPnp({ name: "yarn", root: repository(files) });
    expect(yarn({ "yarn.lock": "" })).toBe(false);
    expect(yarn({ ".yarnrc.yml": "enableTelemetry: 0\n" })).toBe(true);
    expect(yarn({ ".yarnrc.yml": "nodeLinker: node-modules\n" })).toBe(false);
    expect(yarn({ "package.json": '{"packageManager":"yarn@4.5.0"}' })).toBe(true);
    expect(yarn({ "package.json": '{"packageManager":"yarn@1.22.22"}' })).toBe(false);
  });
});

test("an installation may change the lockfile, also where CI is set", () => {
  const flags = (files: Record<string, string>) => installFlags(managerOf(repository(files)));
  expect(flags({ "pnpm-lock.yaml": "" })).toEqual(["--no-frozen-lockfile"]);
  expect(flags({ ".yarnrc.yml": "nodeLinker: node-modules\n" })).toEqual(["--no-immutable"]);
  expect(flags({ "package.json": '{"packageManager":"yarn@4.5.0"}' })).toEqual(["--no-immutable"]);
  expect(flags({ "yarn.lock": "" })).toEqual([]);
  expect(flags({ "package-lock.json": "{}" })).toEqual([]);
});

describe("install scripts in pnpm-workspace.yaml", () => {
  test("are allowed beside what is there", () => {
    expect(allowedByPnpm("packages:\n  - a\n", "10.26.1", ["esbuild", "node"])).toBe(
      "packages:\n  - a\nallowBuilds:\n  esbuild: true\n  node: true\n",
    );
    expect(allowedByPnpm("", "10.5.0", ["esbuild"])).toBe("onlyBuiltDependencies:\n  - esbuild\n");
  });

  test("are added to a list, and to no other", () => {
    const text = "onlyBuiltDependencies:\n  - sharp\n  - esbuild\npackages:\n  - a\n";
    expect(allowedByPnpm(text, "10.5.0", ["esbuild", "node"])).toBe(
      "onlyBuiltDependencies:\n  - sharp\n  - esbuild\n  - node\npackages:\n  - a\n",
    );
  });

  test("that are named already, also as refused, stay as they are; an old pnpm runs all of them", () => {
    expect(allowedByPnpm("allowBuilds:\n  esbuild: false\n", "11.0.0", ["esbuild"])).toBeUndefined();
    expect(allowedByPnpm("", "9.15.0", ["esbuild"])).toBeUndefined();
  });
});

describe("obstacles", () => {
  const root = repository({});
  const tested = { "aws-cdk-lib": "^2.276.0", constructs: "^10.8.1" };
  const found = (versions: Record<string, string>) =>
    obstacles({ manager: { name: "pnpm", root }, versionOf: (name) => versions[name] }, tested);

  test("are none in a project with nothing, or with what is needed", () => {
    expect(found({})).toEqual([]);
    expect(found({ zod: "^4.0.0", "aws-cdk-lib": "2.300.0", constructs: "latest" })).toEqual([]);
  });

  test("are zod 3 and an old CDK, with both versions and the command", () => {
    expect(found({ zod: "3.25.76", "aws-cdk-lib": "^2.150.0" })).toEqual([
      "This project has zod 3.25.76; Offload needs zod 4: `pnpm add zod@4`. Code for zod 3 goes on with zod 4's entry `zod/v3`.",
      "This project has aws-cdk-lib ^2.150.0; Offload needs ^2.276.0: `pnpm add --save-dev aws-cdk-lib@^2.276.0`.",
    ]);
  });

  test.each([
    ["3.25.76", "4.0.0", true],
    ["^2.276.0", "^2.276.0", false],
    ["2.275.9", "^2.276.0", true],
    ["~10.8", "^10.8.1", true],
    ["file:../zod-3.tgz", "4.0.0", false],
    ["next", "4.0.0", false],
  ])("%s is older than %s: %s", (version, than, older) => expect(isOlder(version, than)).toBe(older));
});

describe("the project's tsconfig.json", () => {
  const paths = ["tasks", "bin/app.mts"];

  test("leaves the new files out, and keeps its text", () => {
    const text = '{\n  // Of ours.\n  "compilerOptions": { "outDir": "./dist", },\n  "exclude": ["old"]\n}\n';
    expect(withoutTasks(text, paths)).toBe(text.replace('["old"]', '["tasks", "bin/app.mts", "old"]'));
  });

  test("keeps what the compiler leaves out of itself", () => {
    expect(withoutTasks('{ "compilerOptions": { "outDir": "./dist" } }', paths)).toContain(
      '"exclude": ["node_modules", "./dist", "tasks", "bin/app.mts"],',
    );
  });

  test("stays as it is where it takes none of them, or compiles imports with `.ts`", () => {
    expect(withoutTasks('{ "include": ["src/**/*"] }', paths)).toBeUndefined();
    expect(withoutTasks('{ "files": ["index.ts"] }', paths)).toBeUndefined();
    expect(withoutTasks('{ "compilerOptions": { "allowImportingTsExtensions": true } }', paths)).toBeUndefined();
    expect(withoutTasks('{ "exclude": ["tasks", "bin/app.mts"] }', paths)).toBeUndefined();
    expect(withoutTasks("{ broken", paths)).toBeUndefined();
    expect(withoutTasks('{ "include": ["next-env.d.ts", "**/*.ts"] }', paths)).toContain('"tasks"');
  });
});
