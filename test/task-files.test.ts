import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { wholeApp } from "../src/code/describe/load-app.ts";
import { taskFiles } from "../src/code/project/task-folder.ts";
import { TaskFileError } from "../src/code/project/task-modules.ts";
import { loadProject } from "../src/local/deployment/project.ts";
import { projectOf, taskText } from "./support/project.ts";

/** A tasks folder with these files. */
function folderOf(files: Record<string, string>): string {
  const paths = Object.entries(files).map(([path, text]) => [`tasks/${path}`, text]);
  const root = projectOf({ "package.json": '{ "type": "module" }', ...Object.fromEntries(paths) });
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return join(root, "tasks");
}

const typeNamed = (name: string) => taskText(name, "null");

/** The messages of the files of a folder that cannot be loaded, beside one that can. */
async function problemsOf(files: Record<string, string>): Promise<string[]> {
  const { code, problems, catalog } = await loadProject(folderOf({ "good.ts": typeNamed("good"), ...files }), false);
  code[Symbol.dispose]();
  expect(catalog.map(({ name }) => name)).toContain("good");
  return problems.map(({ message }) => message);
}

describe("a folder of task types", () => {
  test("has one in each of its own files, in the order of their names", async () => {
    const folder = folderOf({
      "mail.send.ts": typeNamed("mail.send"),
      "invoice.ts": typeNamed("invoice"),
      "schedules.ts": "export const schedules = [];",
      "environment.ts":
        'import { defineEnvironment } from "offload"; export default defineEnvironment({ variables: { A1: "x", B2: {} } });',
      "mail/template.ts": "export const template = 1;",
      "pdf.d.ts": "declare const pdf: string;",
      "notes.md": "Notes.",
    });
    expect(taskFiles(folder)).toEqual(["invoice.ts", "mail.send.ts"]);
    const app = await wholeApp(folder, false);
    expect(app.catalog.map(({ name }) => name)).toEqual(["invoice", "mail.send"]);
    // A variable without a default is declared all the same.
    expect(app.environment).toStrictEqual({ variables: { A1: "x", B2: undefined }, secrets: {} });
    expect(app.triggers).toEqual([]);
  });

  const expected = 'Expected `export default defineTask({ name: "mail.send", ... })`.';
  const elsewhere = "If the file is not a task type, move it into a sub-folder.";
  const pages = { "retry.ts": 'throw new RangeError("no such\\n  setting");' };

  test("has types apart: each file that is not what it should be is named with the reason, and the others run", async () => {
    const problems = await problemsOf({
      "a.none.ts": "export const a = 1;",
      "b.function.ts": "export default () => null;",
      "c.other.ts": typeNamed("c.another"),
      "d.twice.ts": typeNamed("good"),
      "e.syntax.ts": "const a = 1;\nconst b = ;\n",
      "f.throws.ts": "const at = 1;\nfunction fail() { throw new Error('down'); }\nfail();\n",
      "g.missing.ts": "\nimport { page } from './mail/page.ts';\nexport default page;\n",
      "h.package.ts":
        "import * as a from 'node:fs';\nimport mailer from 'no-such-mailer';\nexport default mailer(a);\n",
      "i.below.ts": "import { value } from './lib/broken.ts';\nexport default value;\n",
      "lib/broken.ts": "export const value: number = JSON.parse('{');\n",
      "j.json.ts": "import rates from './lib/rates.json';\nexport default rates;\n",
      "lib/rates.json": '{ "vat": }',
      ...pages,
      "schedules.ts": "export const schedules = {};",
      "triggers.ts": "export default [{ pattern: {} }];",
    });
    const name = (text: string) => expected.replaceAll("mail.send", text);
    expect(problems).toEqual([
      `tasks/a.none.ts has no default export. ${name("a.none")} ${elsewhere}`,
      `The default export of tasks/b.function.ts is not a task type. ${name("b.function")} ${elsewhere}`,
      'tasks/c.other.ts defines the task type "c.another". Expected the name of the file, "c.other": ' +
        "change the name in the file, or rename the file to c.another.ts.",
      'tasks/d.twice.ts and tasks/good.ts both define the task type "good". Expected one file for each type: ' +
        'change the name in tasks/d.twice.ts to "d.twice", or delete that file.',
      expect.stringMatching(
        /^tasks\/e\.syntax\.ts could not be imported at tasks\/e\.syntax\.ts:2:11: SyntaxError: .+\.\n\n {4}const b = ;\n$/,
      ),
      "tasks/f.throws.ts could not be imported at tasks/f.throws.ts:2:25: Error: down.\n\n    function fail() { throw new Error('down'); }\n",
      "tasks/g.missing.ts could not be imported at tasks/g.missing.ts:2:23: Error: Cannot find module './mail/page.ts' imported from tasks/g.missing.ts." +
        "\n\n    import { page } from './mail/page.ts';\n",
      "tasks/h.package.ts could not be imported at tasks/h.package.ts:2:21: Error: Cannot find package 'no-such-mailer' imported from tasks/h.package.ts." +
        "\n\n    import mailer from 'no-such-mailer';\n",
      expect.stringMatching(
        /^tasks\/i\.below\.ts could not be imported at tasks\/lib\/broken\.ts:1:\d+: SyntaxError: /,
      ),
      expect.stringMatching(
        /^tasks\/j\.json\.ts could not be imported at tasks\/lib\/rates\.json:1:\d+: SyntaxError: /,
      ),
      expect.stringMatching(
        /^tasks\/retry\.ts could not be imported at tasks\/retry\.ts:1:\d+: RangeError: no such setting\.\n/,
      ),
      "tasks/schedules.ts has no schedules. Expected `export const schedules = [defineSchedule({ ... })]`.",
      "tasks/triggers.ts has no triggers. Expected `export default [defineTrigger({ ... })]`.",
    ]);
  });

  test("is refused when none of its files can be loaded, and for an environment that is none", async () => {
    const folder = folderOf({ "mail.send.ts": "export const a = 1;" });
    await expect(loadProject(folder, false)).rejects.toThrow(
      new TaskFileError(`tasks/mail.send.ts has no default export. ${expected} ${elsewhere}`),
    );
    expect(await problemsOf({ "environment.ts": "export const A1 = 1;" })).toEqual([
      "tasks/environment.ts does not declare environment variables. " +
        "Expected `export default defineEnvironment({ variables: { ... }, secrets: { ... } })`.",
    ]);
  });

  test("has no type named process: the file is for the process itself", async () => {
    expect(await problemsOf({ "process.ts": typeNamed("process") })).toEqual([
      "tasks/process.ts does not define a process. Expected `export default defineProcess({ start, flush, stop })`. " +
        "If the file is a task type, rename it: this name is for the process.",
    ]);
    const life = 'import { defineProcess } from "offload"; export default defineProcess({ start() { throw 1; } });';
    expect(await problemsOf({ "process.ts": life })).toEqual([]);
  });

  test("has triggers; a fault of one names it and its place in the file", async () => {
    const text = [
      'import { defineTrigger } from "offload/triggers";',
      'import send from "./mail.send.ts";',
      'const pattern = { source: ["shop"] };',
      'export default [defineTrigger({ name: "order", pattern, tenantId: "acme", type: send, input: {} })];',
    ].join("\n");
    const files = { "mail.send.ts": typeNamed("mail.send"), "triggers.ts": text };
    const loaded = [{ name: "order", bus: "default", tenant_id: "acme", task: { type: "mail.send", input: {} } }];
    expect((await wholeApp(folderOf(files), false)).triggers).toMatchObject(loaded);
    const wrong = text.replace('source: ["shop"]', 'source: "shop"');
    expect(await problemsOf({ ...files, "triggers.ts": wrong })).toEqual([
      expect.stringMatching(
        /^tasks\/triggers\.ts could not be imported at tasks\/triggers\.ts:4:\d+: TypeError: defineTrigger\("order"\): pattern: source: expected an array/,
      ),
    ]);
  });

  test.each(["null", "undefined", "404", '"down"', "{ code: 7 }"])(
    "is named, and costs no other type, when it throws %s",
    async (thrown) => {
      const text = `if (process.pid > 0) throw ${thrown};\n${typeNamed("mail.send")}`;
      const [problem, ...more] = await problemsOf({ "mail.send.ts": text });
      expect(problem).toMatch(/^tasks\/mail\.send\.ts could not be imported: /);
      expect(more).toEqual([]);
    },
  );

  test.each([
    ["process.exit(0);", "it ended the process with exit code 0, as process.exit(0) does."],
    ["process.exit(7);", "it ended the process with exit code 7, as process.exit(7) does."],
    ["await new Promise(() => {});", "it awaits something that never comes."],
  ])("is named when it never comes to its end: %s", async (code, why) => {
    const text = `import "./mail/page.ts";\n${typeNamed("mail.send")}`;
    const files = { "good.ts": typeNamed("good"), "mail.send.ts": text, "mail/page.ts": code };
    const loading = loadProject(folderOf(files), false);
    await expect(loading).rejects.toThrow(new TaskFileError(`tasks/mail.send.ts could not be imported: ${why}`));
  });

  test("is refused when another file differs only in its extension", () => {
    const folder = folderOf({ "mail.send.ts": typeNamed("mail.send"), "mail.send.js": typeNamed("mail.send") });
    expect(() => taskFiles(folder)).toThrow(
      new TaskFileError(
        "tasks/mail.send.js and tasks/mail.send.ts have the same name, and so define the same task type. " +
          "Expected one file: delete the others.",
      ),
    );
  });
});
