import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { sourceStackOf } from "../../src/code/project/source-places.ts";
import { codeFolder } from "../../src/installed/installation.ts";

const thrownAt = (...places: string[]): Error =>
  Object.assign(new Error("no"), {
    stack: `Error: no\n${places.map((place) => `    at f (${place}:1:2)`).join("\n")}`,
  });

test("places are relative to the project; frames of Node and of Offload are left out, in each form of their URLs", async () => {
  const project = `${process.cwd()}/tasks/mail.send.ts`;
  const own = `${codeFolder}src/core/pipeline/work/work.ts`;
  const places = [project, pathToFileURL(project).href, `file:${project}`, own, pathToFileURL(own).href, `file:${own}`];
  expect(await sourceStackOf(thrownAt(...places, "node:internal/timers", "/elsewhere/a.js"))).toBe(
    `Error: no\n${["tasks/mail.send.ts", "tasks/mail.send.ts", "tasks/mail.send.ts", "/elsewhere/a.js"]
      .map((place) => `    at f (${place}:1:2)`)
      .join("\n")}`,
  );
});
