import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";

/**
 * A project in a folder of its own, which finds zod.
 * @param files Its files, by their paths.
 * @param links Packages of its workspace: their folders, by their names.
 */
export function projectOf(
  files: Readonly<Record<string, string>>,
  links: Readonly<Record<string, string>> = {},
): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "offload-project-")));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const link = (name: string, targetFrom: (folder: string) => string) => {
    const place = join(root, "node_modules", name);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(targetFrom(dirname(place)), place);
  };
  link("zod", () => resolve("node_modules/zod"));
  for (const [name, target] of Object.entries(links)) link(name, (folder) => relative(folder, join(root, target)));
  return root;
}

/** A project with these task files, for a server of this installation; disposing of it deletes the project. */
export function projectWith(tasks: Readonly<Record<string, string>>): Disposable & { folder: string } {
  const files = Object.entries(tasks).map(([name, text]) => [`tasks/${name}.ts`, text]);
  const folder = projectOf({ "package.json": '{ "type": "module" }', ...Object.fromEntries(files) });
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Text of a task file. `result` is the handler's, and may use what `imports` declare. */
export const taskText = (name: string, result: string, imports = ""): string => `import { defineTask } from "offload";
import * as z from "zod";
${imports}

export default defineTask({ name: "${name}", input: z.strictObject({}), handler: async () => (${result}) });
`;
