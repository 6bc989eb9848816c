import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as z from "zod";
import { upcastInput } from "../src/core/task/parsed-input.ts";
import { defineTask } from "../src/core/task/task.ts";

const send = async (to: string[], locale: string, _signal: AbortSignal) => ({ to, locale });

// The task type of docs/change-a-task.md, word for word.
const mailSend = defineTask({
  name: "mail.send",
  version: 3,
  upcast: {
    1: ({ to }: { to: string }) => ({ to: [to] }),
    2: ({ to }: { to: string[] }) => ({ to, locale: "en" }),
  },
  input: z.strictObject({ to: z.array(z.email()).min(1), locale: z.string() }),
  handler: async ({ to, locale }, task) => send(to, locale, task.signal),
});

test("the guide's task type is the one in this file", () => {
  const inGuide = /```ts\nexport default (defineTask\([\s\S]+?)```/.exec(
    readFileSync("docs/change-a-task.md", "utf8"),
  )?.[1];
  expect(inGuide).toMatch(/^defineTask/);
  expect(readFileSync(import.meta.filename, "utf8")).toContain(inGuide);
});

test.each([
  [1, { to: "ada@example.com" }],
  [2, { to: ["ada@example.com"] }],
  [3, { to: ["ada@example.com"], locale: "en" }],
])("an input of version %i is brought forward", (version, input) => {
  const present = { to: ["ada@example.com"], locale: "en" };
  expect(mailSend.input.parse(upcastInput(mailSend, input, version))).toEqual(present);
});
