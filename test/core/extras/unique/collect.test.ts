import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { cancel } from "../../../../src/core/control/control.ts";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import { submit } from "../../../../src/core/pipeline/submit/submit.ts";
import type { Accepted, SubmitPorts } from "../../../../src/core/pipeline/submit/submit-ports.ts";
import type { KnownType } from "../../../../src/core/task/catalog.ts";
import { defineTask } from "../../../../src/core/task/task.ts";
import { operator, submitter } from "../../../support/identities.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { rescue } from "../../../support/parts/rescue.ts";
import { unique } from "../../../support/parts/unique.ts";

const memoryPipeline = pipelineWith(unique, rescue);

type Options = {
  maxItems?: number;
  waitSeconds?: number;
  handler?: (inputs: number[]) => unknown;
  maxAttempts?: number;
};

/** A pipeline whose type collects numbers, and keeps the lists that its handler got. */
function collecting({ maxItems = 3, waitSeconds = 60, handler, maxAttempts = 5 }: Options = {}) {
  const ran: number[][] = [];
  const type = defineTask({
    name: "sum",
    input: z.int(),
    collect: { maxItems, waitSeconds },
    maxAttempts,
    handler: async (inputs) => {
      ran.push(inputs);
      await handler?.(inputs);
      return inputs.length;
    },
  });
  const pipeline = memoryPipeline([type]);
  const add = (input: unknown, given: object = {}, ports: SubmitPorts = pipeline.ports): Promise<Accepted> => {
    const { idempotencyKey, key = "k", identity = operator, ...rest } = given as Record<string, never>;
    const body = { type: "sum", input, unique: { key, mode: "collect" }, ...(rest as object) };
    return submit(ports, { identity, body, correlationId: "corr", idempotencyKey });
  };
  return { ...pipeline, ran, add };
}

const refused = (code: string) => ({ code });

describe("collect", () => {
  test("inputs gather until the wait is over, and the handler gets them in the order of acceptance", async () => {
    const pipeline = collecting();
    const first = await pipeline.add(1);
    const second = await pipeline.add(2);
    expect(first).toMatchObject({ replayed: false, collected: 1, record: { collects: 3 } });
    expect(second).toMatchObject({ replayed: false, collected: 2, record: { task_id: first.record.task_id } });
    await pipeline.clock.advance(59_000);
    await pipeline.work();
    expect(pipeline.ran).toEqual([]);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([[1, 2]]);
    expect(await pipeline.recordOf(first.record)).toMatchObject({ status: "completed", result: 2 });
  });

  test("a full list starts at once, and the next input begins another task", async () => {
    const pipeline = collecting();
    const all = [];
    for (const input of [1, 2, 3, 4]) all.push(await pipeline.add(input));
    expect(all.map(({ collected }) => collected)).toEqual([1, 2, 3, 1]);
    expect(new Set(all.map(({ record }) => record.task_id)).size).toBe(2);
    await pipeline.work();
    expect(pipeline.ran).toEqual([[1, 2, 3]]);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([[1, 2, 3], [4]]);
  });

  test("an input of a list that has started begins another task", async () => {
    const pipeline = collecting();
    await pipeline.add(1);
    await pipeline.drain();
    expect(await pipeline.add(2)).toMatchObject({ collected: 1 });
    await pipeline.drain();
    expect(pipeline.ran).toEqual([[1], [2]]);
  });

  test("each key, and each submitter, has a list of its own", async () => {
    const pipeline = collecting();
    await pipeline.add(1);
    await pipeline.add(2, { key: "other" });
    await pipeline.add(3, { identity: submitter });
    await pipeline.drain();
    expect(pipeline.ran.toSorted()).toEqual([[1], [2], [3]]);
  });

  test("a repeat with the idempotency key adds nothing, also when the list has ended", async () => {
    const pipeline = collecting();
    await pipeline.add(1);
    const first = await pipeline.add(2, { idempotencyKey: "two" });
    const repeat = await pipeline.add(2, { idempotencyKey: "two" });
    expect(repeat).toMatchObject({ replayed: true, collected: 2, record: { task_id: first.record.task_id } });
    await expect(pipeline.add(3, { idempotencyKey: "two" })).rejects.toMatchObject(refused("idempotency_key_reused"));
    await pipeline.drain();
    expect(await pipeline.add(2, { idempotencyKey: "two" })).toMatchObject({
      replayed: true,
      collected: 2,
      record: { task_id: first.record.task_id, status: "completed" },
    });
    await pipeline.drain();
    expect(pipeline.ran).toEqual([[1, 2]]);
  });

  test("small inputs share pages, and a large one has a page of its own", async () => {
    const pipeline = collecting({ maxItems: 1000 });
    for (let input = 0; input < 700; input++) await pipeline.add(input);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([Array.from({ length: 700 }, (_, input) => input)]);
  });

  test("of a thousand submits at once each is in exactly one list, with its number", async () => {
    const pipeline = collecting({ maxItems: 7, waitSeconds: 0 });
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => pipeline.add(n, n % 2 === 0 ? { idempotencyKey: `key-${n}` } : {})),
    ).catch((error: unknown) => error as Error);
    if (answers instanceof Error) throw answers;
    await pipeline.drain();
    expect(pipeline.ran.flat().toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, n) => n));
    for (const [n, { collected = 0 }] of answers.entries()) {
      expect(pipeline.ran.some((list) => list[collected - 1] === n)).toBe(true);
    }
  });
});

test("submits of a process spread to further lists when the table refuses one as too many, and stay together when it is down", async () => {
  const listsAfter = async (cause: string) => {
    const pipeline = collecting({ maxItems: 1000 });
    for (let input = 0; input < 10; input++) await pipeline.add(input);
    vi.spyOn(pipeline.ports.lists, "add").mockRejectedValueOnce(
      new PortUnavailable("the table", { cause: Object.assign(new Error(cause), { name: cause }) }),
    );
    await expect(pipeline.add(10)).rejects.toMatchObject(refused("unavailable"));
    for (let input = 11; input < 51; input++) await pipeline.add(input);
    await pipeline.drain();
    expect(pipeline.ran.flat()).toHaveLength(50);
    return pipeline.ran.length;
  };
  expect(await listsAfter("ProvisionedThroughputExceededException")).toBe(4);
  expect(await listsAfter("InternalServerError")).toBe(1);
});

describe("the list of a task", () => {
  test("is the same in each attempt", async () => {
    let fails = 2;
    const handler = () => {
      if (fails-- > 0) throw new Error("again");
    };
    const pipeline = collecting({ handler });
    await pipeline.add(1);
    await pipeline.add(2);
    await pipeline.clock.advance(60_000);
    await pipeline.work();
    await pipeline.add(3);
    await pipeline.drain();
    expect(pipeline.ran.slice(0, 1)).toEqual([[1, 2]]);
    expect(pipeline.ran.filter((list) => list.length === 2)).toEqual([
      [1, 2],
      [1, 2],
      [1, 2],
    ]);
    expect(pipeline.ran.flat().filter((one) => one === 3)).toEqual([3]);
  });

  test("is larger than a message", async () => {
    const ran: string[][] = [];
    const type = defineTask({
      name: "texts",
      input: z.string(),
      collect: { maxItems: 10, waitSeconds: 1 },
      handler: (inputs) => void ran.push(inputs),
    });
    const { ports, drain } = memoryPipeline([type]);
    const texts = ["a", "b", "c"].map((letter) => letter.repeat(60_000));
    for (const input of texts) {
      const body = { type: "texts", input, unique: { key: "k", mode: "collect" } };
      await submit(ports, { identity: operator, body, correlationId: "corr" });
    }
    await drain();
    expect(ran).toEqual([texts]);
  });

  test("is lost with a cancel, and the next input begins another task", async () => {
    const pipeline = collecting();
    const { record } = await pipeline.add(1);
    await cancel(pipeline.ports, record);
    await pipeline.add(2);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([[2]]);
  });

  test("of a task that can expire takes no input after it is due", async () => {
    const pipeline = collecting({ waitSeconds: 10 });
    const first = await pipeline.add(1, { expires_in_seconds: 30 });
    await pipeline.clock.advance(10_000);
    const second = await pipeline.add(2, { expires_in_seconds: 30 });
    expect(second.record.task_id).not.toBe(first.record.task_id);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([[1], [2]]);
  });

  test("is refused as a whole when one of its inputs does not fit any more", async () => {
    const type = defineTask({
      name: "even",
      input: z.int().refine((value) => value % 2 === 0, "expected an even number"),
      collect: { maxItems: 2, waitSeconds: 1 },
      handler: () => {},
    });
    const pipeline = memoryPipeline([type]);
    const { drain, recordOf } = pipeline;
    // Submit knows what JSON Schema says of a type.
    const types = new Map([["even", { ...(pipeline.ports.types.get("even") as KnownType), input: z.int() }]]);
    const ports = { ...pipeline.ports, types };
    const body = (input: number) => ({ type: "even", input, unique: { key: "k", mode: "collect" } });
    const call = { identity: operator, correlationId: "corr" };
    await submit(ports, { ...call, body: body(2) });
    const { record } = await submit(ports, { ...call, body: body(3) });
    await drain();
    expect(await recordOf(record)).toMatchObject({
      status: "failed",
      error_kind: "validation",
      error: expect.stringContaining("input.1: expected an even number"),
    });
  });

  test("a task that was not collected has a list of one", async () => {
    const pipeline = collecting();
    await pipeline.accept({ input: 7 });
    await pipeline.drain();
    expect(pipeline.ran).toEqual([[7]]);
  });
});

describe("refusals", () => {
  test.each<[string, object, string]>([
    ["delay_seconds", { delay_seconds: 5 }, "delay_seconds"],
    ["run_at", { run_at: "2027-06-01T00:00:00Z" }, "run_at"],
    ["another mode", { unique: { key: "k", mode: "replace" } }, "unique.mode"],
    ["wait_seconds", { unique: { key: "k", mode: "collect", wait_seconds: 3 } }, "unique.wait_seconds"],
  ])("%s", async (_, more, path) => {
    const { add } = collecting();
    await expect(add(1, more)).rejects.toMatchObject({ code: "invalid_input", message: expect.stringContaining(path) });
  });

  test("a type that does not collect", async () => {
    const { accept } = memoryPipeline();
    await expect(accept({ unique: { key: "k", mode: "collect" } })).rejects.toMatchObject(refused("invalid_input"));
  });

  test("an input that does not fit, which takes no place", async () => {
    const pipeline = collecting();
    await expect(pipeline.add("one")).rejects.toMatchObject(refused("invalid_input"));
    expect(await pipeline.add(1)).toMatchObject({ collected: 1 });
  });
});

/** The methods of the ports that a submit or a worker calls in a list's life. */
const watched = ["records", "queues", "uniqueKeys", "lists", "blobs"] as const;

const methodsOf = (port: object): string[] =>
  Object.getOwnPropertyNames(Object.getPrototypeOf(port)).filter(
    (name) => name !== "constructor" && !["all", "take", "acknowledge", "waiting"].includes(name),
  );

describe("deaths", () => {
  /** Lets call number `at` fail, before or after it has been made, and all calls after it up to the last one. */
  function dying(ports: SubmitPorts, at: number, how: "before" | "after", last = Number.POSITIVE_INFINITY) {
    let calls = 0;
    for (const name of watched) {
      const port = ports[name] as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>;
      for (const method of methodsOf(port)) {
        const real = port[method]?.bind(port) as (...given: unknown[]) => Promise<unknown>;
        vi.spyOn(port, method).mockImplementation(async (...given) => {
          calls += 1;
          if ((calls > at && calls <= last) || (calls === at && how === "before"))
            throw new PortUnavailable("the table");
          const answer = await real(...given);
          if (calls === at) throw new PortUnavailable("the table");
          return answer;
        });
      }
    }
    return { calls: () => calls, revive: () => vi.restoreAllMocks() };
  }

  test.each(["before", "after"] as const)(
    "a keyed submit that dies %s any call is repeated: once in one list",
    async (how) => {
      for (let before = 0; before < 4; before++) {
        for (let at = 1; ; at++) {
          const pipeline = collecting({ maxItems: 3 });
          for (let input = 0; input < before; input++) await pipeline.add(input);
          const { calls, revive } = dying(pipeline.ports, at, how);
          await pipeline.add(99, { idempotencyKey: "99" }).catch(() => {});
          revive();
          if (calls() < at) break;
          await pipeline.add(50);
          const answer = await pipeline.add(99, { idempotencyKey: "99" });
          await pipeline.reconcile(pipeline.clock.now() + 1000);
          await pipeline.drain();
          const lists = pipeline.ran.filter((list) => list.includes(99));
          expect(lists, `${before} before, call ${at}`).toHaveLength(1);
          expect(lists[0]?.[(answer.collected ?? 0) - 1]).toBe(99);
          expect(pipeline.ran.flat().toSorted((a, b) => a - b)).toEqual([
            ...Array.from({ length: before }, (_, input) => input),
            50,
            99,
          ]);
        }
      }
    },
  );

  test("a list whose submit died before it added its input has nothing for the handler", async () => {
    const pipeline = collecting();
    vi.spyOn(pipeline.lists, "add").mockRejectedValueOnce(new PortUnavailable("the table"));
    await expect(pipeline.add(1)).rejects.toMatchObject(refused("unavailable"));
    await pipeline.clock.advance(20 * 86_400_000);
    await pipeline.reconcile(pipeline.clock.now() + 1000);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([]);
    expect(pipeline.records.all()).toMatchObject([{ status: "completed" }]);
  });

  test.each(["before", "after"] as const)("a worker that dies %s any call loses no input", async (how) => {
    for (let at = 1; ; at++) {
      const pipeline = collecting({ maxItems: 30 });
      for (const input of [1, 2, 3]) await pipeline.add(input);
      await pipeline.clock.advance(60_000);
      const { calls, revive } = dying(pipeline.ports, at, how, at);
      await pipeline.work();
      const ended = calls() < at;
      revive();
      await pipeline.drain();
      await pipeline.clock.advance(86_400_000);
      await pipeline.reconcile(pipeline.clock.now() + 1000);
      await pipeline.drain();
      expect(pipeline.ran.length, `call ${at}`).toBeGreaterThan(0);
      for (const list of pipeline.ran) expect(list).toEqual([1, 2, 3]);
      if (ended) break;
    }
  });
});
