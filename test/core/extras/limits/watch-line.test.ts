import { expect, test } from "vitest";
import { pause, resume } from "../../../../src/core/extras/limits/manage-flow.ts";
import type { MetricName } from "../../../../src/core/model/metrics.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

const minute = 60_000;

/** A type, its workers, and what the looks at its lines have counted: the time of each count, in minutes since the start. */
function watched(more: Parameters<typeof typeOf>[1], handler: () => unknown) {
  const pipeline = memoryPipeline([typeOf(async () => handler(), more)]);
  const startMs = pipeline.clock.now();
  const counted: { name: MetricName; value: number; atMinute: number }[] = [];
  const { add } = pipeline.metrics;
  pipeline.metrics.add = (name, value, of) => {
    if (["breaker_open", "pause_age_ms", "line_wait_ms"].includes(name)) {
      expect(of.tier).toBe("normal");
      counted.push({ name, value, atMinute: (pipeline.clock.now() - startMs) / minute });
    }
    add.call(pipeline.metrics, name, value, of);
  };
  /** The alarm: in so many periods of five minutes in a row something is above the threshold. Undefined: never. */
  const alarmAt = (wanted: MetricName, threshold: number, periods = 1): number | undefined => {
    const above = new Set(
      counted.flatMap(({ name, value, atMinute }) =>
        name === wanted && value > threshold ? Math.floor(atMinute / 5) : [],
      ),
    );
    const last = [...above].find((period) =>
      Array.from({ length: periods }, (_, back) => period - back).every((one) => above.has(one)),
    );
    return last === undefined ? undefined : (last + 1) * 5;
  };
  return { ...pipeline, pool: workerPool(pipeline), counted, alarmAt };
}

/** Three tasks fail, and thirty wait. */
async function openBreaker({ accept, pool }: ReturnType<typeof watched>): Promise<void> {
  for (let n = 0; n < 3; n++) await accept();
  await pool.pass(5_000);
  for (let n = 0; n < 30; n++) await accept();
  await pool.pass(10_000);
}

test.each([60, 400])("a breaker of %d s that stays open is an alarm within 15 minutes", async (coolDownSeconds) => {
  const failing = watched({ breaker: { failures: 3, coolDownSeconds }, maxAttempts: 1 }, () => {
    throw new Error("down");
  });
  await openBreaker(failing);
  await failing.pool.pass(16 * minute, 10_000);
  expect(failing.alarmAt("breaker_open", 0, 2)).toBeLessThanOrEqual(15);
  expect(failing.alarmAt("line_wait_ms", 0)).toBeUndefined();
});

test("a breaker that closes after its first try is no alarm", async () => {
  let down = true;
  const failing = watched({ breaker: { failures: 3, coolDownSeconds: 60 }, maxAttempts: 1 }, () => {
    if (down) throw new Error("down");
  });
  await openBreaker(failing);
  down = false;
  await failing.pool.pass(20 * minute, 10_000);
  expect(failing.counted).toMatchObject([{ name: "breaker_open", value: 1 }]);
  expect(failing.alarmAt("breaker_open", 0, 2)).toBeUndefined();
});

test("a task that waits for a place for 10 minutes is an alarm within 5 minutes more; the wait counts from the line, not from the submit", async () => {
  const hanging = watched(
    { concurrency: { limit: 1 }, timeoutSeconds: 840, maxAttempts: 1 },
    () => new Promise(() => {}),
  );
  await hanging.accept();
  await hanging.accept({ delay_seconds: 30 });
  await hanging.pool.pass(14 * minute, 10_000);
  expect(hanging.counted.length).toBeGreaterThanOrEqual(2);
  const waits = hanging.counted.map(({ value, atMinute }) => Math.abs(value / minute - (atMinute - 0.5)));
  expect(Math.max(...waits)).toBeLessThan(0.3);
  expect(hanging.alarmAt("line_wait_ms", 10 * minute)).toBeLessThanOrEqual(15);
});

test("a pause for which a task waits is counted with its age every 15 minutes; without a task, and after the resume, nothing is sent", async () => {
  const type = { scope: "type", type: "test.task" } as const;
  const { ports, pool, accept, counted, queues } = watched({}, () => null);
  const paused = pause(ports, type, "olga");
  await pool.pass(3_000);
  await paused;
  await pool.pass(60 * minute, minute);
  expect(counted).toEqual([]);
  await accept();
  await pool.pass(46 * minute, minute);
  expect(counted.map(({ name, atMinute }) => [name, Math.round(atMinute / 5) * 5])).toEqual([
    ["pause_age_ms", 75],
    ["pause_age_ms", 90],
    ["pause_age_ms", 105],
  ]);
  expect(Math.round((counted[2]?.value ?? 0) / minute)).toBeGreaterThan(100);
  const resumed = resume(ports, type, "normal", "olga");
  await pool.pass(3_000);
  await resumed;
  await pool.pass(60 * minute, minute);
  expect(counted).toHaveLength(3);
  expect(queues.waiting("normal")).toEqual([]);
});
