import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { workBatch } from "../../../../src/core/pipeline/work/work.ts";
import { defineTask } from "../../../../src/core/task/task.ts";
import { inRole } from "../../../support/in-role.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";

const memoryPipeline = pipelineWith(limits);

/** Times of AWS's calls, in milliseconds, half of each before its effect; and from a message to its invocation. */
const callMs = { read: 4, write: 6, send: 8, deliver: 15 };

const reading = /^(get|find|first|state|orders|withEnvelopes|list)/;

/** Tasks of strict keys that wait, whose handler does nothing. Returns the tasks that ended in a second, of the last half. */
async function perSecond({ keys, tasks, workers }: { keys: number; tasks: number; workers: number }) {
  const ends: number[] = [];
  const type = defineTask({
    name: "line",
    input: z.int(),
    concurrency: { key: String, limit: 1, order: "strict" },
    handler: () => void ends.push(clock.now()),
  });
  const { clock, ports, accept } = memoryPipeline([type]);
  for (let task = 0; task < keys * tasks; task++) await accept({ input: task % keys });
  const pass = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  const slow = <Port extends object>(port: Port, msOf: (method: string) => number): Port =>
    new Proxy(port, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as unknown;
        if (typeof method !== "function") return method;
        return async (...given: unknown[]) => {
          const ms = msOf(String(name));
          await pass(ms / 2);
          const answer = await Reflect.apply(method, target, given);
          await pass(ms / 2);
          return answer;
        };
      },
    });
  const table = (method: string) => (reading.test(method) ? callMs.read : callMs.write);
  const slowPorts = {
    ...ports,
    records: slow(ports.records, table),
    lines: slow(ports.lines, table),
    queues: slow(ports.queues, () => callMs.send),
  };
  const worker = async () => {
    while (ends.length < keys * tasks) {
      const deliveries = ports.queues.take("normal", 10, 600);
      if (deliveries.length === 0) {
        await pass(1);
        continue;
      }
      await pass(callMs.deliver);
      const verdicts = await workBatch(inRole("worker", slowPorts), deliveries, clock.now() + 600_000);
      for (const [index, { receiptHandle }] of deliveries.entries())
        if (verdicts[index] === "done") ports.queues.acknowledge(receiptHandle);
    }
  };
  const working = Promise.all(Array.from({ length: workers }, worker));
  let ended = false;
  void working.finally(() => {
    ended = true;
  });
  while (!ended) await clock.advance(1);
  await working;
  const half = ends.slice(Math.floor(ends.length / 2));
  const ms = (half.at(-1) ?? 0) - (half[0] ?? 0);
  return ((half.length - 1) * 1000) / ms;
}

/** Figures of the page: tasks a second by the first cell of a row. */
const figures = new Map(
  [...readFileSync("docs/strict-order.md", "utf8").matchAll(/^\| (.+) \| ([\d,]+) \| .+ \|$/gm)].map(
    ([, name = "", count = ""]) => [name, Number(count.replace(",", ""))],
  ),
);

test.each([
  ["one key", { keys: 1, tasks: 100, workers: 100 }],
  ["10,000 keys", { keys: 10_000, tasks: 2, workers: 100 }],
])("the page has what a model of AWS's times gives for %s", { timeout: 1_200_000 }, async (name, load) => {
  const found = await perSecond(load);
  expect(found / (figures.get(name) ?? Number.NaN), `${found}`).toBeCloseTo(1, 1);
});
