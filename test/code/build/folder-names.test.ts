import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { strangerEnv } from "../../support/packed.ts";

/*
 * A path is not a URL, a pattern or a word of a shell. Windows knows no `?` and no quotes in names, and Node no backslash.
 */

const files = {
  "package.json": '{ "private": true, "type": "module" }',
  "src/parts/one.ts": 'export default "one";',
  "src/parts #1/two.ts": 'export default "two";',
  "src/my thread.ts": 'import { parentPort } from "node:worker_threads"; parentPort?.postMessage("three");',
  "src/text.txt": "four",
  "tasks/count.up.ts": `import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { defineTask } from "offload";
import * as z from "zod";
const thread = () => new Promise((heard) => new Worker(new URL("../src/my%20thread.ts", import.meta.url)).once("message", heard));
export default defineTask({
  name: "count.up",
  input: z.strictObject({ to: z.int() }),
  maxAttempts: 1,
  handler: async ({ to }) => {
    if (to > 4) throw new Error("too far");
    const [one, two] = ["one", "two"];
    const loaded = [await import(\`../src/parts/\${one}.ts\`), await import(\`../src/parts #1/\${two}.ts\`)];
    const read = readFileSync(new URL("../src/text.txt", import.meta.url), "utf8");
    return [...loaded.map((part) => part.default), await thread(), read];
  },
});
`,
};

/** The line of the handler that throws. */
const thrownAt = "tasks/count.up.ts:11:";

describe.each(["C# 100% (y) [x] {z}", "q'u\"o what? %20 ü日本 $HOME & ;*`"])("below a folder named %s", (name) => {
  let root: string;
  beforeAll(() => {
    const top = realpathSync(mkdtempSync(join(tmpdir(), "offload-names-")));
    root = join(top, name, "app");
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    }
    // A link would lead out of the folder.
    cpSync(resolve("node_modules/zod"), join(root, "node_modules/zod"), { recursive: true });
  });
  afterAll(() => rmSync(dirname(dirname(root)), { recursive: true, force: true }));

  const command = resolve("bin/offload.js");
  async function offload(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    const child = spawn(process.execPath, [command, ...args], {
      ...{ cwd: root, env: strangerEnv, stdio: ["ignore", "pipe", "pipe"] },
    });
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    return { code, out, err };
  }

  /** Runs a task on a local server, which ends with it. */
  const onServer = (input: string) =>
    offload(
      ...["dev", "--ephemeral", "--port", "0", "--dynamodb-port", "0", "--sqs-port", "0", "--"],
      ...[process.execPath, command, "run", "count.up", input, "--wait"],
    );

  test("`dev` runs a task, and shows where one failed", async () => {
    const { out, err } = await onServer('{"to":4}');
    expect(out + err).toMatch(/"one",\s+"two",\s+"three",\s+"four"/);
    const failed = await onServer('{"to":5}');
    expect(failed.out + failed.err).toContain(thrownAt);
  });

  test("the worker that would be deployed runs one, and shows where one failed", async () => {
    const { out, err } = await offload("run", "count.up", '{"to":4}', "--bundle");
    expect({ out: out && JSON.parse(out), err }).toMatchObject({ out: ["one", "two", "three", "four"] });
    expect((await offload("run", "count.up", '{"to":5}', "--bundle")).err).toContain(thrownAt);
  });

  test("`init` writes a project, and says how to go there", async () => {
    const { code, out } = await offload("init", "web #2", "--yes", "--no-install");
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining("cd 'web #2'\n") });
  });
});
