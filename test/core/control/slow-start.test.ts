import { describe, expect, test } from "vitest";
import { changeRate } from "../../../src/core/control/change-operation.ts";
import type { TaskRecord } from "../../../src/core/model/record.ts";
import { operationsPipeline } from "../../support/operations-pipeline.ts";

type Pipeline = ReturnType<typeof operationsPipeline>;

const now = ({ recordOf }: Pipeline, records: readonly TaskRecord[]) => Promise.all(records.map(recordOf));

/** Lets an operation run beside a worker that takes what it starts. */
async function together(pipeline: Pipeline, each: (second: number) => Promise<void> = async () => {}): Promise<void> {
  let over = false;
  const working = pipeline.work("high").finally(() => {
    over = true;
  });
  for (let second = 0; !over && second < 600; second++) {
    await each(second);
    for (let part = 0; part < 4; part++) {
      await pipeline.work("normal");
      await pipeline.clock.advance(250);
    }
  }
  await working;
}

/** Number of tasks that were started in each ten seconds since the first one. */
async function startsOf(pipeline: Pipeline, deadLettered: readonly TaskRecord[]): Promise<number[]> {
  const times = (await now(pipeline, deadLettered)).map(({ due_at }) => Date.parse(due_at)).sort((a, b) => a - b);
  const counts: number[] = [];
  for (const time of times) {
    const at = Math.floor((time - (times[0] ?? 0)) / 10_000);
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return counts;
}

describe("a replay without a rate", () => {
  test("begins with ten tasks a second, and becomes faster while they complete", async () => {
    const pipeline = operationsPipeline();
    const deadLettered = await pipeline.deadLetter(350);
    pipeline.broken.mended = true;
    const operation = await pipeline.start("replay");
    await together(pipeline);
    expect(await pipeline.view(operation)).toMatchObject({ status: "completed", done: 350 });
    const [first = 0, second = 0] = await startsOf(pipeline, deadLettered);
    expect(first).toBeGreaterThanOrEqual(90);
    expect(first).toBeLessThanOrEqual(121);
    expect(second).toBeGreaterThan(first * 1.5);
  });

  test("stays slow while nothing that it started has ended", async () => {
    const pipeline = operationsPipeline();
    const deadLettered = await pipeline.deadLetter(250);
    pipeline.broken.mended = true;
    const operation = await pipeline.start("replay");
    await pipeline.finish(operation);
    for (const count of await startsOf(pipeline, deadLettered)) expect(count).toBeLessThanOrEqual(101);
  });

  test("stops by itself when all that it started fails again, and leaves the rest as it is", async () => {
    const pipeline = operationsPipeline();
    const deadLettered = await pipeline.deadLetter(200);
    const operation = await pipeline.start("replay");
    await together(pipeline);
    const seen = await pipeline.view(operation);
    expect(seen).toMatchObject({ status: "cancelled", stopped: expect.stringContaining("all failed again") });
    expect(seen?.done).toBeLessThan(100);
    const rounds = (await now(pipeline, deadLettered)).map(({ round }) => round);
    expect(rounds.filter((round) => round === 1)).toHaveLength(200 - (seen?.done ?? 0));
    await pipeline.drain();
    const listed = (await pipeline.deadLetters()).map(({ task_id }) => task_id);
    expect(pipeline.deadLettered().toSorted()).toEqual(listed.toSorted());
    expect(listed).toHaveLength(200);
  });

  test("goes on when some of it fails again", async () => {
    const pipeline = operationsPipeline();
    const bad = await pipeline.deadLetter(60, { type: "mail.send" });
    pipeline.broken.mended = true;
    const good = await pipeline.deadLetter(1);
    expect(good).toHaveLength(1);
    pipeline.broken.mended = false;
    await pipeline.deadLetter(1);
    const operation = await pipeline.start("replay");
    let starts = 0;
    await together(pipeline, async () => {
      // Every other second the downstream answers.
      pipeline.broken.mended = starts++ % 2 === 0;
    });
    expect(await pipeline.view(operation)).toMatchObject({ status: "completed", done: bad.length + 1 });
  });
});

test("an operation with a rate stops, too, when all that it started fails again", async () => {
  const pipeline = operationsPipeline();
  await pipeline.deadLetter(60);
  const operation = await pipeline.start("replay", {}, { perSecond: 5 });
  await together(pipeline);
  expect(await pipeline.view(operation)).toMatchObject({ status: "cancelled", matched: 60 });
});

test("the rate of an operation is changed while it runs", async () => {
  const pipeline = operationsPipeline();
  await pipeline.deadLetter(60);
  pipeline.broken.mended = true;
  const operation = await pipeline.start("replay", {}, { perSecond: 1 });
  const record = await pipeline.recordOf({ tenant_id: "acme", task_id: operation });
  const begun = pipeline.clock.now();
  await together(pipeline, async (second) => {
    if (second === 5) await changeRate(pipeline.ports, record, 10);
  });
  expect(await pipeline.view(operation)).toMatchObject({ status: "completed", done: 60 });
  expect(pipeline.clock.now() - begun).toBeLessThan(30_000);
});

test("the rate of an operation that has ended, or starts nothing, cannot be changed", async () => {
  const pipeline = operationsPipeline();
  await pipeline.deadLetter(1);
  const recordOf = (task_id: string) => pipeline.recordOf({ tenant_id: "acme", task_id });
  const discard = await recordOf(await pipeline.start("discard"));
  await expect(changeRate(pipeline.ports, discard, 5)).rejects.toMatchObject({ code: "conflict" });
  const replay = await pipeline.start("replay");
  await pipeline.finish(replay);
  await expect(changeRate(pipeline.ports, await recordOf(replay), 5)).rejects.toMatchObject({ code: "conflict" });
});
