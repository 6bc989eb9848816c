import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "offload-to-parent-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const module = JSON.stringify(pathToFileURL(resolve("src/local/direct/to-parent.ts")).href);

/** Replies to a parent that has just died, and reports each exception to it, as a worker does. */
const child = `
  import { toParent } from ${module};
  process.on("uncaughtException", ({ message }) => {
    process.stdout.write(message + "\\n");
    toParent({ kind: "worn" });
  });
  process.on("disconnect", () => process.exit(0));
  const parent = process.ppid;
  process.once("message", () => {
    while (process.ppid === parent);
    for (let n = 0; n < 3; n++) toParent({ n });
    process.stdout.write("replied\\n");
  });
  toParent({ kind: "ready" });
`;
const parent = `
  import { fork } from "node:child_process";
  const child = fork(${JSON.stringify(join(folder, "child.mjs"))});
  child.on("message", () => child.send("go", () => process.kill(process.pid, "SIGKILL")));
`;

test("a worker that replies to a server that was killed says nothing of it, and ends", async () => {
  writeFileSync(join(folder, "child.mjs"), child);
  writeFileSync(join(folder, "parent.mjs"), parent);
  const killed = spawn(process.execPath, [join(folder, "parent.mjs")], { stdio: ["ignore", "pipe", "inherit"] });
  const said = text(killed.stdout);
  const [, signal] = await once(killed, "exit");
  expect(signal).toBe("SIGKILL");
  // The output is at its end when the child, which has it too, has ended.
  expect(await said).toBe("replied\n");
});
