import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { emptyEnvironment } from "../src/core/task/environment.ts";
import { acceptedTypes } from "../src/core/task/task.ts";
import { loadApp, taskTypes } from "../src/task-files.ts";
import { TaskFileError, taskFiles } from "../src/task-modules.ts";
import invoiceGenerate from "../tasks/invoice.generate.ts";
import { schedules } from "../tasks/schedules.ts";
import triggers from "../tasks/triggers.ts";

/** A folder with these files: each by its path and its text. */
function folderOf(files: Record<string, string>): string {
  const project = mkdtempSync(join(tmpdir(), "offload-task-files-"));
  onTestFinished(() => rmSync(project, { recursive: true, force: true }));
  const folder = join(project, "tasks");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const imports = `
import * as z from ${JSON.stringify(import.meta.resolve("zod"))};
import { defineTask } from ${JSON.stringify(new URL("../src/core/task/task.ts", import.meta.url).href)};
`;
const typeNamed = (name: string) =>
  `${imports}export default defineTask({ name: "${name}", input: z.null(), handler: () => null });`;

describe("a folder of task types", () => {
  test("has one in each of its own files, in the order of their names", async () => {
    const folder = folderOf({
      "mail.send.ts": typeNamed("mail.send"),
      "invoice.ts": typeNamed("invoice"),
      "schedules.ts": "export const schedules = [];",
      "environment.ts": "export default {};",
      "mail/template.ts": "export const template = 1;",
      "pdf.d.ts": "declare const pdf: string;",
      "notes.md": "Notes.",
    });
    expect(taskFiles(folder)).toEqual(["invoice.ts", "mail.send.ts"]);
    expect((await taskTypes(folder)).map(({ name }) => name)).toEqual(["invoice", "mail.send"]);
  });

  const expected = 'Expected `export default defineTask({ name: "mail.send", ... })`.';
  const elsewhere = "If the file is not a task type, move it into a sub-folder.";
  test.each([
    ["no default export", "export const a = 1;", `tasks/mail.send.ts has no default export. ${expected} ${elsewhere}`],
    ...["() => null", "null", '{ name: "mail.send", handler: () => null }'].map((value) => [
      `the default export ${value}`,
      `export default ${value};`,
      `The default export of tasks/mail.send.ts is not a task type. ${expected} ${elsewhere}`,
    ]),
    [
      "a type of another name",
      typeNamed("mail.sent"),
      'tasks/mail.send.ts defines the task type "mail.sent". Expected the name of the file, "mail.send": ' +
        "change the name in the file, or rename the file to mail.sent.ts.",
    ],
    [
      "the type of another file",
      typeNamed("invoice"),
      'tasks/mail.send.ts and tasks/invoice.ts both define the task type "invoice". Expected one file for each type: ' +
        'change the name in tasks/mail.send.ts to "mail.send", or delete that file.',
    ],
  ])("is refused for a file with %s", async (_, text = "", message = "") => {
    const folder = folderOf({ "invoice.ts": typeNamed("invoice"), "mail.send.ts": text });
    await expect(taskTypes(folder)).rejects.toThrow(new TaskFileError(message));
  });

  test("is refused for a file that throws, and keeps the cause", async () => {
    const folder = folderOf({ "mail.send.ts": 'throw new RangeError("no such\\n  setting");' });
    const error = await taskTypes(folder).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TaskFileError);
    expect(error).toMatchObject({
      message:
        "tasks/mail.send.ts could not be imported at tasks/mail.send.ts:1:7: RangeError: no such setting." +
        '\n\n    throw new RangeError("no such\\n  setting");\n',
      cause: expect.any(RangeError),
    });
  });
});

describe("tasks/triggers.ts", () => {
  const entry = JSON.stringify(new URL("../src/triggers.ts", import.meta.url).href);
  const text = [
    `import { defineTrigger } from ${entry};`,
    `import send from ${JSON.stringify("./mail.send.ts")};`,
    'const pattern = { source: ["shop"] };',
    'export default [defineTrigger({ name: "order", pattern, tenantId: "acme", type: send, input: null })];',
  ].join("\n");
  const project = (triggers: string) => folderOf({ "mail.send.ts": typeNamed("mail.send"), "triggers.ts": triggers });
  const loaded = [{ name: "order", bus: "default", tenant_id: "acme", task: { type: "mail.send", input: null } }];

  test("has the app's triggers; without the file there are none", async () => {
    const folder = project(text);
    expect((await loadApp(false, folder)).triggers).toMatchObject(loaded);
    expect(taskFiles(folder)).toEqual(["mail.send.ts"]);
    expect((await loadApp(false, folderOf({ "notes.md": "" }))).triggers).toEqual([]);
  });

  test.each(["export const triggers = [];", "export default {};", "export default [{ pattern: {} }];"])(
    "is refused for %s, with what is expected",
    async (wrong) => {
      const message = "tasks/triggers.ts has no triggers. Expected `export default [defineTrigger({ ... })]`.";
      await expect(loadApp(false, project(wrong))).rejects.toThrow(new TaskFileError(message));
    },
  );

  test("a fault of a trigger names the trigger and its place in the file", async () => {
    const wrong = text.replace('source: ["shop"]', 'source: "shop"');
    await expect(loadApp(false, project(wrong))).rejects.toThrow(
      /^tasks\/triggers\.ts could not be imported at tasks\/triggers\.ts:4:\d+: TypeError: defineTrigger\("order"\): pattern: source: expected an array/,
    );
  });
});

describe("tasks/environment.ts", () => {
  const core = JSON.stringify(new URL("../src/core/task/environment.ts", import.meta.url).href);

  test("declares the variables of handlers; without the file there are none", async () => {
    const text = `import { defineEnvironment } from ${core}; export default defineEnvironment({ variables: { A1: "x" } });`;
    const declared = { variables: { A1: "x" }, secrets: {} };
    expect((await loadApp(false, folderOf({ "environment.ts": text }))).environment).toEqual(declared);
    expect((await loadApp(false, folderOf({ "notes.md": "" }))).environment).toEqual(emptyEnvironment);
  });

  test("is refused without declarations, with what is expected", async () => {
    await expect(loadApp(false, folderOf({ "environment.ts": "export const A1 = 1;" }))).rejects.toThrow(
      new TaskFileError(
        "tasks/environment.ts does not declare environment variables. " +
          "Expected `export default defineEnvironment({ variables: { ... }, secrets: { ... } })`.",
      ),
    );
  });
});

describe("a file that cannot be loaded", () => {
  test.each([
    ["a syntax error", "const a = 1;\nconst b = ;\n", ":2:11: SyntaxError: Expression expected.\n\n    const b = ;\n"],
    [
      "code that Node cannot strip of types",
      "enum Size { small }\n",
      ":1:1: SyntaxError: TypeScript enum is not supported in strip-only mode. Use a union of literals, or an object `as const`.\n\n    enum Size { small }\n",
    ],
    [
      "an error below a call",
      "const at = 1;\nfunction fail() { throw new Error('down'); }\nfail();\n",
      ":2:25: Error: down.\n\n    function fail() { throw new Error('down'); }\n",
    ],
    [
      "an import of a file that does not exist",
      "\nimport { page } from './mail/page.ts';\n",
      `:2:30: Error: Cannot find module 'TASKS/mail/page.ts' imported from TASKS/mail.send.ts.\n\n    import { page } from './mail/page.ts';\n`,
    ],
    [
      "an import of a file without its extension",
      "import { price } from './lib/price';\n",
      `:1:30: Error: Cannot find module 'TASKS/lib/price' imported from TASKS/mail.send.ts. Did you mean './lib/price.ts'?\n\n    import { price } from './lib/price';\n`,
    ],
    [
      "an import of a file with the extension of its build",
      "import { price } from './lib/price.js';\n",
      `:1:30: Error: Cannot find module 'TASKS/lib/price.js' imported from TASKS/mail.send.ts. Did you mean './lib/price.ts'?\n\n    import { price } from './lib/price.js';\n`,
    ],
    [
      "an import of a package that is not installed",
      "import * as a from 'node:fs';\nimport mailer from 'no-such-mailer';\n",
      `:2:21: Error: Cannot find package 'no-such-mailer' imported from TASKS/mail.send.ts.\n\n    import mailer from 'no-such-mailer';\n`,
    ],
    [
      "an import of a name that is not exported",
      "import { readfile } from 'node:fs';\n",
      ":1:10: SyntaxError: The requested module 'node:fs' does not provide an export named 'readfile'." +
        "\n\n    import { readfile } from 'node:fs';\n",
    ],
  ])("is named with line and column: %s", async (_, text, message) => {
    const folder = folderOf({ "mail.send.ts": text, "lib/price.ts": "export const price = 1;" });
    // A process of its own: the test runner would compile the file.
    const script = `
      import { taskTypes } from ${JSON.stringify(new URL("../src/task-files.ts", import.meta.url).href)};
      await taskTypes(${JSON.stringify(folder)}).catch((error) => console.log(error.message));`;
    const found = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
    const expected = message.replaceAll("TASKS", realpathSync(folder));
    expect(found.stdout).toBe(`tasks/mail.send.ts could not be imported at tasks/mail.send.ts${expected}\n`);
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

  test("task files and the loader share one copy of `offload`", async () => {
    const text = typeNamed("mail.send").replace(/from "file:[^"]*task.ts"/, 'from "offload"');
    const [type] = await taskTypes(folderOf({ "mail.send.ts": text }));
    expect(type?.name).toBe("mail.send");
  });
});

describe("the app that ships", () => {
  test("has its schedules and triggers, and probe types only where they are asked for", async () => {
    expect(await loadApp(false)).toEqual({
      types: [invoiceGenerate],
      schedules,
      triggers,
      environment: emptyEnvironment,
    });
    const { types } = await loadApp(true);
    expect(types).toEqual(await taskTypes());
    expect(types.filter(({ name }) => name.startsWith("probe."))).toHaveLength(types.length - 1);
    expect(acceptedTypes(types, false)).toEqual([invoiceGenerate]);
  });
});
