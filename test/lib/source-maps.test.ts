import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { bundle } from "../../lib/esbuild.ts";
import { bundleStackOf } from "../../src/aws/bundle-places.ts";

const execute = promisify(execFile);

/** A project in this folder: source maps name files by their paths in the working directory. */
const project = mkdtempSync(join(process.cwd(), ".test-source-maps-"));
afterAll(() => rmSync(project, { recursive: true, force: true }));

const tasks = join(project, "tasks");
mkdirSync(tasks);
writeFileSync(
  join(tasks, "page.read.ts"),
  `import { defineTask } from "offload";
import * as z from "zod";

interface Page {
  url: string;
}

const read = (page: Page): never => {
  throw new Error("marker of the page " + page.url);
};

export default defineTask({
  name: "page.read",
  input: z.object({ url: z.string() }),
  handler: (page) => read(page),
});
`,
);
writeFileSync(
  join(tasks, "card.charge.ts"),
  `import { defineTask, PermanentError } from "offload";
import * as z from "zod";

class CardDeclined extends PermanentError {}

class Unreadable extends Error {}

function charge(amount: number): never {
  if (amount > 100) throw new CardDeclined("no money");
  throw new Unreadable("no card");
}

export default defineTask({
  name: "card.charge",
  input: z.object({ amount: z.number() }),
  handler: ({ amount }) => charge(amount),
});
`,
);
writeFileSync(
  join(tasks, "page.rows.ts"),
  `import { runInNewContext } from "node:vm";
import { defineTask } from "offload";
import * as z from "zod";

/** As the drivers of browsers do. */
const inPage = (code: () => unknown): unknown => runInNewContext("(" + code + ")()", { title: "rows" });

declare const title: string;

export default defineTask({
  name: "page.rows",
  input: z.object({}),
  handler: () =>
    inPage(() => {
      const inner = (text: string) => text.toUpperCase();
      function declared({ heading }: { heading: string }) {
        return inner(heading);
      }
      class Row {
        readonly title = title;
      }
      return [inner.name, declared.name, Row.name, declared({ heading: new Row().title })];
    }),
});
`,
);
const built = join(project, "built");
bundle("worker", built, { tasks });

/** The place of a text in a bundled file, as a frame of V8 names it. */
function frameAt(text: string): string {
  const file = readdirSync(built).find(
    (name) => name.endsWith(".mjs") && readFileSync(join(built, name), "utf8").includes(text),
  );
  if (file === undefined) throw new Error(`no file has ${text}`);
  const before = readFileSync(join(built, file), "utf8").split(text)[0]?.split("\n") ?? [];
  const column = (before.at(-1)?.length ?? 0) + 1;
  return `    at read (${pathToFileURL(join(built, file))}:${before.length}:${column})`;
}

const thrownAt = (...frames: string[]): Error =>
  Object.assign(new Error("no"), { stack: `Error: no\n${frames.join("\n")}` });

test("a place in a deployed worker is shown as the place in the author's TypeScript", async () => {
  const stack = await bundleStackOf(thrownAt(frameAt('"marker of the page "')));
  expect(stack).toMatch(/\n {4}at read \(\.test-source-maps-\w+\/tasks\/page\.read\.ts:9:19\)$/);
});

test("frames of Offload, of Node and of files without a source map are left out", async () => {
  const own = frameAt('"attempt settled"');
  const frames = [own, "    at run (node:internal/async:1:2)", "    at other (/opt/layer/index.mjs:1:2)"];
  expect(await bundleStackOf(thrownAt(...frames))).toBeUndefined();
});

test("the code has no link to its source map, which has no sources", () => {
  const files = readdirSync(built);
  expect(files).toContain("index.mjs.map");
  for (const file of files.filter((name) => name.endsWith(".mjs"))) {
    expect(readFileSync(join(built, file), "utf8")).not.toContain("sourceMappingURL=");
  }
  for (const file of files.filter((name) => name.endsWith(".map"))) {
    expect(JSON.parse(readFileSync(join(built, file), "utf8"))).not.toHaveProperty("sourcesContent");
  }
});

/** Runs code with the modules of the built worker, as `files`. Returns what it writes. */
async function inWorker(code: string): Promise<unknown> {
  const script = `
    const { files } = await import(${JSON.stringify(pathToFileURL(join(built, "index.mjs")))});
    console.log(JSON.stringify(await (${code})()));`;
  const env = { PATH: process.env.PATH, OFFLOAD_LOAD_ONLY: "1" };
  const { stdout } = await execute(process.execPath, ["--input-type=module", "-e", script], { env });
  return JSON.parse(stdout);
}

test("a function that is sent to a page as text runs there, with names in it, from a deployed worker", async () => {
  const answer = await inWorker(`async () => {
    const { default: type } = await files["page.rows.ts"]();
    return type.handler({});
  }`);
  expect(answer).toEqual(["inner", "declared", "Row", "ROWS"]);
});

test("a deployed worker keeps the names of a project's classes and functions, which the API and stacks show", async () => {
  const thrown = await inWorker(`async () => {
    const { default: type } = await files["card.charge.ts"]();
    const thrown = (amount) => {
      try {
        type.handler({ amount });
      } catch (error) {
        return [error.name, error.constructor.name, /at (\\w+)/.exec(error.stack)[1]];
      }
    };
    return [thrown(1000), thrown(1)];
  }`);
  expect(thrown).toEqual([
    ["CardDeclined", "CardDeclined", "charge"],
    ["Error", "Unreadable", "charge"],
  ]);
});
