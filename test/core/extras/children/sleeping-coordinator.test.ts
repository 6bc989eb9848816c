import { expect, test } from "vitest";
import * as z from "zod";
import { submitChild } from "../../../../src/core/extras/children/child.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import type { ChildSubmit } from "../../../../src/core/task/handler-submit.ts";
import { defineTask } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { children } from "../../../support/parts/children.ts";
import { operations } from "../../../support/parts/operations.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(children, operations);

/**
 * Children of the family. With `OFFLOAD_TEST_CHILDREN=10000`: 40,307 puts, 10,001 messages and 4 reads without sleeps;
 * 40,440, 10,011 and 1,079 with ten.
 */
const size = Number(process.env.OFFLOAD_TEST_CHILDREN ?? 1_000);

/** Methods whose calls are requests to AWS, by what they cost. A read of several items counts for each of them. */
const requests = {
  puts: {
    records: ["create", "change", "savePart"],
    families: ["end", "seal", "savePage", "notePage", "keep"],
    steps: ["add", "keep", "saveState"],
  },
  messages: { queues: ["send"], oneOffs: ["create"] },
  reads: { records: ["get", "getMany", "loadPart"], families: ["read", "pages"], steps: ["load"] },
} as const;

type Requests = Record<keyof typeof requests, number>;

/** A family whose coordinator sleeps, and the requests that it cost with its children. */
async function costOf(sleeps: number): Promise<Requests> {
  let runs = 0;
  const leaf = defineTask({ name: "leaf", input: z.object({ n: z.number() }), handler: () => void runs++ });
  const coordinate = async (task: TaskContext<never>) => {
    await task.spawnAll(Array.from({ length: size }, (_, n) => ({ type: "leaf", input: { n } })));
    for (let n = 0; n < sleeps; n++) await task.sleep(60);
  };
  const options = { name: "parent", children: {}, timeoutSeconds: 600 };
  const parent = typeOf((_, task) => coordinate(task as TaskContext<never>), options);
  const pipeline = memoryPipeline([parent, leaf]);
  pipeline.ports.submitChild = (task, child, key) => submitChild(pipeline.ports)(task, child as ChildSubmit, key);
  const cost: Requests = { puts: 0, messages: 0, reads: 0 };
  for (const [what, ports] of Object.entries(requests)) {
    for (const [port, methods] of Object.entries(ports)) {
      for (const method of methods) {
        const target = pipeline.ports[port as "records"] as unknown as Record<string, (...given: unknown[]) => unknown>;
        const call = target[method]?.bind(target);
        target[method] = (...given) => {
          const answer = call?.(...given);
          void Promise.resolve(answer).then((got) => {
            cost[what as keyof Requests] += what === "reads" && Array.isArray(got) ? Math.max(1, got.length) : 1;
          });
          return answer;
        };
      }
    }
  }
  const record = await pipeline.accept();
  for (let next = pipeline.nextEvent(); next !== undefined; next = pipeline.nextEvent()) {
    await pipeline.clock.advance(Math.max(0, next - pipeline.clock.now()));
    await pipeline.fire();
    await pipeline.work();
  }
  expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: { completed: size } });
  expect(runs).toBe(size);
  return cost;
}

test("ten sleeps of a coordinator cost at most a tenth of its family's puts, messages and reads", async () => {
  const [without, slept] = [await costOf(0), await costOf(10)];
  for (const what of ["puts", "messages"] as const) expect(slept[what]).toBeLessThanOrEqual(1.02 * without[what]);
  if (process.env.OFFLOAD_TEST_CHILDREN) console.log(size, without, slept);
  const sum = ({ puts, messages, reads }: Requests) => puts + messages + reads;
  expect(sum(slept)).toBeLessThanOrEqual(1.1 * sum(without));
});
