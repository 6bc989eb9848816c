import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { DeadLetterMessage } from "../../../../src/core/model/envelope.ts";
import { parseEnvelope } from "../../../../src/core/model/read-envelope.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { children } from "../../../support/parts/children.ts";
import { limits } from "../../../support/parts/limits.ts";
import { unique } from "../../../support/parts/unique.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(children, limits, unique);

interface Order {
  items: number[];
  more?: { deep: { n: number } };
}

const given = { items: [1, 2], more: { deep: { n: 1 } } };

/** Schemas that give a handler the very objects of the input. */
const schemas: readonly [string, z.ZodType][] = [
  ["any", z.object({ items: z.any(), more: z.any() })],
  ["unknown", z.unknown()],
  ["looseObject", z.looseObject({})],
  ["record", z.record(z.string(), z.unknown())],
  ["custom", z.custom<object>((value) => typeof value === "object")],
];

function spoil(input: Order): void {
  input.items.length = 0;
  if (input.more) input.more.deep.n = 99;
}

/** What each attempt and the dead letter of a task get whose handler changes its input and fails. */
async function seenBy(type: Partial<TaskType>, body: Record<string, unknown> = {}) {
  const seen: unknown[] = [];
  const handler = (input: Order) => {
    seen.push(structuredClone(input));
    spoil(input);
    throw new Error("again");
  };
  const pipeline = memoryPipeline([typeOf(handler as never, { maxAttempts: 3, ...type })]);
  const task = await pipeline.accept({ input: given, max_attempts: 3, ...body });
  await pipeline.drain();
  const letters = pipeline.queues.deadLettersOf("normal").map(({ body }) => JSON.parse(body) as DeadLetterMessage);
  const record = await pipeline.recordOf(task);
  return { seen, letters, record, pipeline };
}

describe("what a handler does to its input changes only its own", () => {
  test.each(schemas)("z.%s: each attempt and the dead letter have the submitted input", async (_, input) => {
    const { seen, letters, record } = await seenBy({ input });
    expect(record).toMatchObject({ status: "failed", attempts: 3 });
    expect(seen).toEqual([given, given, given]);
    expect(letters.map((letter) => (letter.original_message as { input: unknown }).input)).toEqual([given]);
  });

  test("a key of a limit may change its input, too", async () => {
    const key = (input: never) => {
      spoil(input);
      return "k";
    };
    const { seen } = await seenBy({
      input: z.any(),
      concurrency: { key, limit: 1 },
      rateLimit: { key, limit: 9, perSeconds: 1 },
    });
    expect(seen).toEqual([given, given, given]);
  });

  test("an input that a later submit gave is not changed either", async () => {
    const unique = { key: "u", mode: "replace" };
    const pipeline = memoryPipeline([
      typeOf(
        ((input: Order) => {
          seen.push(structuredClone(input));
          spoil(input);
          throw new Error("again");
        }) as never,
        { input: z.any(), maxAttempts: 3 },
      ),
    ]);
    const seen: unknown[] = [];
    await pipeline.accept({ input: { items: [0] }, unique, delay_seconds: 5 });
    await pipeline.accept({ input: given, unique });
    await pipeline.drain();
    expect(seen).toEqual(Array.from(seen, () => given));
    expect(seen.length).toBeGreaterThan(1);
  });
});

test("each read of an envelope's input is an object of its own, and a text is not parsed again", () => {
  const envelope = {
    ...{ schema_version: "1.0", message_id: "m", task_id: crypto.randomUUID(), type: "t", tenant_id: "a" },
    ...{ requested_by: "o", correlation_id: "c", enqueued_at: "2027-01-01T00:00:00.000Z", max_attempts: 1 },
  };
  const parsed = parseEnvelope(JSON.stringify({ ...envelope, input: given }));
  if (!parsed.ok) throw new Error(parsed.reason);
  const first = parsed.envelope.input as Order;
  spoil(first);
  expect(parsed.envelope.input).toEqual(given);
  expect(parsed.envelope.input).not.toBe(first);
  expect(JSON.parse(JSON.stringify(parsed.envelope))).toEqual({ ...envelope, input: given });
});

test("a child has the input with which it was spawned or submitted, whatever the handler does to it afterwards", async () => {
  const child = typeOf((input: never) => input, { name: "child", input: z.any() });
  const parent = typeOf(
    async (_input, task) => {
      const input = { n: 0 };
      for (input.n = 1; input.n <= 3; input.n++) await task.spawn({ type: "child", input });
      const inputs = function* () {
        for (input.n = 10; input.n <= 11; input.n++) yield input;
      };
      await task.spawnAll(child as never, inputs());
    },
    {
      name: "parent",
      children: {},
      aggregate: async (children) => {
        const results = [];
        for await (const { result } of children.results()) results.push(result);
        return results;
      },
    },
  );
  const pipeline = memoryPipeline([parent, child]);
  const task = await pipeline.accept();
  await pipeline.drain();
  const record = await pipeline.recordOf(task);
  expect(record.result).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 10 }, { n: 11 }]);
});
