import { describe, expect, test } from "vitest";
import { type Folder, planInit } from "../../../src/tools/init/plan.ts";

const versions = { offload: "1.2.3", packages: { zod: "^4.0.0", vitest: "^4.1.0" } };
const empty: Folder = {
  ...{ name: "Mail Tasks", manifest: undefined, isNew: true, hasTasks: false, has: () => false },
  ...{ manager: "npm", nodeSuffices: true },
};
const having = (...paths: string[]) => ({ has: (path: string) => paths.includes(path), isNew: false });

describe("an empty folder", () => {
  const plan = planInit(empty, versions);

  test("gets a whole project", () => {
    expect(Object.keys(plan.files).sort()).toEqual([
      ...[".gitignore", "README.md", "bin/app.ts", "cdk.json", "tasks/index.ts", "tasks/link.check.ts"],
      ...["test/link.check.test.ts", "tsconfig.json"],
    ]);
    expect(plan.files["README.md"]).toContain("# mail-tasks\n");
  });

  test("gets a package.json with the tested versions", () => {
    expect(plan.manifest).toMatchObject({
      name: "mail-tasks",
      private: true,
      type: "module",
      scripts: { dev: "offload dev", test: "vitest run" },
      dependencies: { offload: "^1.2.3", zod: "^4.0.0" },
      devDependencies: { vitest: "^4.1.0" },
      allowScripts: { esbuild: true, "classic-level": true },
    });
    expect([plan.withNode, plan.manifest?.devDependencies?.node]).toEqual([false, undefined]);
  });

  test("gets the package `node` where the machine's own does not run task files", () => {
    const older = planInit({ ...empty, nodeSuffices: false }, versions);
    expect([older.withNode, older.manifest?.devDependencies?.node]).toEqual([true, "*"]);
    expect(older.manifest?.allowScripts).toMatchObject({ node: true });
  });

  test("becomes a module also when a package was installed in it before", () => {
    const manifest = { dependencies: { offload: "file:../offload.tgz" } };
    const installed = planInit({ ...empty, manifest, ...having("package.json"), isNew: true }, versions);
    expect(installed.manifest).toMatchObject({ type: "module", dependencies: { offload: "file:../offload.tgz" } });
  });
});

describe("a project", () => {
  const manifest = {
    name: "shop",
    type: "module",
    scripts: { test: "jest" },
    dependencies: { express: "^5.0.0" },
    devDependencies: { zod: "^4.5.0" },
  };

  test("keeps every value and every file that it has", () => {
    const has = having("package.json", "tsconfig.json", "README.md", "tasks/index.ts");
    const plan = planInit({ ...empty, manifest, ...has }, versions);
    expect(plan.manifest).toMatchObject({ ...manifest, scripts: { test: "jest", dev: "offload dev" } });
    expect(plan.manifest?.dependencies).toEqual({ express: "^5.0.0", offload: "^1.2.3" });
    expect(Object.keys(plan.files)).not.toEqual(expect.arrayContaining(["README.md"]));
    expect(plan.files["tasks/index.ts"]).toBeUndefined();
    expect(plan.added).toContain("scripts.dev");
    expect(plan.added).not.toContain("scripts.test");
  });

  test("goes on to run its scripts on the Node that it had", () => {
    const plan = planInit({ ...empty, manifest, ...having(), nodeSuffices: false }, versions);
    expect([plan.withNode, plan.manifest?.devDependencies?.node]).toEqual([false, undefined]);
  });

  test.each(["jest", "node --test", "mocha"])("whose tests run by %s gets no test that this does not run", (script) => {
    const plan = planInit({ ...empty, manifest: { ...manifest, scripts: { test: script } }, ...having() }, versions);
    expect(Object.keys(plan.files).filter((path) => path.startsWith("test/"))).toEqual([]);
    expect(plan.manifest?.devDependencies?.vitest).toBeUndefined();
    expect(plan.byHand.join("\n")).toContain("offload/testing");
  });

  test("with a build of its own keeps what that makes: it leaves the new files out", () => {
    const tsconfig = '{ "compilerOptions": { "outDir": "dist" } }';
    const plan = planInit({ ...empty, manifest, ...having("tsconfig.json"), tsconfig }, versions);
    expect(plan.tsconfig).toContain('"exclude": ["node_modules", "dist", "tasks", "bin/app.ts"]');
    expect(plan.files["tasks/tsconfig.json"]).toContain('"extends": "../tsconfig.json"');
    const apart = planInit(
      { ...empty, manifest, ...having("tsconfig.json"), tsconfig: '{ "include": ["src"] }' },
      versions,
    );
    expect([apart.tsconfig, apart.files["tasks/tsconfig.json"]]).toEqual([undefined, undefined]);
  });

  test("with a CDK app gets no other, but is told what to add to it", () => {
    const plan = planInit({ ...empty, manifest, ...having("cdk.json") }, versions);
    expect(Object.keys(plan.files)).not.toContain("bin/app.ts");
    expect(plan.byHand.join("\n")).toContain('new TaskPipeline(app, "Offload"');
  });

  test("of CommonJS files gets task types that are modules all the same", () => {
    const plan = planInit({ ...empty, manifest: { name: "shop" }, ...having() }, versions);
    expect(plan.files["tasks/package.json"]).toBe('{\n  "type": "module"\n}\n');
    expect(plan.files["bin/app.mts"]).toBeDefined();
    expect(plan.manifest?.type).toBeUndefined();
  });

  test("of CommonJS files gets tests that are modules, and its own tests stay as they are", () => {
    const manifest = { name: "shop", type: "commonjs" };
    const fresh = planInit({ ...empty, manifest, ...having("package.json") }, versions);
    expect(fresh.files).toMatchObject({ "test/package.json": '{\n  "type": "module"\n}\n' });
    expect(fresh.files["test/link.check.test.ts"]).toBeDefined();
    const tested = planInit({ ...empty, manifest, ...having("package.json", "test") }, versions);
    expect(tested.files["test/package.json"]).toBeUndefined();
    expect(tested.files["test/link.check.test.mts"]).toBeDefined();
  });

  test("gets a test script in place of the one of `npm init`, which only fails", () => {
    const placeholder = { test: 'echo "Error: no test specified" && exit 1', lint: "eslint" };
    const plan = planInit({ ...empty, manifest: { ...manifest, scripts: placeholder }, ...having() }, versions);
    expect(plan.manifest?.scripts).toMatchObject({ test: "vitest run", lint: "eslint" });
    expect(plan.added).toContain("scripts.test");
  });

  test("with task types of its own gets no example", () => {
    const plan = planInit({ ...empty, manifest, hasTasks: true, ...having() }, versions);
    expect(Object.keys(plan.files).filter((path) => /^(tasks|test)\//.test(path))).toEqual([]);
  });

  test("that lacks nothing stays as it is", () => {
    const first = planInit({ ...empty, ...having() }, versions);
    const paths = ["package.json", ...Object.keys(first.files)];
    const again = planInit({ ...empty, manifest: first.manifest, ...having(...paths), hasTasks: true }, versions);
    expect(again).toMatchObject({ files: {}, manifest: undefined, added: [] });
  });
});
