import { expect, test } from "vitest";
import { z } from "zod";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

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

test.each([10, 200])(
  "%s starts a second, while the answers of the line take as long as those of a throttled one",
  async (limit) => {
    const starts: number[] = [];
    const type = typeOf(() => void starts.push(pipeline.clock.now()), {
      input,
      rateLimit: { limit, perSeconds: 1 },
      timeoutSeconds: 30,
    });
    const pipeline = memoryPipeline([type]);
    const { lines, clock, records } = pipeline;
    const acquireToken = lines.acquireToken.bind(lines);
    let asked = 0;
    lines.acquireToken = async (...given) => {
      const taken = await acquireToken(...given);
      const ms = asked++ % 3 === 0 ? 700 : 5;
      await new Promise<void>((resolve) => clock.after(ms, resolve));
      return taken;
    };
    const pool = workerPool(pipeline, { batch: 10 });
    for (let n = 0; n < 3 * limit; n++) {
      await pipeline.accept({ input: { n } });
      if (n % 10 === 0) await pool.pass(Math.ceil(10_000 / limit), 1);
    }
    await pool.pass(60_000, 50);
    expect(starts).toHaveLength(3 * limit);
    const at = starts.sort((a, b) => a - b);
    for (const [index, time] of at.entries()) expect((at[index + limit] ?? 1e15) - time).toBeGreaterThanOrEqual(999);
    expect(records.all().every(({ status }) => status === "completed")).toBe(true);
  },
);

test("a claimed task that its batch has kept beyond its start gives way, if the next start is far away", async () => {
  const starts: { name: string; at: number }[] = [];
  const typeWith = (name: string, limit: number) =>
    typeOf(() => void starts.push({ name, at: pipeline.clock.now() }), {
      name,
      input,
      rateLimit: { limit, perSeconds: 60 },
      timeoutSeconds: 30,
    });
  const pipeline = memoryPipeline([typeWith("prompt", 1), typeWith("slow", 60)]);
  const { lines, clock, records } = pipeline;
  const acquireToken = lines.acquireToken.bind(lines);
  lines.acquireToken = async (line, want) => {
    const taken = await acquireToken(line, want);
    if (line.includes("slow")) await new Promise<void>((resolve) => clock.after(2_000, resolve));
    return taken;
  };
  const began = clock.now();
  for (const type of ["prompt", "slow"]) await pipeline.accept({ type, input: { n: 1 } });
  await workerPool(pipeline, { batch: 10 }).pass(400_000, 500);
  const prompt = starts.filter(({ name }) => name === "prompt");
  expect(prompt).toHaveLength(1);
  expect((prompt[0]?.at ?? 0) - began).toBeGreaterThanOrEqual(60_000);
  expect(records.all().map(({ status, attempts }) => [status, attempts])).toEqual([
    ["completed", 1],
    ["completed", 1],
  ]);
});
