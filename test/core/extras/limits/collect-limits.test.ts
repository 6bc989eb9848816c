import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { replayOne } from "../../../../src/core/control/act-on-task.ts";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import { submit } from "../../../../src/core/pipeline/submit/submit.ts";
import { defineTask, type TaskOptions } from "../../../../src/core/task/task.ts";
import { operator } from "../../../support/identities.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { rescue } from "../../../support/parts/rescue.ts";
import { unique } from "../../../support/parts/unique.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits, unique, rescue);

const Row = z.object({ shop: z.string(), n: z.int() });
type Rows = z.output<typeof Row>[];
type Limits = Pick<TaskOptions<typeof Row, unknown>, "concurrency" | "rateLimit" | "breaker" | "maxAttempts">;

const key = ({ shop }: { shop: string }) => shop;
const collect = { maxItems: 3, waitSeconds: 10 };

/** A type that collects rows, by shop or else by the key `all`, and works on a list for 20 s. */
function setUp(limits: Limits, { handler = () => {} }: { handler?: (rows: Rows) => void } = {}) {
  const calls: { at: number; rows: string }[] = [];
  const running = new Map<string, number>();
  let most = 0;
  const type = defineTask({
    ...{ name: "rows.store", input: Row, collect, timeoutSeconds: 60 },
    ...limits,
    handler: async (rows: Rows) => {
      const [{ shop = "" } = {}] = rows;
      calls.push({ at: pipeline.clock.now(), rows: rows.map((row) => `${row.shop}${row.n}`).join(" ") });
      running.set(shop, (running.get(shop) ?? 0) + 1);
      most = Math.max(most, running.get(shop) ?? 0);
      await new Promise<void>((resolve) => pipeline.clock.after(20_000, resolve));
      running.set(shop, (running.get(shop) ?? 0) - 1);
      handler(rows);
      return rows.length;
    },
  });
  const pipeline = memoryPipeline([type]);
  const pool = workerPool(pipeline);
  const add = async (shop: string, n: number, uniqueKey = shop) => {
    const body = { type: type.name, input: { shop, n }, unique: { key: uniqueKey, mode: "collect" } };
    return (await submit(pipeline.ports, { identity: operator, body, correlationId: "corr" })).record;
  };
  return { ...pipeline, pool, add, calls, mostAtOnce: () => most };
}

describe("lists of a type with a limit by key", () => {
  test("run in the places of their key, and each input is handled once", async () => {
    const { add, pool, calls, mostAtOnce } = setUp({ concurrency: { key, limit: 1 } });
    for (let n = 1; n <= 9; n++) for (const shop of ["a", "b"]) await add(shop, n);
    await pool.pass(15_000);
    expect(calls.map(({ rows }) => rows).toSorted()).toEqual(["a1 a2 a3", "b1 b2 b3"]);
    await pool.pass(200_000);
    expect(mostAtOnce()).toBe(1);
    expect(calls.map(({ rows }) => rows).toSorted()).toEqual([
      "a1 a2 a3",
      "a4 a5 a6",
      "a7 a8 a9",
      "b1 b2 b3",
      "b4 b5 b6",
      "b7 b8 b9",
    ]);
  });

  test("go on to gather while they wait for a place", async () => {
    const { add, pool, calls } = setUp({ concurrency: { key, limit: 1 } });
    for (let n = 1; n <= 4; n++) await add("a", n);
    await pool.pass(12_000);
    await add("a", 5);
    await pool.pass(60_000);
    expect(calls.map(({ rows }) => rows)).toEqual(["a1 a2 a3", "a4 a5"]);
  });

  test("start at the rate of their key", async () => {
    const { add, pool, calls } = setUp({ rateLimit: { key, limit: 1, perSeconds: 60 } });
    for (let n = 1; n <= 6; n++) for (const shop of ["a", "b"]) await add(shop, n);
    await pool.pass(180_000);
    const startsOf = (shop: string) => calls.filter(({ rows }) => rows.startsWith(shop)).map(({ at }) => at);
    for (const [first = 0, second = 0] of ["a", "b"].map(startsOf))
      expect(second - first).toBeGreaterThanOrEqual(60_000);
    expect(calls).toHaveLength(4);
  });

  test("have a limit by the first input", async () => {
    const { add, pool, calls } = setUp({ concurrency: { key, limit: ({ n }: { n: number }) => n } });
    for (let n = 2; n <= 7; n++) await add("a", n);
    await pool.pass(5_000);
    expect(calls.map(({ rows }) => rows)).toEqual(["a2 a3 a4", "a5 a6 a7"]);
  });

  test("open the breaker of their key", async () => {
    const breaker = { key, failures: 2, coolDownSeconds: 600 };
    const handler = ([row]: Rows) => {
      if (row?.shop === "a") throw new Error("down");
    };
    const { add, pool, calls } = setUp({ breaker, maxAttempts: 1 }, { handler });
    for (const shop of ["a", "b"])
      for (let n = 1; n <= 9; n++) {
        await add(shop, n);
        if (n % 3 === 0) await pool.pass(30_000);
      }
    await pool.pass(60_000);
    expect(calls.map(({ rows }) => rows).toSorted()).toEqual([
      "a1 a2 a3",
      "a4 a5 a6",
      "b1 b2 b3",
      "b4 b5 b6",
      "b7 b8 b9",
    ]);
  });

  test("keep their key through retries, whose messages have the array", async () => {
    let fails = 3;
    const handler = () => {
      if (fails-- > 0) throw new Error("again");
    };
    const { add, pool, calls, mostAtOnce, records } = setUp({ concurrency: { key, limit: 1 } }, { handler });
    for (let n = 1; n <= 6; n++) await add("a", n);
    await pool.pass(3_600_000);
    expect([calls.length, mostAtOnce()]).toEqual([5, 1]);
    expect(records.all().map(({ status }) => status)).toEqual(["completed", "completed"]);
  });

  test("a submit without a list has its input's key", async () => {
    const { accept, pool, calls, mostAtOnce } = setUp({ concurrency: { key, limit: 1 } });
    for (const n of [1, 2]) await accept({ type: "rows.store", input: { shop: "a", n } });
    await pool.pass(60_000);
    expect([calls.map(({ rows }) => rows).toSorted(), mostAtOnce()]).toEqual([["a1", "a2"], 1]);
  });
});

describe("a list whose inputs have two keys", () => {
  const two = "gives the inputs of this list 2 keys";

  test.each<[string, Limits]>([
    ["concurrency", { concurrency: { key, limit: 1 } }],
    ["rateLimit", { rateLimit: { key, limit: 1, perSeconds: 1 } }],
    ["breaker", { breaker: { key, failures: 1, coolDownSeconds: 5 } }],
    ["concurrency", { concurrency: { key, limit: 1, order: "strict" } }],
  ])("of %s is a dead letter with all of them, and no handler gets it", async (option, limits) => {
    const { add, pool, calls, recordOf, records } = setUp(limits);
    const record = await add("a", 1, "all");
    await add("b", 2, "all");
    await pool.pass(60_000);
    const failed = await recordOf(record);
    expect(failed).toMatchObject({
      ...{ status: "failed", error_kind: "permanent", attempts: 1 },
      error: expect.stringContaining(`${option}.key ${two}`),
    });
    expect(await records.loadPart(record, `input#${failed?.input_part}`)).toMatchObject({
      input: [
        { shop: "a", n: 1 },
        { shop: "b", n: 2 },
      ],
    });
    expect(calls).toEqual([]);
  });

  test("is refused by each replay", async () => {
    const { add, pool, calls, recordOf, ports } = setUp({ concurrency: { key, limit: 1 } });
    const record = await add("a", 1, "all");
    await add("b", 2, "all");
    await pool.pass(60_000);
    const { dead_letter_at = "none" } = (await recordOf(record)) ?? record;
    expect(await replayOne(ports, { ...record, dead_letter_at })).toBe("done");
    await pool.pass(60_000);
    expect(await recordOf(record)).toMatchObject({
      ...{ status: "failed", attempts_total: 2 },
      error: expect.stringContaining(two),
    });
    expect(calls).toEqual([]);
  });
});

describe("an empty list, whose submit died", () => {
  test.each<[string, Limits]>([
    ["places", { concurrency: { key, limit: 1 } }],
    ["strict order", { concurrency: { key, limit: 1, order: "strict" } }],
    ["a rate", { rateLimit: { key, limit: 1, perSeconds: 60 } }],
    ["a breaker", { breaker: { key, failures: 1, coolDownSeconds: 60 } }],
  ])("with %s ends without a call of the handler, and takes no input as it starts", async (_, limits) => {
    const { pool, add, calls, lists, records, reconcile: rescue, clock } = setUp(limits);
    vi.spyOn(lists, "add").mockRejectedValueOnce(new PortUnavailable("the table"));
    await expect(add("a", 1)).rejects.toMatchObject({ code: "unavailable" });
    await clock.advance(20 * 86_400_000);
    const page = lists.page.bind(lists);
    let looks = 0;
    vi.spyOn(lists, "page").mockImplementation(async (list, number) => {
      const found = await page(list, number);
      // Another input comes between the last look at the list and its start.
      looks += 1;
      if (looks === 2) await add("a", 2);
      return found;
    });
    await rescue(clock.now() + 1000);
    await pool.pass(60_000);
    vi.restoreAllMocks();
    expect(calls.map(({ rows }) => rows)).toEqual(["a2"]);
    expect(records.all().map(({ status }) => status)).toEqual(["completed", "completed"]);
  });
});
