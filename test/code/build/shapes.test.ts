import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundle } from "../../../lib/esbuild.ts";
import { loadTasks } from "../../../lib/load-tasks.ts";
import { loadApp } from "../../../src/code/describe/load-app.ts";
import { projectOf } from "../../support/project.ts";
import { results, shapes } from "./shapes.ts";

const callTypes = resolve("test/support/call-types.ts");
const variables = { SHOP_URL: "https://shop.example.com", BILL_KEY: "test" };

/** Calls the types of built code, in a process that knows nothing else. */
const called = (file: string, cwd: string): unknown =>
  JSON.parse(
    execFileSync(process.execPath, [callTypes, file, JSON.stringify(variables)], {
      cwd,
      env: { PATH: "/usr/bin", OFFLOAD_LOAD_ONLY: "1" },
      encoding: "utf8",
      timeout: 120_000,
    }),
  );

const names = Object.keys(results).sort();
let root: string;
const made: string[] = [];

beforeAll(() => {
  root = projectOf(shapes, { "@acme/sizes": "packages/sizes" });
  made.push(root);
});
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

describe("one project with most shapes of code", () => {
  test("is loaded and runs on the laptop", async () => {
    process.env.BILL_KEY = "test";
    const { code, app, problems } = await loadApp(join(root, "tasks"), false).finally(
      () => delete process.env.BILL_KEY,
    );
    expect(problems).toEqual([]);
    expect(app.catalog.map(({ name }) => name).sort()).toEqual(names);
    expect(called(code.file, root)).toEqual(results);
    expect(code.sources).toContain(join(root, "packages/sizes/large.ts"));
    code[Symbol.dispose]();
  });

  test("is loaded at a synthesis without its secrets, and runs in a folder that has nothing else of it", () => {
    const options = { files: { tasks: join(root, "tasks") }, probes: false, variables: {} };
    const app = loadTasks(options);
    expect(app.catalog.map(({ name }) => name).sort()).toEqual(names);
    expect(loadTasks(options, false)).toEqual(app);
    const bare = realpathSync(mkdtempSync(join(tmpdir(), "offload-bare-")));
    made.push(bare);
    bundle("worker", bare, { tasks: join(root, "tasks") });
    const away = `${root}-away`;
    renameSync(root, away);
    try {
      expect(called(join(bare, "index.mjs"), bare)).toEqual(results);
    } finally {
      renameSync(away, root);
    }
    // What cannot be bundled is copied; the rest is not.
    expect(readdirSync(join(bare, "node_modules")).sort()).toEqual(["db", "fonts", "inks", "pic"]);
    expect(readFileSync(join(bare, "src/mail.txt"), "utf8")).toBe("Hello {name}");
  });
});
