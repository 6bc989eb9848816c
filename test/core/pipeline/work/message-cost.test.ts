import { describe, expect, test, vi } from "vitest";
import { isTerminal } from "../../../../src/core/model/words.ts";
import { redriveBatch } from "../../../../src/core/pipeline/work/redrive.ts";
import { workBatch } from "../../../../src/core/pipeline/work/work.ts";
import { maxReceiveCount } from "../../../../src/settings/config.ts";
import { memoryPipeline, queueVisibilitySeconds, workerSeconds } from "../../../support/memory-pipeline.ts";
import { typeOf } from "../../../support/task-types.ts";

const slow = typeOf(() => new Promise(() => {}), { name: "slow", timeoutSeconds: 600, maxAttempts: 1 });
const quick = typeOf(() => "done", { name: "quick" });
const failing = typeOf(
  () => {
    throw new Error("no");
  },
  { name: "failing", timeoutSeconds: 10, retry: { waitsSeconds: [30], jitter: "none" } },
);

/**
 * A pipeline with Lambda's event source: it takes what is visible, deletes messages only when their whole batch has ended, and hands
 * messages over to redrive after too many receives.
 */
function busyTier() {
  const pipeline = memoryPipeline([slow, quick, failing]);
  const { clock, queues, ports } = pipeline;
  const receives = new Map<string, number>();
  const poll = () => {
    const deliveries = queues.take("normal", 10, queueVisibilitySeconds);
    if (deliveries.length === 0) return;
    for (const { body } of deliveries) {
      const { task_id } = JSON.parse(body) as { task_id: string };
      receives.set(task_id, (receives.get(task_id) ?? 0) + 1);
    }
    const spent = deliveries.filter(({ receiveCount }) => receiveCount > maxReceiveCount);
    const fresh = deliveries.filter(({ receiveCount }) => receiveCount <= maxReceiveCount);
    const batches = [
      [fresh, workBatch(ports, fresh, clock.now() + workerSeconds * 1000)],
      [spent, redriveBatch(ports, spent)],
    ] as const;
    for (const [batch, working] of batches) {
      void working.then((verdicts) => {
        for (const [index, { receiptHandle }] of batch.entries()) {
          if (verdicts[index] === "done") queues.acknowledge(receiptHandle);
        }
      });
    }
  };
  /** Lets time pass, with a look at the tier each second. */
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      poll();
      await clock.advance(1_000);
    }
  };
  return { ...pipeline, pass, receives };
}

describe("beside tasks of ten minutes", () => {
  test.each([5, 12])("a failing task of %i attempts sends no more messages than alone", async (attempts) => {
    const { accept, queues, pass, recordOf } = busyTier();
    const send = vi.spyOn(queues, "send");
    const record = await accept({ type: "failing", max_attempts: attempts });
    for (let minute = 0; minute < 40; minute++) {
      await accept({ type: "slow" });
      await pass(60);
    }
    const ended = await recordOf(record);
    expect(ended).toMatchObject({ status: "failed", attempts });
    const own = send.mock.calls.filter(([{ envelope }]) => envelope.task_id === record.task_id);
    expect(own).toHaveLength(attempts);
  });

  test("tasks that complete are received once", async () => {
    const { accept, pass, receives, recordOf } = busyTier();
    const records = [];
    await accept({ type: "slow" });
    for (let count = 0; count < 9; count++) records.push(await accept({ type: "quick" }));
    await pass(700);
    for (const record of records) {
      expect(isTerminal((await recordOf(record)).status)).toBe(true);
      expect(receives.get(record.task_id)).toBe(1);
    }
  });
});
