import { expect, test } from "vitest";
import { z } from "zod";
import { memoryPipeline, typeOf } from "../../support/memory-pipeline.ts";
import { workerPool } from "../../support/worker-pool.ts";

const input = z.object({ n: z.number() });

test.each([0, 30])(
  "200 starts a second, with more tasks than that, in a tier that is %s s behind",
  async (behind) => {
    const starts: number[] = [];
    const type = typeOf(() => void starts.push(pipeline.clock.now()), {
      input,
      rateLimit: { limit: 200, perSeconds: 1 },
      timeoutSeconds: 30,
    });
    const pipeline = memoryPipeline([type]);
    const { queues, records } = pipeline;
    const put = queues.put.bind(queues);
    queues.put = (tier, body, options = {}) =>
      put(tier, body, { ...options, delaySeconds: (options.delaySeconds ?? 0) + behind });
    const pool = workerPool(pipeline);
    const count = 1_500;
    for (let n = 0; n < count; n++) {
      await pipeline.accept({ input: { n } });
      if (n % 30 === 0) await pool.pass(100, 100);
    }
    await pool.pass((behind + 15) * 1_000, 500);
    expect(starts).toHaveLength(count);
    const at = starts.sort((a, b) => a - b);
    const seconds = ((at.at(-1) ?? 0) - (at[0] ?? 0)) / 1_000;
    // The first check of a line comes after a second.
    expect(count / (seconds - 1)).toBeGreaterThanOrEqual(190);
    for (const [index, time] of at.entries()) expect((at[index + 200] ?? 1e15) - time).toBeGreaterThanOrEqual(999);
    await pool.pass(120_000, 1_000);
    expect(records.all().every(({ status, attempts }) => status === "completed" && attempts === 1)).toBe(true);
  },
  300_000,
);
