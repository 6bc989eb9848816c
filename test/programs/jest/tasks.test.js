const { currentTask, defineTask, file, PermanentError, RetryAfter } = require("offload");
const { defineSchedule } = require("offload/schedules");
const { testKit } = require("offload/testing");
const { defineTrigger } = require("offload/triggers");
const z = require("zod");

const size = defineTask({
  name: "text.size",
  input: z.strictObject({ text: z.string() }),
  handler: async ({ text }) => {
    if (text === "") throw new PermanentError("there is no text");
    if (text === "hang" && currentTask().attempt === 1) await new Promise(() => {});
    if (text === "later" && currentTask().attempt === 1) throw new RetryAfter(20);
    if (text === "file") return file(Buffer.from("abc"), { contentType: "text/plain", fileName: "a.txt" });
    return { size: text.length };
  },
});
const run = (text) => testKit([size]).run(size, { text });

test("the test kit runs a task type", async () => {
  expect((await run("abc")).result).toEqual({ size: 3 });
});

test("the test kit knows the errors and the files of the same package", async () => {
  const failed = await run("");
  expect([failed.errorKind, failed.attempts.length]).toEqual(["permanent", 1]);
  expect((await run("later")).attempts.map(({ errorKind }) => errorKind)).toEqual(["rate_limited", undefined]);
  expect(Buffer.from((await run("file")).result.bytes).toString()).toBe("abc");
});

test("a handler that hangs is timed out, also where timers and time are replaced for all tests", async () => {
  const { attempts } = await testKit([size], { patienceMs: 10 }).run(size, { text: "hang" });
  expect(attempts.map(({ outcome }) => outcome)).toEqual(["timed_out", "completed"]);
});

test("schedules and triggers can be loaded", () => {
  expect([typeof defineSchedule, typeof defineTrigger]).toEqual(["function", "function"]);
});
