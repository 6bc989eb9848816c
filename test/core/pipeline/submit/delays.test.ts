import { describe, expect, test } from "vitest";
import { cancel } from "../../../../src/core/control/control.ts";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import { isKept, iso, statusAt } from "../../../../src/core/model/record.ts";
import { oneOffName } from "../../../../src/core/pipeline/send/dispatch.ts";
import { fireTask } from "../../../../src/core/schedules/fire-task.ts";
import { memoryPipeline } from "../../../support/memory-pipeline.ts";

const day = 86_400;

describe("a long delay", () => {
  test.each([16 * 60, 40 * day, 365 * day])(
    "a long delay of %i s waits in a one-off that fires a minute early",
    async (seconds) => {
      const { accept, oneOffs, clock } = memoryPipeline();
      const record = await accept({ delay_seconds: seconds });
      expect(statusAt(record, iso(clock.now()))).toBe("scheduled");
      const { tenant_id, task_id } = record;
      const dueAt = clock.now() + seconds * 1000;
      expect([...oneOffs.all()]).toEqual([
        [oneOffName(task_id, 0, dueAt), { at: iso(dueAt - 60_000), payload: { kind: "task", tenant_id, task_id } }],
      ]);
    },
  );

  test("cancelling a long delay deletes its one-off", async () => {
    const { accept, oneOffs, ports } = memoryPipeline();
    expect(await cancel(ports, await accept({ delay_seconds: 40 * day }))).toMatchObject({ status: "cancelled" });
    expect(oneOffs.all().size).toBe(0);
  });
});

/** A pipeline whose scheduler is down: before it has made the one-off, or after. */
function withoutScheduler(made: boolean) {
  const pipeline = memoryPipeline();
  const { create } = pipeline.oneOffs;
  let down = true;
  pipeline.oneOffs.create = async (oneOff) => {
    if (!down || made) await create.call(pipeline.oneOffs, oneOff);
    if (down) throw new PortUnavailable("the scheduler");
  };
  const up = () => {
    down = false;
  };
  return { ...pipeline, up };
}

describe.each([
  ["throttled", false],
  ["not answering, though it made the one-off", true],
])("a long delay while the scheduler is %s", (_, made) => {
  test("the delay is refused with 503, and no task of it is ever seen or run", async () => {
    const { accept, records, clock, fire, queues, up } = withoutScheduler(made);
    await expect(accept({ delay_seconds: 3600 })).rejects.toMatchObject({
      code: "unavailable",
      options: { retryAfterSeconds: 5 },
    });
    expect(records.all().filter((record) => isKept(record, clock.now()))).toEqual([]);
    up();
    await clock.advance(3_600_000);
    expect(await fire()).toEqual(made ? ["skipped"] : []);
    expect(queues.waiting("normal")).toEqual([]);
  });

  test("a repeat with the same idempotency key completes the submit", async () => {
    const { accept, records, clock, fire, drain, up } = withoutScheduler(made);
    const call = { idempotencyKey: "k" };
    await expect(accept({ delay_seconds: 3600 }, call)).rejects.toMatchObject({ code: "unavailable" });
    up();
    const due = clock.now() + 3_600_000;
    await clock.advance(1000);
    const record = await accept({ delay_seconds: 3600 }, call);
    expect(record.due_at).toBe(iso(due));
    await drain();
    expect(await fire()).toEqual([]);
    expect(records.all()).toMatchObject([{ status: "completed", attempts_total: 1, started_at: iso(due) }]);
  });
});

test("a firing of a task that was cancelled in between starts nothing", async () => {
  const { accept, ports, queues, clock } = memoryPipeline();
  const record = await accept({ delay_seconds: 3600 });
  const { tenant_id, task_id } = record;
  await cancel(ports, record);
  await clock.advance(3_540_000);
  expect(await fireTask(ports, { kind: "task", tenant_id, task_id })).toBe("skipped");
  expect(queues.waiting("normal")).toEqual([]);
});
