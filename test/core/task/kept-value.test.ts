import { describe, expect, test, vi } from "vitest";
import type { TaskContext } from "../../../src/core/task/context.ts";
import { file, withOutcome } from "../../../src/core/task/result.ts";
import type { TaskType } from "../../../src/core/task/task.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { typeOf } from "../../support/task-types.ts";

class Cents {
  #cents = 5;
  get euros() {
    return this.#cents / 100;
  }
}

const circle: Record<string, unknown> = {};
circle.self = circle;

/** Outcomes that cannot be kept, and the sentence about each. */
const refused: readonly [what: string, outcome: () => unknown, sentence: string][] = [
  ["a BigInt", () => ({ n: 5n }), "result.n is a BigInt"],
  ["500 KB", () => "x".repeat(500_000), "of at most 262144"],
  ["a Map", () => ({ a: { b: new Map([[1, 2]]) } }), "result.a.b is a Map"],
  ["a Set", () => [new Set([1])], "result[0] is a Set"],
  ["a Promise", () => ({ total: Promise.resolve(1) }), "result.total is a Promise: await it"],
  ["a Response", () => new Response("{}"), "result is a Response"],
  ["a stream", () => ({ body: new Response("text").body }), "result.body is a stream"],
  ["a circle", () => circle, "result.self contains itself"],
  ["an Error", () => [{ reason: new Error("no") }], "result[0].reason is an Error"],
  ["private fields", () => ({ price: new Cents() }), "result.price is a Cents, of which JSON writes {}"],
  [
    "a nested file",
    () => ({ report: file(new Uint8Array(3), { contentType: "a/b", fileName: "r" }) }),
    "result.report is a file",
  ],
  ["a nested outcome", () => ({ r: withOutcome("DONE", 1) }), "result.r is the value of withOutcome"],
  ["a function", () => () => 1, "it is a function"],
  [
    "a getter that throws",
    () => ({
      get n() {
        throw new Error("hidden");
      },
    }),
    "hidden",
  ],
];

const calls = {
  once: (task: TaskContext, effect: () => unknown) => task.once("charge", effect),
  step: (task: TaskContext, effect: () => unknown) => task.step("charge", effect),
} as const;

/** Runs one task whose handler makes an effect and then fails, so that further attempts follow. */
async function outcomesOf(how: keyof typeof calls, effect: () => unknown, more: Partial<TaskType> = {}) {
  const seen: unknown[] = [];
  const pipeline = memoryPipeline([
    typeOf(
      async (_input, task) => {
        const outcome = await calls[how](task, effect);
        seen.push(outcome);
        throw new Error("again");
      },
      { maxAttempts: 3, ...more },
    ),
  ]);
  const task = await pipeline.accept({ max_attempts: 3 });
  await pipeline.drain();
  return { seen, record: await pipeline.recordOf(task), pipeline, task };
}

describe.each(["once", "step"] as const)("%s", (how) => {
  test.each(refused)(
    "does an effect once whose outcome is %s, and says why it cannot be kept",
    async (_, outcome, sentence) => {
      const effect = vi.fn(outcome);
      const { record } = await outcomesOf(how, effect);
      expect(effect).toHaveBeenCalledOnce();
      expect(record).toMatchObject({ status: "failed", error_kind: "permanent", attempts: 1 });
      expect(record.error).toContain(sentence);
      expect(record.error).toContain("is not done again");
    },
  );

  test("never does it again, in no later attempt and in no later round", async () => {
    const effect = vi.fn(() => ({ n: 5n }));
    const { pipeline, task } = await outcomesOf(how, effect, { retry: { kinds: { permanent: { baseSeconds: 1 } } } });
    expect((await pipeline.recordOf(task)).attempts).toBe(3);
    expect(effect).toHaveBeenCalledOnce();
  });

  test.each<[string, unknown, unknown]>([
    ["a Date", new Date(0), "1970-01-01T00:00:00.000Z"],
    [
      "a class",
      Object.assign(
        new (class Point {
          x = 1;
        })(),
        { y: undefined },
      ),
      { x: 1 },
    ],
    ["undefined", undefined, undefined],
    ["nested", { a: [1, { b: null }] }, { a: [1, { b: null }] }],
    ["262,142 characters", "x".repeat(262_142), "x".repeat(262_142)],
  ])("returns the same value first and later: %s", async (_, outcome, kept) => {
    const { seen } = await outcomesOf(how, () => outcome);
    expect(seen).toEqual([kept, kept, kept]);
  });
});

describe("keys of once", () => {
  test.each([[{ order: 1 }], [5], [undefined], [null], [""], ["x".repeat(257)], [["a"]]])(
    "%j is refused before the effect, for good",
    async (key) => {
      const effect = vi.fn();
      const pipeline = memoryPipeline([typeOf((_input, task) => task.once(key as never, effect))]);
      const task = await pipeline.accept();
      await pipeline.drain();
      expect(effect).not.toHaveBeenCalled();
      expect(await pipeline.recordOf(task)).toMatchObject({
        ...{ status: "failed", attempts: 1, error_kind: "permanent" },
        error: expect.stringContaining("once: the key must have 1 to 256 characters"),
      });
    },
  );
});

describe("calls within a step or an effect", () => {
  test.each<[string, (task: TaskContext) => unknown, string]>([
    ["sleep in a step", (task) => task.step("s", () => task.sleep(5)), 'task.sleep was called within step "s"'],
    [
      "waitFor in a step",
      (task) => task.step("s", () => task.waitFor("go", { timeoutSeconds: 5 })),
      "task.waitFor was called within",
    ],
    [
      "continueLater in a step",
      (task) => task.step("s", () => task.continueLater()),
      "task.continueLater was called within",
    ],
    ["sleep in an effect", (task) => task.once("k", () => task.sleep(5)), 'task.sleep was called within once "k"'],
    [
      "an effect in itself",
      (task) => task.once("k", () => task.once("k", () => 1)),
      'once "k" was called within itself',
    ],
    ["a step without a function", (task) => task.step("s", undefined as never), "expected a function"],
    ["an effect without a function", (task) => task.once("k", 5 as never), "expected a function"],
    [
      "a wait without options",
      (task) => (task.waitFor as (name: string) => unknown)("go"),
      "timeoutSeconds must be a number",
    ],
    ["a submit of nothing", (task) => (task.submit as () => unknown)(), "expected a task type"],
    ["a submit of a BigInt", (task) => task.submit({ type: "x", input: { n: 5n } }), "input.n is a BigInt"],
    [
      "a submit of a promise",
      (task) => task.submit({ type: "x", input: Promise.resolve() }),
      "input is a Promise: await it",
    ],
    [
      "a submit with an option of the API",
      (task) => task.submit({ type: "x", delay_seconds: 5 } as never),
      "delay_seconds is not an option; did you mean delaySeconds?",
    ],
    ["a wrong outcome", () => withOutcome("bad word", 1), "withOutcome: outcome must"],
    ["a wrong media type", () => file("/tmp/x", { contentType: "nonsense", fileName: "x" }), "file: contentType must"],
    [
      "a file of nothing",
      () => file(undefined as never, { contentType: "a/b", fileName: "x" }),
      "file: the source must",
    ],
  ])("%s is refused at once, for good", async (_, call, sentence) => {
    const pipeline = memoryPipeline([typeOf((_input, task) => call(task) as never)]);
    const task = await pipeline.accept();
    await pipeline.drain();
    const record = await pipeline.recordOf(task);
    expect(record).toMatchObject({ status: "failed", attempts: 1, error_kind: "permanent" });
    expect(record.error).toContain(sentence);
  });
});
