import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { changePriority } from "../../../src/core/control/change-waiting.ts";
import { retry } from "../../../src/core/control/control.ts";
import { listDeadLetters } from "../../../src/core/control/find-dead-letters.ts";
import { checkGiven } from "../../../src/core/control/given-input.ts";
import { PermanentError, PortUnavailable } from "../../../src/core/model/errors.ts";
import type { TaskType } from "../../../src/core/task/task.ts";
import { pipelineWith } from "../../support/memory-pipeline.ts";
import { operations } from "../../support/parts/operations.ts";
import { newRecord } from "../../support/records.ts";
import { typeOf } from "../../support/task-types.ts";

const memoryPipeline = pipelineWith(operations);

/** A task that failed with the input `{ n: 1 }`. Later inputs up to `failsTo` fail, too. */
async function failed({ failsTo = 1, more = {} as Partial<TaskType>, body = {} } = {}) {
  const ran: unknown[] = [];
  const handler: TaskType["handler"] = (input: { n: number }) => {
    ran.push(input.n);
    if (input.n <= failsTo) throw new PermanentError("closed");
    return input;
  };
  const pipeline = memoryPipeline([typeOf(handler, { input: z.object({ n: z.number() }).loose(), ...more })]);
  const accepted = await pipeline.accept({ input: { n: 1 }, ...body });
  await pipeline.drain();
  const record = await pipeline.recordOf(accepted);
  const deadLetters = () => listDeadLetters(pipeline.ports, "acme", {}, { limit: 10, from: undefined });
  return { ...pipeline, record, ran, deadLetters };
}

const given = (n: number, version = 1) => ({ input: { n }, version });

describe("a retry with an input", () => {
  test("the next round runs with it", async () => {
    const { ports, record, ran, drain, recordOf } = await failed();
    expect(await retry(ports, record, given(2))).toMatchObject({ status: "pending", round: 2 });
    await drain();
    expect(ran).toEqual([1, 2]);
    expect(await recordOf(record)).toMatchObject({ status: "completed", result: { n: 2 } });
  });

  test("a later failure leaves a dead letter with it, and later rounds run with it", async () => {
    const { ports, record, ran, drain, recordOf, deadLetters, queues, clock } = await failed({ failsTo: 2 });
    await clock.advance(1);
    await retry(ports, record, given(2));
    await drain();
    expect((await deadLetters()).items).toMatchObject([{ input: { n: 2 } }]);
    const messages = queues.deadLettersOf("normal").map(({ body }) => JSON.parse(body).original_message.input);
    expect(messages).toEqual([{ n: 2 }]);
    await retry(ports, await recordOf(record));
    await drain();
    expect(ran).toEqual([1, 2, 2]);
  });

  test("an input given once more replaces it", async () => {
    const { ports, record, ran, drain, recordOf } = await failed({ failsTo: 2 });
    await retry(ports, record, given(2));
    await drain();
    await retry(ports, await recordOf(record), given(3));
    await drain();
    expect(ran).toEqual([1, 2, 3]);
  });

  test("of two at once one starts the round, and only its input runs, whatever message comes first", async () => {
    for (const order of [
      [given(2), given(3)],
      [given(3), given(2)],
    ]) {
      const { ports, record, ran, drain, recordOf } = await failed();
      const ends = await Promise.allSettled(order.map((one) => retry(ports, record, one)));
      expect(ends.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      const winner = order[ends.findIndex(({ status }) => status === "fulfilled")]?.input.n;
      await drain();
      expect(ran).toEqual([1, winner]);
      expect(await recordOf(record)).toMatchObject({ status: "completed", result: { n: winner } });
    }
  });

  test("one that loses against a retry without an input leaves nothing of its own", async () => {
    const { ports, record, records, ran, drain } = await failed();
    const change = records.change.bind(records);
    vi.spyOn(records, "change").mockImplementationOnce(async (...call) => {
      await retry(ports, record);
      return change(...call);
    });
    await expect(retry(ports, record, given(2))).rejects.toMatchObject({ code: "conflict" });
    await drain();
    expect(ran).toEqual([1, 1]);
  });

  test("one without an input that loses against one with an input does not bring the old one back", async () => {
    const { ports, record, records, ran, drain } = await failed();
    const change = records.change.bind(records);
    vi.spyOn(records, "change").mockImplementationOnce(async (...call) => {
      await retry(ports, record, given(2));
      return change(...call);
    });
    await expect(retry(ports, record)).rejects.toMatchObject({ code: "conflict" });
    await drain();
    expect(ran).toEqual([1, 2]);
  });

  test.each(["before", "after"] as const)("a death just %s the change loses nothing", async (when) => {
    const { ports, record, records, drain, ran } = await failed();
    const change = records.change.bind(records);
    vi.spyOn(records, "change").mockImplementationOnce(async (...call) => {
      if (when === "after") await change(...call);
      throw new PortUnavailable("the table");
    });
    await expect(retry(ports, record, given(2))).rejects.toThrow(PortUnavailable);
    await drain();
    expect(ran).toEqual(when === "after" ? [1, 2] : [1]);
  });

  test("a change whose answer was lost counts as made", async () => {
    const { ports, record, records, drain, ran } = await failed();
    const change = records.change.bind(records);
    vi.spyOn(records, "change").mockImplementationOnce(async (...call) => {
      await change(...call);
      return change(...call);
    });
    expect(await retry(ports, record, given(2))).toMatchObject({ status: "pending", round: 2 });
    await drain();
    expect(ran).toEqual([1, 2]);
  });

  test("a repeat is a conflict, and changes nothing", async () => {
    const { ports, record, drain, ran, recordOf } = await failed();
    await retry(ports, record, given(2));
    await expect(retry(ports, await recordOf(record), given(3))).rejects.toMatchObject({ code: "conflict" });
    await drain();
    expect(ran).toEqual([1, 2]);
  });

  test("a task that is moved to another tier keeps it", async () => {
    const { ports, record, drain, ran } = await failed();
    const retried = await retry(ports, record, given(2));
    await changePriority(ports, retried, "low");
    await drain();
    expect(ran).toEqual([1, 2]);
  });

  test("the input has its version, and a later one without a version takes that away", async () => {
    const { ports, record, recordOf } = await failed();
    const first = await retry(ports, record, given(2, 3));
    expect(first.input_version).toBe(3);
    const failedAgain = { status: "failed" } as const;
    await ports.records.change(record, { when: {}, set: failedAgain });
    expect(await retry(ports, await recordOf(record), given(2))).not.toHaveProperty("input_version");
  });

  test("a large input goes to the bucket", async () => {
    const { ports, record, drain, recordOf, deadLetters } = await failed();
    const text = "x".repeat(100_000);
    await retry(ports, record, { input: { n: 2, text }, version: 1 });
    await drain();
    expect(await recordOf(record)).toMatchObject({ status: "completed" });
    expect((await deadLetters()).items).toEqual([]);
    await expect(
      retry(ports, { ...record, round: 2 }, { input: { n: 2, text: "x".repeat(1_100_000) }, version: 1 }),
    ).rejects.toMatchObject({ code: "too_large" });
  });

  test("a task with entries, a state or children keeps its input", async () => {
    const { ports, record, recordOf, ran, drain } = await failed();
    const refused = { code: "conflict", detail: expect.stringContaining("earlier input") };
    await expect(retry(ports, { ...record, checkpointed: true }, given(2))).rejects.toMatchObject(refused);
    await expect(retry(ports, { ...record, family_total: 3 }, given(2))).rejects.toMatchObject(refused);
    await ports.steps.add(record, { kind: "step", name: "pay", value: "1" }, record.purge_at);
    await expect(retry(ports, record, given(2))).rejects.toMatchObject(refused);
    expect(await recordOf(record)).toMatchObject({ status: "failed", round: 1 });
    await retry(ports, record);
    await drain();
    expect(ran).toEqual([1, 1]);
  });
});

describe("the check of a given input", () => {
  test("the input must fit the type's schema", async () => {
    const { ports, record } = await failed();
    expect(await checkGiven(ports.types, record, { n: 2 })).toEqual(given(2));
    await expect(checkGiven(ports.types, record, { n: "2" })).rejects.toMatchObject({
      code: "invalid_input",
      options: { errors: [{ path: "/input/n" }] },
    });
  });

  test("a type that the deployment no longer has is refused", async () => {
    const { ports } = await failed();
    await expect(checkGiven(ports.types, newRecord({ type: "gone.type" }), {})).rejects.toMatchObject({
      code: "unknown_task_type",
    });
  });

  test("an operation keeps its input", async () => {
    const { ports } = await failed();
    await expect(checkGiven(ports.types, newRecord({ type: "offload.retry" }), {})).rejects.toMatchObject({
      code: "conflict",
    });
  });
});
