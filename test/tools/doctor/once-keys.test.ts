// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are texts of code
import { describe, expect, test } from "vitest";
import { constantKeys } from "../../../src/code/build/once-keys.ts";

/** A file with a handler that has this code. */
const handler = (code: string, parameters = "(input, task)") =>
  `import { defineTask } from "offload";\nexport default defineTask({\n  handler: async ${parameters} => {\n    ${code}\n  },\n});\n`;

const keysIn = (text: string) => constantKeys("mail.send.ts", text).map(({ line, key }) => `${line} ${key}`);

describe("a key that is the same in each task is found, with its line", () => {
  test.each([
    ['await task.once("mail", () => send(input));', '4 "mail"'],
    ["await task.once(`mail`, send);", "4 `mail`"],
    ['await task.once<string>("mail", send);', '4 "mail"'],
    ['const key = "mail";\n    await task.once(key, send);', "5 key"],
    ["await task.once(`mail/${task.tenantId}/${task.type}`, send);", "4 `mail/${task.tenantId}/${task.type}`"],
    ['await task.once("mail/" + task.type, send);', '4 "mail/" + task.type'],
    ['await Promise.all([task.once("a", one), task.once(input.id, two)]);', '4 "a"'],
  ])("%s", (code, found) => {
    expect(keysIn(handler(code))).toEqual([found]);
  });

  test("the context may have another name, be taken apart, or be a helper's parameter", () => {
    expect(keysIn(handler('await context.once("mail", send);', "(input, context)"))).toEqual(['4 "mail"']);
    expect(keysIn(handler('await once("mail", send);', "(input, { once })"))).toEqual(['4 "mail"']);
    expect(keysIn('async function send(at: TaskContext<X>) {\n  await at.once("mail", go);\n}')).toEqual(['2 "mail"']);
    expect(keysIn('export const send = (task, to) => task.once("mail", () => to);')).toEqual(['1 "mail"']);
    expect(keysIn('defineTask({ async handler(input, me) { return me.once("mail", send); } });')).toEqual(['1 "mail"']);
    expect(keysIn('await currentTask()?.once("mail", send);')).toEqual(['1 "mail"']);
  });
});

test.each([
  "await task.once(`mail/${input.order}`, send);",
  "await task.once(`mail/${task.taskId}`, send);",
  "await task.once(input.order, send);",
  "await task.once(onceKey(input), send);",
  "let key = 'a'; key += input.id; await task.once(key, send);",
  'await task.step("mail", send);',
  'server.once("listening", send);',
  'process.once("exit", send);',
])("the key of %s is not found", (code) => {
  expect(keysIn(handler(code))).toEqual([]);
});

test("a file that does not parse has no keys: its build tells of it", () => {
  expect(keysIn('task.once("mail", ')).toEqual([]);
});
