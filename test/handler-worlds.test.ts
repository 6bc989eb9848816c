import { describe, expect, test } from "vitest";
import * as z from "zod";
import { BusinessRuleViolation, PermanentError, RetryAfter, Unavailable } from "../src/core/model/errors.ts";
import type { TaskContext } from "../src/core/task/context.ts";
import { file, withOutcome } from "../src/core/task/result.ts";
import { defineTask, type FilesOption, type TaskOptions, type TaskType } from "../src/core/task/task.ts";
import {
  type HandlerWorld,
  httpWorld,
  kitWorld,
  type Refused,
  type Seen,
  type Sent,
} from "./support/handler-worlds.ts";

/*
 * A handler sees the same in the test kit as in a deployment: this suite runs in both, and what it shows is the same.
 */

const worlds = [
  ["the test kit", kitWorld],
  ["workers behind the API", httpWorld],
] as const;

type Options = Partial<Omit<TaskOptions<z.ZodType, unknown>, "handler" | "name" | "files">> & { files?: FilesOption };

/** A type whose handler a test gives. */
const typeOf = (handler: (input: never, task: TaskContext) => unknown, options: Options = {}, name = "test.task") =>
  defineTask({ name, input: z.any(), timeoutSeconds: 10, ...options, handler } as never) as unknown as TaskType;

/** Runs one task in a world of its own. */
const runOne = (open: (types: readonly TaskType[]) => HandlerWorld, type: TaskType, sent: Partial<Sent> = {}) =>
  open([type]).run({ type: type.name, input: null, ...sent });

const seen = (found: Seen | Refused): Seen =>
  "refused" in found ? expect.fail(`it was refused: ${found.refused}`) : found;

describe.each(worlds)("in %s", (_, open) => {
  describe("a handler gets", () => {
    test.each<[unknown, unknown]>([
      [{ a: 1, b: undefined }, { a: 1 }],
      [{ at: new Date("2027-01-01T00:00:00Z") }, { at: "2027-01-01T00:00:00.000Z" }],
      [
        [Number.NaN, undefined],
        [null, null],
      ],
      ["ä 😀", "ä 😀"],
      [{ deep: { __proto__: null, list: [[[]]] } }, { deep: { list: [[[]]] } }],
      [{ toJSON: () => 7 }, 7],
    ])("the input %j as JSON has it", async (input, got) => {
      const type = typeOf((given) => ({ given }));
      expect(await runOne(open, type, { input })).toMatchObject({ status: "completed", result: { given: got } });
    });

    test("the members of its context, and no others", async () => {
      const type = typeOf((_, task) => Object.keys(task).sort());
      const { result } = seen(await runOne(open, type));
      expect(result).toEqual(
        [
          ...["attempt", "attemptOverall", "checkpoint", "continueLater", "correlationId", "deleteSchedule", "files"],
          ...["isLastAttempt", "log", "maxAttempts", "nextSignal", "now", "once", "progress", "putSchedule"],
          ...["remainingMs", "requestedBy", "run", "signal", "signalUrl", "sleep", "sleepUntil", "spawn", "spawnAll"],
          ...["state", "step", "submit", "taskId", "tenantId", "traceHeaders", "traceparent", "type", "waitFor"],
          "waitForAny",
        ].sort(),
      );
    });

    test("the number of its attempt, the time that is left, and an open signal", async () => {
      const type = typeOf((_, task) => {
        if (task.attempt < 2) throw new Error("not yet");
        return [task.attempt, task.attemptOverall, task.type, task.remainingMs(), task.signal.aborted];
      });
      expect(seen(await runOne(open, type)).result).toEqual([2, 2, "test.task", 10_000, false]);
    });

    test("a file with its name, media type and bytes", async () => {
      const type = typeOf(
        async (_, { files: { text } }) => [
          ...[text?.fileName, text?.contentType, text?.sizeBytes],
          new TextDecoder().decode(await text?.bytes()),
        ],
        { files: { text: { contentTypes: ["text/*"] } } },
      );
      const sent = (name: string, media?: string) =>
        runOne(open, type, { input: null, files: { text: new File(["hello"], name, media ? { type: media } : {}) } });
      expect(seen(await sent("a b.txt", "text/plain")).result).toEqual(["a b.txt", "text/plain", 5, "hello"]);
      expect(seen(await sent("ä (1).csv", "text/csv")).result).toEqual(["ä (1).csv", "text/csv", 5, "hello"]);
      expect(await sent("a.bin")).toEqual({ refused: "invalid_input" });
      expect(await sent("x".repeat(256), "text/plain")).toEqual({ refused: "invalid_input" });
      expect(await sent("a\u0007b.txt", "text/plain")).toEqual({ refused: "invalid_input" });
    });
  });

  describe("a submit is refused", () => {
    const strict = typeOf((input) => input, { input: z.strictObject({ n: z.int().min(1) }) });

    test.each([[{ n: 0 }], [{ n: "1" }], [{ n: 1, more: 1 }], [{}], [null]])("with the input %j", async (input) => {
      expect(await runOne(open, strict, { input })).toEqual({ refused: "invalid_input" });
    });

    test("with a file that its type does not take, or without one that it needs", async () => {
      const type = typeOf(() => 1, { files: { text: { contentTypes: ["text/plain"], maxBytes: 3 } } });
      const text = (content: string, media = "text/plain") => new File([content], "a.txt", { type: media });
      expect(await runOne(open, type, { files: { text: text("abc") } })).toMatchObject({ status: "completed" });
      expect(await runOne(open, type, { files: { text: text("abcd") } })).toEqual({ refused: "invalid_input" });
      expect(await runOne(open, type, { files: { text: text("a", "image/png") } })).toEqual({
        refused: "invalid_input",
      });
      expect(await runOne(open, type, { files: { text: text("a"), other: text("a") } })).toEqual({
        refused: "invalid_input",
      });
      expect(await runOne(open, type)).toEqual({ refused: "invalid_input" });
    });

    test.each([0, 21, 1.5])("with %d attempts", async (maxAttempts) => {
      expect(await runOne(open, strict, { input: { n: 1 }, maxAttempts })).toEqual({ refused: "invalid_input" });
    });
  });

  describe("a result", () => {
    test.each<[string, unknown, unknown]>([
      ["nothing", undefined, null],
      ["a Date", new Date("2027-01-01T00:00:00Z"), "2027-01-01T00:00:00.000Z"],
      ["NaN", [Number.NaN], [null]],
      ["members without a value", { a: undefined, b: 1 }, { b: 1 }],
      ["a text", "text", "text"],
    ])("of %s is its JSON", async (_name, value, result) => {
      expect(
        seen(
          await runOne(
            open,
            typeOf(() => value),
          ),
        ),
      ).toMatchObject({ status: "completed", result });
    });

    test.each<[string, unknown]>([
      ["a Map", new Map([["a", 1]])],
      ["a promise within", { total: Promise.resolve(1) }],
      ["a bigint", { n: 1n }],
    ])("of %s fails the task", async (_name, value) => {
      expect(
        seen(
          await runOne(
            open,
            typeOf(() => value),
          ),
        ),
      ).toMatchObject({
        ...{ status: "failed", errorKind: "permanent", attempts: [{ outcome: "failed" }] },
      });
    });

    test("of a file has its name, media type and bytes", async () => {
      const type = typeOf(() =>
        file(new TextEncoder().encode("1;2"), { contentType: "text/csv; charset=utf-8", fileName: "ä b.csv" }),
      );
      const result = { text: "1;2", contentType: "text/csv; charset=utf-8", fileName: "ä b.csv" };
      expect(seen(await runOne(open, type)).result).toEqual(result);
    });

    test("with an outcome has both", async () => {
      const type = typeOf(() => withOutcome("BOOKED", { free: 3 }));
      expect(seen(await runOne(open, type))).toMatchObject({ outcome: "BOOKED", result: { free: 3 } });
    });
  });

  describe("an error", () => {
    test.each<[string, () => unknown, Partial<Seen>]>([
      ["PermanentError", () => new PermanentError("gone"), { errorKind: "permanent", errorType: "PermanentError" }],
      ["BusinessRuleViolation", () => new BusinessRuleViolation("no"), { errorKind: "business_rule" }],
      ["a Response of 404", () => new Response("", { status: 404 }), { errorKind: "not_found" }],
      ["a Response of 422", () => new Response("", { status: 422 }), { errorKind: "validation" }],
      ["an error of zod", () => new z.ZodError([]), { errorKind: "validation" }],
    ])("of %s ends the task at once", async (_name, error, expected) => {
      const type = typeOf(() => {
        throw error();
      });
      const found = seen(await runOne(open, type));
      expect(found).toMatchObject({ status: "failed", seconds: 0, ...expected });
      expect(found.attempts).toHaveLength(1);
    });

    test.each<[string, () => unknown, string, number]>([
      ["Error", () => new Error("x"), "transient", 30 + 120],
      ["Unavailable", () => new Unavailable("down"), "unavailable", 60 + 120],
      ["RetryAfter", () => new RetryAfter(77, "later"), "rate_limited", 77 + 120],
      ["a Response of 503", () => new Response("", { status: 503 }), "unavailable", 60 + 120],
      ["a text", () => "a text", "transient", 30 + 120],
    ])("of %s is tried again, after the same waits", async (_name, error, errorKind, atLeast) => {
      const type = typeOf(() => {
        throw error();
      });
      const found = seen(await runOne(open, type, { maxAttempts: 3 }));
      expect(found).toMatchObject({ status: "failed", errorKind });
      expect(found.attempts).toEqual(["retried", "retried", "failed"].map((outcome) => ({ outcome, errorKind })));
      expect(found.seconds).toBeGreaterThanOrEqual(atLeast);
      waits.set(`${errorKind} ${_name}`, [...(waits.get(`${errorKind} ${_name}`) ?? []), found.seconds]);
    });
  });

  describe("time", () => {
    test("a delay, sleeps and retries pass", async () => {
      const type = typeOf(async (_, task) => {
        await task.sleep(86_400);
        if (task.attempt === 1) throw new Error("after the sleep");
        return "done";
      });
      const found = seen(await runOne(open, type, { delaySeconds: 60 }));
      expect(found).toMatchObject({ status: "completed", result: "done", attempts: [{}, {}] });
      expect(found.seconds).toBe(60 + 86_400 + 30);
    });

    test("a sleep until a date ends at it, by the task's clock, and one until a date of the past at once", async () => {
      const type = typeOf(async (_, task) => {
        const { from, until } = await task.step("dates", () => {
          const nowMs = task.now().getTime();
          return { from: new Date(nowMs).toISOString(), until: new Date(nowMs + 86_400_000).toISOString() };
        });
        await task.sleepUntil(until);
        await task.sleepUntil(new Date(from));
        return task.now().getTime() - Date.parse(from);
      });
      expect(seen(await runOne(open, type))).toMatchObject({ status: "completed", result: 86_400_000 });
    });

    test("of several signals the one that came is the answer; without one the wait ends", async () => {
      const type = typeOf(async (_, task) => [
        (await task.waitForAny({ approve: {}, reject: {} }, { timeoutSeconds: 60 })) ?? null,
        (await task.waitForAny({ more: {}, less: {} }, { timeoutSeconds: 60 })) ?? null,
      ]);
      const found = seen(await runOne(open, type, { signals: [{ name: "reject", body: { by: "ada" } }] }));
      expect(found).toMatchObject({
        status: "completed",
        result: [{ name: "reject", body: { by: "ada" } }, null],
        seconds: 60,
      });
    });

    test("a step with attempts of its own waits between them, and the task's attempts do not move", async () => {
      const tries: number[] = [];
      const type = typeOf(async (_, task) => {
        const retry = { baseSeconds: 100, factor: 1, maxSeconds: 100 };
        const charged = await task.step("charge", { maxAttempts: 3, retry }, (_key, { attempt }) => {
          tries.push(attempt);
          if (attempt < 3) throw new Error("not yet");
          return "charged";
        });
        return [charged, task.attempt, task.maxAttempts, task.isLastAttempt];
      });
      const found = seen(await runOne(open, type));
      expect(found).toMatchObject({ status: "completed", result: ["charged", 1, expect.any(Number), false] });
      expect(tries).toEqual([1, 2, 3]);
      expect(found.seconds).toBeGreaterThanOrEqual(100);
    });

    test("a signal that came before its wait is its answer, and a wait without one ends", async () => {
      const type = typeOf(async (_, task) => ({
        paid: (await task.waitFor("paid", { timeoutSeconds: 60 })) ?? null,
        other: (await task.waitFor("other", { timeoutSeconds: 60 })) ?? null,
      }));
      const signals = [{ name: "paid", body: { at: new Date("2027-01-01T00:00:00Z"), by: undefined } }];
      expect(seen(await runOne(open, type, { signals }))).toMatchObject({
        ...{ result: { paid: { at: "2027-01-01T00:00:00.000Z" }, other: null }, seconds: 60 },
      });
    });

    test.each([
      ["a b", 1, "invalid_input"],
      ["", 1, "not_found"],
      ["x".repeat(65), 1, "invalid_input"],
      ["paid", "x".repeat(256 * 1024), "too_large"],
    ])("the signal %s is refused", async (name, body, refused) => {
      const type = typeOf((_, task) => task.sleep(60));
      const found = await runOne(open, type, { signals: [{ name, body }] });
      // A route without a name is none.
      expect(found).toEqual({ refused: name === "" && open === kitWorld ? "invalid_input" : refused });
    });
  });

  describe("what a task keeps", () => {
    test("a step runs once over all attempts, and counts in its task only", async () => {
      const done: string[] = [];
      const type = typeOf(async ({ to }: { to: string }, task) => {
        await task.step("mail", () => done.push(to));
        if (task.attempt === 1) throw new Error("after the mail");
      });
      const world = open([type]);
      for (const to of ["ada", "bob"]) seen(await world.run({ type: type.name, input: { to } }));
      expect(done).toEqual(["ada", "bob"]);
    });

    test("a key of once counts for all tasks of the tenant", async () => {
      const done: string[] = [];
      const type = typeOf(({ to }: { to: string }, task) => task.once("mail", () => done.push(to)));
      const world = open([type]);
      const results = [];
      for (const to of ["ada", "bob"]) results.push(seen(await world.run({ type: type.name, input: { to } })).result);
      expect([done, results]).toEqual([["ada"], [1, 1]]);
    });

    test.each<[string, (task: TaskContext) => unknown]>([
      ["a key of once without a character", (task) => task.once("", () => 1)],
      ["a key of once of 257 characters", (task) => task.once("x".repeat(257), () => 1)],
      ["a key of once that is a number", (task) => task.once(7 as never, () => 1)],
      ["a step without a name", (task) => task.step("", () => 1)],
      ["a step twice", async (task) => [await task.step("a", () => 1), await task.step("a", () => 2)]],
      ["a step of 101 characters", (task) => task.step("x".repeat(101), () => 1)],
      ["a value of once that is too large", (task) => task.once("k", () => "x".repeat(256 * 1024))],
      ["a sleep of less than nothing", (task) => task.sleep(-1)],
      ["a wait with a wrong name", (task) => task.waitFor("a b", { timeoutSeconds: 1 })],
      [
        "a submit with a wrong tier",
        (task) => task.submit({ type: "test.task", input: 1, priority: "urgent" as never }),
      ],
      ["a spawn of a type without children", (task) => task.spawn({ type: "test.task", input: 1 })],
    ])("%s fails the task at once", async (_name, misuse) => {
      const found = seen(
        await runOne(
          open,
          typeOf((_, task) => misuse(task)),
        ),
      );
      expect(found).toMatchObject({ status: "failed", errorKind: "permanent", attempts: [{ outcome: "failed" }] });
      errors.set(_name, [...(errors.get(_name) ?? []), found.error]);
    });

    test("a checkpoint is the state of the next attempt", async () => {
      const type = typeOf(async (_, task) => {
        const at = (task.state as number | undefined) ?? 0;
        await task.checkpoint(at + 1);
        if (at < 2) await task.continueLater();
        return task.state;
      });
      expect(seen(await runOne(open, type))).toMatchObject({ result: 2, attempts: [{ outcome: "completed" }] });
    });
  });

  describe("other tasks", () => {
    const child = typeOf((input) => ({ got: input }), { input: z.any() }, "test.child");

    test("children are joined in their parent, as JSON has their inputs", async () => {
      const parent = typeOf(
        async (_, task) => {
          await task.spawnAll(child as never, [{ n: 1, at: new Date("2027-01-01T00:00:00Z") }, { n: 2 }] as never);
        },
        {
          children: {},
          aggregate: async ({ total, completed, results }) => {
            const got = [];
            for await (const { key, status, result } of results()) got.push([key, status, result]);
            return { total, completed, got };
          },
        },
      );
      const found = seen(await open([parent, child]).run({ type: parent.name, input: null }));
      expect(found.result).toEqual({
        ...{ total: 2, completed: 2 },
        got: [
          ["0", "completed", { got: { n: 1, at: "2027-01-01T00:00:00.000Z" } }],
          ["1", "completed", { got: { n: 2 } }],
        ],
      });
    });

    test("a submitted task runs once, however often its parent is tried", async () => {
      const got: unknown[] = [];
      const other = typeOf((input) => got.push(input), {}, "test.other");
      const type = typeOf(async (_, task) => {
        const ids = [await task.submit({ type: "test.other", input: { at: new Date(0) } })];
        if (task.attempt === 1) throw new Error("after the submit");
        return ids.length;
      });
      expect(seen(await open([type, other]).run({ type: type.name, input: null })).result).toBe(1);
      expect(got).toEqual([{ at: "1970-01-01T00:00:00.000Z" }]);
    });

    test("a submit whose input its type refuses fails the task", async () => {
      const strict = typeOf(() => 1, { input: z.strictObject({ n: z.int() }) }, "test.strict");
      const type = typeOf((_, task) => task.submit({ type: "test.strict", input: { n: "x" } }));
      const found = seen(await open([type, strict]).run({ type: type.name, input: null }));
      expect(found).toMatchObject({ status: "failed", attempts: [{ outcome: "failed" }] });
      errors.set("a submit that is refused", [...(errors.get("a submit that is refused") ?? []), found.error]);
    });
  });

  describe("limits", () => {
    const limited = (options: Options) => {
      const child = typeOf(() => 1, options, "test.limited");
      const parent = typeOf((_, task) => task.spawnAll(child as never, [1, 2, 3, 4] as never), { children: {} });
      return open([parent, child]).run({ type: parent.name, input: null });
    };

    test.each<[Options, number]>([
      [{ concurrency: { limit: 1 } }, 0],
      [{ rateLimit: { limit: 1, perSeconds: 1 } }, 3],
      [{ rateLimit: { limit: 1, perSeconds: 600 } }, 1800],
    ])("of %j pass in the world's own time", async (options, seconds) => {
      const found = seen(await limited(options));
      expect(found).toMatchObject({ status: "completed", result: { total: 4, completed: 4 } });
      expect(found.seconds).toBeGreaterThanOrEqual(seconds);
      expect(found.seconds).toBeLessThanOrEqual(seconds * 1.1 + 1);
    });
  });
});

const waits = new Map<string, number[]>();
const errors = new Map<string, (string | null)[]>();

test("waits are as long, and errors say the same, in both worlds", () => {
  expect(waits.size).toBeGreaterThan(4);
  for (const [name, seconds] of waits) expect([name, new Set(seconds).size, seconds.length]).toEqual([name, 1, 2]);
  expect(errors.size).toBeGreaterThan(10);
  for (const [name, texts] of errors) expect([name, texts[1]]).toEqual([name, texts[0]]);
});
