import { describe, expect, test } from "vitest";
import { iso } from "../../../../src/core/model/record.ts";
import {
  dispatch,
  longestDelaySeconds,
  oneOffName,
  type Waiting,
} from "../../../../src/core/pipeline/send/dispatch.ts";
import { memoryPipeline } from "../../../support/memory-pipeline.ts";
import { envelopeOf, newRecord } from "../../../support/records.ts";

function setUp() {
  const pipeline = memoryPipeline();
  const record = newRecord();
  const envelope = envelopeOf(record, { secret: 1 });
  const start = pipeline.clock.now();
  const send = (waitMs: number, more: Partial<Waiting> = {}, redrives?: number) =>
    dispatch(
      pipeline.ports,
      { priority: "high", due_at: iso(start + waitMs), attempts_total: 2, purge_at: 99, ...more },
      envelope,
      redrives,
    );
  return { ...pipeline, record, envelope, start, send };
}

describe("work", () => {
  test.each([
    [-5_000, 0],
    [0, 0],
    [1, 1],
    [1_000, 1],
    [1_001, 2],
    [899_001, 900],
    [900_000, 900],
  ])("work due in %i ms waits in SQS for %i s", async (waitMs, delaySeconds) => {
    const { queues, oneOffs, start, envelope, send } = setUp();
    await send(waitMs);
    expect(queues.waiting("high")).toMatchObject([
      { body: JSON.stringify(envelope), visibleAt: start + delaySeconds * 1000 },
    ]);
    expect(oneOffs.all().size).toBe(0);
  });

  test("SQS holds a message back for at most 900 s", () => {
    expect(longestDelaySeconds).toBe(900);
  });

  test("a message carries the solo flag and the number of redrives", async () => {
    const { queues, send } = setUp();
    await send(0, { error_kind: "crashed" }, 2);
    await send(0);
    expect(queues.take("high", 10, 60)).toMatchObject([
      { solo: true, redrives: 2 },
      { solo: false, redrives: 0 },
    ]);
  });

  test.each([900_001, 3_600_000, 86_400_000])(
    "work due in %i ms waits for a one-off a minute before",
    async (waitMs) => {
      const { queues, oneOffs, records, start, record, envelope, send } = setUp();
      await send(waitMs);
      expect(queues.waiting("high")).toEqual([]);
      expect([...oneOffs.all()]).toEqual([
        [
          oneOffName(record.task_id, 2, start + waitMs),
          {
            at: iso(start + waitMs - 60_000),
            payload: { kind: "task", tenant_id: record.tenant_id, task_id: record.task_id },
          },
        ],
      ]);
      expect(await records.loadPart(record, "envelope")).toEqual(envelope);
    },
  );

  test("work dispatched twice has one one-off for later, and a harmless second message for now", async () => {
    const { queues, oneOffs, send } = setUp();
    await send(3_600_000);
    await send(3_600_000);
    expect(oneOffs.all().size).toBe(1);
    await send(0);
    await send(0);
    expect(queues.waiting("high")).toHaveLength(2);
  });

  test("the one-offs of different attempts have different names", () => {
    expect(oneOffName("a", 1, 0)).not.toBe(oneOffName("a", 2, 0));
  });

  test("the one-offs of different times have different names, as an earlier task of that id may have left one", () => {
    expect(oneOffName("a", 1, 0)).not.toBe(oneOffName("a", 1, 1000));
  });

  test("EventBridge Scheduler accepts the names of one-offs", () => {
    const { record } = setUp();
    expect(oneOffName(record.task_id, 400, Date.UTC(2100, 0))).toMatch(/^[0-9a-zA-Z-_.]{1,64}$/);
  });
});
