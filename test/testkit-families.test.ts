import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { PermanentError } from "../src/core/model/errors.ts";
import { file } from "../src/core/task/result.ts";
import { defineTask, type TaskOptions } from "../src/core/task/task.ts";
import type { TaskFile } from "../src/core/task/task-file.ts";
import { testKit } from "../src/testkit/kit.ts";

const page = defineTask({
  name: "report.page",
  input: z.strictObject({ page: z.int() }),
  maxAttempts: 2,
  handler: ({ page }) => ({ rows: page * 10 }),
});

/** Sums the rows of its pages. */
const reportOf = (threshold = 1, more: Partial<TaskOptions<z.ZodInt, unknown>> = {}) =>
  defineTask({
    name: "report.all",
    input: z.int(),
    children: { threshold },
    handler: async (pages, task) => {
      for (let number = 1; number <= pages; number++)
        await task.spawn(page, { page: number }, { key: `page-${number}` });
    },
    aggregate: async ({ completed, results }) => {
      let rows = 0;
      for await (const { status, result } of results())
        if (status === "completed") rows += (result as { rows: number }).rows;
      return { completed, rows };
    },
    ...more,
  });

describe("a family in the kit", () => {
  test("runs with its children and its closing attempt, and its outcome has the children's outcomes", async () => {
    const report = reportOf();
    const outcome = await testKit([report, page]).run(report, 3);
    expect(outcome).toMatchObject({
      status: "completed",
      result: { completed: 3, rows: 60 },
      seconds: 0,
      submitted: [],
    });
    expect(outcome.children).toMatchObject([
      {
        type: "report.page",
        key: "page-1",
        input: { page: 1 },
        status: "completed",
        result: { rows: 10 },
        children: [],
      },
      { key: "page-2", result: { rows: 20 } },
      { key: "page-3", result: { rows: 30 }, attempts: [{ outcome: "completed" }] },
    ]);
    expect(outcome.attempts.map(({ outcome }) => outcome)).toEqual(["completed", "completed"]);
    expect(outcome.attempts[0]?.steps).toContain("task.spawn(report.page)");
    expect(outcome.attempts[1]?.steps).toContain("aggregate returned");
  });

  test("can be nested", async () => {
    const inner = reportOf(1, { name: "report.part" });
    const outer = defineTask({
      name: "report.nested",
      input: z.int(),
      children: {},
      handler: (parts, task) =>
        task.spawnAll(
          inner,
          Array.from({ length: parts }, (_, part) => part + 1),
        ),
    });
    const outcome = await testKit([outer, inner, page]).run(outer, 3);
    expect(outcome).toMatchObject({ status: "completed", result: { total: 3, completed: 3 } });
    expect(outcome.children.map(({ key, result, children }) => [key, result, children.length])).toEqual([
      ["0", { completed: 1, rows: 10 }, 1],
      ["1", { completed: 2, rows: 30 }, 2],
      ["2", { completed: 3, rows: 60 }, 3],
    ]);
    const fault = { child: [1, "page-2"], step: "claim", how: "throw", error: new PermanentError("no page") } as const;
    const failed = await testKit([outer, inner, page]).run(outer, 3, { faults: [fault] });
    expect(failed).toMatchObject({ status: "failed", errorKind: "children_failed" });
    expect(failed.children[1]).toMatchObject({ status: "failed", errorKind: "children_failed" });
    expect(failed.children[1]?.children[1]).toMatchObject({ status: "failed", error: "no page" });
  });

  test("of 500 children runs them all", async () => {
    const many = reportOf();
    const outcome = await testKit([many, page]).run(many, 500);
    expect(outcome).toMatchObject({ status: "completed", result: { completed: 500, rows: 1_252_500 } });
    expect(outcome.children).toHaveLength(500);
  });

  test("lists a key once, with the input of its child", async () => {
    const parent = defineTask({
      name: "parent",
      input: z.null(),
      children: {},
      handler: async (_, task) => {
        for (const number of [1, 2]) {
          await task.spawnAll(
            page,
            Array.from({ length: 100 }, (_, index) => ({ page: number * 1000 + index })),
            { key: ({ page }) => String(page % 1000) },
          );
        }
      },
    });
    const outcome = await testKit([parent, page]).run(parent, null);
    expect(outcome.children).toHaveLength(100);
    expect(outcome.children[7]).toMatchObject({ key: "7", input: { page: 1007 }, result: { rows: 10_070 } });
  });

  test("is cancelled with its children", async () => {
    const slow = defineTask({ name: "slow", input: z.int(), handler: () => "done" });
    const parent = defineTask({
      name: "parent",
      input: z.int(),
      children: {},
      handler: (children, task) => task.spawnAll(slow, Array(children).keys(), { delaySeconds: 600 }),
    });
    const faults = [{ step: "settle: wait for the children", how: "cancel" }] as const;
    const outcome = await testKit([parent, slow]).run(parent, 120, { faults });
    expect(outcome.status).toBe("cancelled");
    expect(new Set(outcome.children.map(({ status }) => status))).toEqual(new Set(["cancelled"]));
    expect(outcome.children).toHaveLength(120);
  });

  test("whose children the kit cannot run is an error that names the missing type", async () => {
    const report = reportOf();
    await expect(testKit([report]).run(report, 3)).rejects.toThrow(
      "The type report.all spawns children of the type report.page, which the kit does not have: pass both to testKit([...]).",
    );
  });
});

describe("faults in a family", () => {
  test("a child whose worker dies is tried again, and the family completes", async () => {
    const report = reportOf();
    const faults = [{ child: "page-2", step: "handler returned", how: "crash" }] as const;
    const outcome = await testKit([report, page]).run(report, 3, { faults });
    expect(outcome).toMatchObject({ status: "completed", result: { completed: 3, rows: 60 } });
    const attempts = outcome.children.map((child) => child.attempts.map((attempt) => attempt.outcome));
    expect(attempts).toEqual([["completed"], ["crashed", "completed"], ["completed"]]);
  });

  test("a child that fails for good fails its parent below the threshold, and not above it", async () => {
    const faults = [
      { child: "page-2", step: "claim", how: "throw", error: new PermanentError("no such page") },
    ] as const;
    const all = reportOf();
    const failed = await testKit([all, page]).run(all, 3, { faults });
    expect(failed).toMatchObject({ status: "failed", errorKind: "children_failed", deadLetter: true });
    expect(failed.children[1]).toMatchObject({ status: "failed", error: "no such page", errorKind: "permanent" });
    const most = reportOf(0.6);
    const passed = await testKit([most, page]).run(most, 3, { faults });
    expect(passed).toMatchObject({ status: "completed", result: { completed: 2, rows: 40 } });
  });

  test("a number names a child without a key, and a transient error makes it try again", async () => {
    const parent = defineTask({
      name: "parent",
      input: z.int(),
      children: {},
      handler: (children, task) =>
        task.spawnAll(Array.from({ length: children }, () => ({ type: page, input: { page: 1 } }))),
    });
    const faults = [{ child: 1, step: "handler returned", how: "throw", error: new Error("later") }] as const;
    const outcome = await testKit([parent, page]).run(parent, 2, { faults });
    expect(outcome.attempts[0]?.steps[1]).toBe("task.spawnAll");
    expect(outcome.children[1]?.attempts).toMatchObject([
      { outcome: "retried", error: "later" },
      { outcome: "completed" },
    ]);
  });

  test("a handler's call and the closing attempt can throw, too", async () => {
    const report = reportOf();
    const spawnFails = [
      { step: "task.spawn(report.page)", how: "throw", error: new PermanentError("no more") },
    ] as const;
    const refused = await testKit([report, page]).run(report, 3, { faults: spawnFails });
    expect(refused).toMatchObject({ status: "failed", error: "no more", children: [] });
    const closingFails = [{ attempt: 2, step: "claim", how: "throw", error: new Error("busy") }] as const;
    const closed = await testKit([report, page]).run(report, 3, { faults: closingFails });
    expect(closed.attempts.map(({ outcome, error }) => [outcome, error])).toEqual([
      ["completed", undefined],
      ["retried", "busy"],
      ["completed", undefined],
    ]);
  });

  test("a fault for a child that was not spawned, or whose step did not come, is an error", async () => {
    const report = reportOf();
    const kit = testKit([report, page]);
    await expect(kit.run(report, 2, { faults: [{ child: 7, step: 1, how: "crash" }] })).rejects.toThrow(
      "The fault crash did not happen: the task spawned no child 7. The keys of its children are page-1, page-2.",
    );
    const late = [{ child: "page-1", attempt: 2, step: 1, how: "crash" }] as const;
    await expect(testKit([report, page]).run(report, 2, { faults: late })).rejects.toThrow(
      "The fault crash at step 1 of attempt 2 of child page-1 did not happen. The task's number of attempts was 1.",
    );
  });

  test.each(["settle: wait for the children", "task.progress(50)"])("a step cannot throw at '%s'", async (step) => {
    const report = reportOf(1, {
      handler: async (_, task) => {
        task.progress(50);
        await task.spawn(page, { page: 1 });
      },
    });
    await expect(
      testKit([report, page]).run(report, 2, { faults: [{ step, how: "throw", error: new Error() }] }),
    ).rejects.toThrow(`The fault throw cannot happen at the step "${step}": it can at claim and at steps`);
  });
});

describe("crashEverywhere of a family", () => {
  test("dies after each step of the parent, of the closing attempt and of each child, and each run completes", async () => {
    const report = reportOf();
    let runs = 0;
    let steps = 0;
    await testKit([report, page]).crashEverywhere(report, 2, (outcome) => {
      expect(outcome).toMatchObject({ status: "completed", result: { completed: 2, rows: 30 } });
      expect(outcome.children.map(({ key }) => key)).toEqual(["page-1", "page-2"]);
      if (runs++ > 0) return;
      for (const { attempts } of [outcome, ...outcome.children]) for (const one of attempts) steps += one.steps.length;
    });
    expect(runs).toBe(steps + 1);
    expect(steps).toBeGreaterThan(25);
  });

  test("names the child of a crash that the check does not accept", async () => {
    const report = reportOf();
    const answer = testKit([report, page]).crashEverywhere(report, 1, ({ children }) => {
      expect(children[0]?.attempts).toHaveLength(1);
    });
    await expect(answer).rejects.toThrow(/crash after step 1 of attempt 1 of child page-1, "claim": /);
  });
});

describe("a child with a file of its parent", () => {
  const text = { contentTypes: ["text/plain"], maxBytes: 10 };
  const half = defineTask({
    name: "text.half",
    input: z.strictObject({ from: z.int() }),
    files: { whole: text, cover: { required: false } },
    handler: async ({ from }, { files: { whole } }) =>
      new TextDecoder().decode(await whole.bytes()).slice(from, from + 2),
  });
  const halves = defineTask({
    name: "text.halves",
    input: z.strictObject({}),
    files: { text, cover: { required: false } },
    children: {},
    handler: async (_, task) => {
      const files = { whole: task.files.text, cover: task.files.cover };
      await task.spawn(half, { from: 0 }, { key: "first", files });
      await task.spawnAll(half, [{ from: 2 }], { key: () => "second", files });
    },
    aggregate: async ({ results }, task) => {
      const texts = [task.files.text.fileName];
      for await (const { result } of results()) texts.push(result as string);
      return texts;
    },
  });
  const files = { text: new File(["abcd"], "a.txt", { type: "text/plain" }) };

  test("reads it, wherever a worker dies", async () => {
    await testKit([halves, half]).crashEverywhere(
      halves,
      {},
      (outcome) => expect(outcome).toMatchObject({ status: "completed", result: ["a.txt", "ab", "cd"] }),
      { files },
    );
  });

  const sent = (content: string, type = "text/plain") => new File([content], "a.txt", { type });
  type Choose = (any: TaskFile | undefined) => Record<string, TaskFile | undefined>;
  test.each<[string, File, Choose, string]>([
    ["no file", sent("abcd"), () => ({}), "/files/whole this file is required"],
    ["another type", sent("abcd", "image/png"), (whole) => ({ whole }), "/files/whole image/png is not allowed"],
    ["too many bytes", sent("abcdefghijk"), (whole) => ({ whole }), "/files/whole the file has 11 bytes; the limit"],
    [
      "an unknown name",
      sent("abcd"),
      (whole) => ({ whole, back: whole }),
      "/files/back tasks of the type text.half have",
    ],
    ["a file of no task", sent("abcd"), (any) => ({ whole: any && { ...any } }), "files.whole: a child can get files"],
  ])("is not spawned with %s", async (_, any, choose, error) => {
    const parent = defineTask({
      name: "parent",
      input: z.strictObject({}),
      files: { any: {} },
      children: {},
      handler: async (_, task) => void (await task.spawn(half, { from: 0 }, { files: choose(task.files.any) })),
    });
    const outcome = await testKit([parent, half]).run(parent, {}, { files: { any } });
    expect(outcome).toMatchObject({ status: "failed", errorKind: "permanent", error: expect.stringContaining(error) });
  });
});

describe("stopOnFailure", () => {
  const send = defineTask({
    name: "send",
    input: z.strictObject({ to: z.string() }),
    maxAttempts: 2,
    handler: ({ to }) => {
      if (to === "bob") throw new PermanentError("no address");
      return { to };
    },
  });
  const sendAll = defineTask({
    name: "send.all",
    input: z.strictObject({ to: z.array(z.string()) }),
    children: { threshold: ({ to }) => 1 - 1 / (2 * to.length), stopOnFailure: true },
    handler: async ({ to }, task) => {
      for (const [index, one] of to.entries())
        await task.spawn(send, { to: one }, { key: one, delaySeconds: index * 10_000 });
    },
  });

  test("cancels the children that have not started", async () => {
    const kit = testKit([send, sendAll]);
    const outcome = await kit.run(sendAll, { to: ["ada", "bob", "cy", "dan"] });
    expect(outcome).toMatchObject({ status: "failed", errorKind: "children_failed", seconds: 10_000 });
    expect(outcome.children.map(({ key, status }) => [key, status])).toEqual([
      ["ada", "completed"],
      ["bob", "failed"],
      ["cy", "cancelled"],
      ["dan", "cancelled"],
    ]);
  });

  test("does so although the process dies at any step", async () => {
    const kit = testKit([send, sendAll]);
    await kit.crashEverywhere(sendAll, { to: ["bob", "ada"] }, (outcome) => {
      expect(outcome).toMatchObject({ status: "failed", errorKind: "children_failed" });
      expect(outcome.children).toMatchObject([{ status: "failed" }, { status: "cancelled" }]);
    });
  });
});

describe("aggregate", () => {
  const draw = defineTask({
    name: "draw",
    input: z.strictObject({ name: z.string(), bytes: z.int() }),
    handler: ({ name, bytes }) => file(new Uint8Array(bytes).fill(7), { contentType: "image/png", fileName: name }),
  });

  test("gets the parent's input as its handler does, also a large one", async () => {
    const parent = defineTask({
      name: "album",
      input: z.strictObject({ title: z.string().transform((text) => text.length), text: z.string() }),
      children: {},
      handler: async (_, task) => void (await task.spawn(draw, { name: "a.png", bytes: 1 })),
      aggregate: ({ input }) => {
        expectTypeOf(input).toEqualTypeOf<{ title: number; text: string }>();
        return { title: input.title, length: input.text.length };
      },
    });
    for (const length of [10, 200_000]) {
      const outcome = await testKit([parent, draw]).run(parent, { title: "cats", text: "x".repeat(length) });
      expectTypeOf(outcome.result).toEqualTypeOf<{ title: number; length: number } | undefined>();
      expect(outcome).toMatchObject({ status: "completed", result: { title: 4, length } });
    }
  });

  test("gets the input of a parent without children", async () => {
    const parent = defineTask({
      name: "album",
      input: z.strictObject({ title: z.string() }),
      children: {},
      handler: () => {},
      aggregate: ({ input, total }) => ({ title: input.title, total }),
    });
    const { result } = await testKit([parent]).run(parent, { title: "none" });
    expect(result).toEqual({ title: "none", total: 0 });
  });

  test("reads the files of children, small and large ones, with their names and types", async () => {
    const parent = defineTask({
      name: "album",
      input: z.strictObject({}),
      children: {},
      handler: async (_, task) => {
        await task.spawnAll(draw, [
          { name: "small.png", bytes: 3 },
          { name: "large.png", bytes: 900_000 },
        ]);
      },
      aggregate: async ({ results }) => {
        const files: unknown[] = [];
        for await (const { result, file: found } of results()) {
          if (found === undefined) throw new Error("no file");
          expect(result).toEqual({ file: found });
          const { contentType, bytes, fileName } = found;
          let streamed = 0;
          for await (const chunk of found.stream()) streamed += chunk.length;
          const whole = await found.read();
          files.push({ contentType, bytes, fileName, streamed, read: whole.length, last: whole.at(-1) });
        }
        return files;
      },
    });
    const { result } = await testKit([parent, draw]).run(parent, {});
    const of = (fileName: string, bytes: number) => ({
      ...{ contentType: "image/png", fileName, bytes, streamed: bytes, read: bytes, last: 7 },
    });
    expect(result).toEqual([of("small.png", 3), of("large.png", 900_000)]);
  });

  test("the lines of a sensitive parent have no text of its input, also of a large one", async () => {
    const parent = defineTask({
      name: "album",
      input: z.strictObject({ title: z.string(), text: z.string() }),
      sensitive: true,
      children: {},
      handler: async (_, task) => void (await task.spawn(draw, { name: "a.png", bytes: 1 })),
      aggregate: ({ input }, task) => void task.log.info(`the title is ${input.title}`),
    });
    const { log } = await testKit([parent, draw]).run(parent, { title: "secret-cats", text: "x".repeat(200_000) });
    expect(log.map(({ message }) => message)).toEqual([expect.not.stringContaining("secret-cats")]);
  });

  test("an input that its schema refuses since then is no fault of an aggregation that does not read it", async () => {
    let refuses = false;
    const typeOf = (reads: boolean) =>
      defineTask({
        name: "album",
        input: z.strictObject({ title: z.string().refine(() => !refuses, "no more") }),
        maxAttempts: 1,
        children: {},
        handler: async (_, task) => {
          await task.spawn(draw, { name: "a.png", bytes: 1 });
          refuses = true;
        },
        aggregate: (children) => (reads ? children.input.title : children.total),
      });
    for (const [reads, end] of [
      [false, { status: "completed", result: 1 }],
      [true, { status: "failed", errorKind: "validation" }],
    ] as const) {
      refuses = false;
      const parent = typeOf(reads);
      expect(await testKit([parent, draw]).run(parent, { title: "cats" })).toMatchObject(end);
    }
  });
});
