import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { TaskContext } from "../../../src/core/task/context.ts";
import type { SubmitOptions, Submittable } from "../../../src/core/task/handler-submit.ts";
import { FileResult, file, OutcomeResult, withOutcome } from "../../../src/core/task/result.ts";
import { defineTask, registry, type TaskOptions } from "../../../src/core/task/task.ts";

const input = z.object({ day: z.string() });
const same = (given: unknown) => given;
const define = (more: Partial<TaskOptions<typeof input, unknown>>) =>
  defineTask({ name: "report.daily", input, handler: () => null, ...more });

describe("a definition", () => {
  test("a definition gets the contract's defaults", () => {
    expect(define({})).toMatchObject({
      name: "report.daily",
      description: "",
      version: 1,
      upcast: {},
      output: undefined,
      priority: "normal",
      timeoutSeconds: 60,
      maxAttempts: 5,
      retry: {},
      classify: [],
      cancellable: true,
      sensitive: false,
    });
  });

  test("a definition keeps its options", () => {
    const said = {
      description: "The day's report.",
      version: 3,
      upcast: { 2: (day: string) => ({ day }) },
      output: z.string(),
      priority: "low",
      timeoutSeconds: 840,
      maxAttempts: 20,
      retry: { waitsSeconds: [1] },
      classify: [() => undefined],
      cancellable: false,
      sensitive: true,
    } as const;
    expect(define(said)).toMatchObject(said);
  });

  test.each(["a", "report", "report.daily", "a-b_c.d2", "x".repeat(64)])(
    "a definition may have the name %s",
    (name) => {
      expect(define({ name }).name).toBe(name);
    },
  );

  test.each(["", "Report", "a b", ".a", "a.", "a..b", "ä", "a/b", "x".repeat(65), "a\n"])(
    "a definition cannot have the name %j",
    (name) => {
      expect(() => define({ name })).toThrow(`defineTask(${JSON.stringify(name)}): name must be`);
    },
  );

  test.each([
    [{ timeoutSeconds: 0 }, "timeoutSeconds must be a whole number from 1 to 840, got 0"],
    [{ timeoutSeconds: 841 }, "timeoutSeconds must be a whole number from 1 to 840, got 841"],
    [{ timeoutSeconds: 1.5 }, "timeoutSeconds must be a whole number from 1 to 840, got 1.5"],
    [{ timeoutSeconds: Number.NaN }, "timeoutSeconds must be a whole number from 1 to 840, got NaN"],
    [{ maxAttempts: 0 }, "maxAttempts must be a whole number from 1 to 20, got 0"],
    [{ maxAttempts: 21 }, "maxAttempts must be a whole number from 1 to 20, got 21"],
    [{ version: 0 }, "version must be a whole number from 1 to 1000, got 0"],
    [{ version: 1.5 }, "version must be a whole number from 1 to 1000, got 1.5"],
    [{ upcast: { 1: same } }, "upcast has a step from 1, but only versions before 1 need one"],
    [{ version: 2, upcast: { 0: same, 1: same } }, "upcast has a step from 0, but only versions before 2 need one"],
    [{ version: 4, upcast: { 1: same, 3: same } }, "upcast must have a step from each version from 1 on"],
    [{ version: 3, upcast: { 1: same } }, "upcast must have a step from each version from 1 on"],
    [{ priority: "urgent" as never }, 'priority must be one of critical, high, normal, low, got "urgent"'],
  ])("a definition with %j is refused with the field, the value and the allowed range", (wrong, message) => {
    expect(() => define(wrong)).toThrow(`defineTask("report.daily"): ${message} (task/task.test.ts:`);
  });
});

describe("the types", () => {
  const context = {} as TaskContext;

  test("the handler gets the type of the schema's output", () => {
    const typed = defineTask({
      name: "typed",
      input: z.object({ count: z.number().default(1), at: z.string().transform((text) => new Date(text)) }),
      handler: (parsed, task) => {
        expectTypeOf(parsed).toEqualTypeOf<{ count: number; at: Date }>();
        expectTypeOf(task).toExtend<TaskContext>();
        return parsed;
      },
    });
    const parsed = typed.input.parse({ at: "2027-01-01" });
    expect(typed.handler(parsed as never, context)).toEqual({ count: 1, at: new Date("2027-01-01") });
  });

  test("input and result have the definition's types for a caller", async () => {
    const typed = defineTask({
      name: "typed",
      input: z.object({ count: z.number().default(1) }),
      handler: async ({ count }) => ({ doubled: count * 2 }),
    });
    expectTypeOf(typed.types).toEqualTypeOf<
      { input: { count?: number | undefined }; output: { doubled: number } } | undefined
    >();
    expect(await typed.handler(typed.input.parse({}) as never, context)).toEqual({ doubled: 2 });
  });

  test("a handler that asks for other input does not compile", () => {
    const options = { name: "typed", input: z.object({ count: z.number() }) };
    // @ts-expect-error count is a number
    const wrong = defineTask({ ...options, handler: ({ count }: { count: string }) => count });
    expect(wrong.input.safeParse({ count: "1" })).toMatchObject({ success: false });
  });

  test("steps between versions have the types of their versions", () => {
    defineTask({
      name: "typed",
      input: z.object({ first: z.string() }),
      version: 3,
      upcast: { 1: (name: string) => ({ name }), 2: ({ name }: { name: string }) => ({ first: name }) },
      handler: ({ first }) => first,
    });
    // @ts-expect-error a step is a function
    expect(() => define({ version: 2, upcast: { 1: { day: "1" } } })).toThrow(
      "upcast must have a function as its step from 1",
    );
  });

  test("of a submit are those of the submitted definition", () => {
    const mail = defineTask({
      name: "mail.send",
      input: z.object({ to: z.string(), copies: z.number().default(1) }),
      handler: () => "sent",
    });
    interface MailInput {
      to: string;
      copies?: number | undefined;
    }
    const submit = (task: TaskContext) => task.submit<MailInput>;
    type Submit = ReturnType<typeof submit>;
    expectTypeOf<TaskContext["submit"]>().toBeCallableWith(mail, { to: "ada" });
    expectTypeOf<TaskContext["submit"]>().toBeCallableWith(mail, { to: "ada" }, { priority: "low", key: "k" });
    expectTypeOf<TaskContext["submit"]>().toBeCallableWith({ type: "mail.send", input: 1, delaySeconds: 5 });
    expectTypeOf<Parameters<Submit>[1]>().toEqualTypeOf<MailInput>();
    expectTypeOf<Parameters<Submit>[2]>().toEqualTypeOf<SubmitOptions | undefined>();
    expectTypeOf(mail).toExtend<Submittable<MailInput>>();
    expectTypeOf(mail).not.toExtend<Submittable<{ to: number }>>();
    expectTypeOf({ to: 1 }).not.toExtend<Parameters<Submit>[1]>();
    expect(mail.name).toBe("mail.send");
  });

  test("run takes the input of its type, and returns its result", () => {
    const size = defineTask({
      name: "text.size",
      input: z.object({ text: z.string(), at: z.int().default(0) }),
      handler: ({ text }) => ({ size: text.length }),
    });
    const run = (task: TaskContext) => task.run(size, { text: "a" }, { key: "k", priority: "low", tags: { a: "b" } });
    expectTypeOf(run).returns.resolves.toEqualTypeOf<{ size: number }>();
    const named = (task: TaskContext) => task.run<{ size: number }>({ type: "text.size", input: { text: "a" } });
    expectTypeOf(named).returns.resolves.toEqualTypeOf<{ size: number }>();
    const unknown = (task: TaskContext) => task.run({ type: "text.size", key: "k" });
    expectTypeOf(unknown).returns.resolves.toEqualTypeOf<unknown>();
    // @ts-expect-error text is a text
    const wrong = (task: TaskContext) => task.run(size, { text: 1 });
    // @ts-expect-error: a child of run cannot be unique
    const unique = (task: TaskContext) => task.run(size, { text: "a" }, { unique: { key: "k" } });
    expect([run, named, unknown, wrong, unique]).toHaveLength(5);
  });

  test("of a definition that submits itself need a return type only where it returns what follows from the submit", () => {
    const input = z.object({ left: z.int() });
    const countDown = defineTask({
      name: "count.down",
      input,
      handler: async ({ left }, task) => {
        if (left > 0) await task.submit(countDown, { left: left - 1 });
        return { left };
      },
    });
    const chain = defineTask({
      name: "chain",
      input,
      handler: async ({ left }, task): Promise<{ next: string }> => ({
        next: await task.submit(chain, { left: left - 1 }),
      }),
    });
    expectTypeOf(countDown.types).toEqualTypeOf<{ input: { left: number }; output: { left: number } } | undefined>();
    expectTypeOf(chain.types).toEqualTypeOf<{ input: { left: number }; output: { next: string } } | undefined>();
    expect([countDown.name, chain.name]).toEqual(["count.down", "chain"]);
  });

  test("once returns the type of its effect", async () => {
    const once: TaskContext["once"] = async (key, effect) => effect(key);
    const inOrder = async (task: Pick<TaskContext, "once">) => [
      await task.once("key", () => 7),
      await task.once("key", async () => 8),
    ];
    expectTypeOf(inOrder).returns.resolves.toEqualTypeOf<number[]>();
    expect(await inOrder({ once })).toEqual([7, 8]);
    expectTypeOf<ReturnType<TaskContext["submit"]>>().resolves.toBeString();
  });
});

describe("a registry", () => {
  test("a registry finds types by name", () => {
    const [a, b] = [define({ name: "a" }), define({ name: "b" })];
    const types = registry([a, b]);
    expect([types.get("a"), types.get("b"), types.get("c")]).toEqual([a, b, undefined]);
  });

  test("a registry refuses two types of one name", () => {
    expect(() => registry([define({}), define({})])).toThrow(
      new TypeError("two task types have the name report.daily"),
    );
  });
});

describe("results", () => {
  test("a file keeps bytes, content type and name", () => {
    const bytes = new Uint8Array([1, 2]);
    const result = file(bytes, { contentType: "application/pdf", fileName: "a.pdf" });
    expect(result).toBeInstanceOf(FileResult);
    expect(result).toMatchObject({ bytes, contentType: "application/pdf", fileName: "a.pdf" });
  });

  test("an outcome is kept with its result", () => {
    const result = withOutcome("OVER_CAPACITY_2", { free: 0 });
    expect(result).toBeInstanceOf(OutcomeResult);
    expect(result).toMatchObject({ outcome: "OVER_CAPACITY_2", result: { free: 0 } });
  });

  test.each(["", "created", "A B", "A-B", "X".repeat(65)])("an outcome cannot be %j", (outcome) => {
    expect(() => withOutcome(outcome, null)).toThrow(/outcome must be 1 to 64 of A-Z, 0-9 and _, got "/);
  });
});
