import { expect, test } from "vitest";
import { extend, retry } from "../../../../src/core/control/control.ts";
import { submitChild } from "../../../../src/core/extras/children/child.ts";
import { PermanentError } from "../../../../src/core/model/errors.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import type { ChildSubmit } from "../../../../src/core/task/handler-submit.ts";
import { deletedBefore } from "../../../support/beside.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { children } from "../../../support/parts/children.ts";
import { operations } from "../../../support/parts/operations.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(children, operations);

const daySeconds = 86_400;

test("what is beside a child that starts again in its parent's new round is stored as long as its record", async () => {
  let runs = 0;
  const child = typeOf(
    async (_, task) => {
      await task.step("one", () => 1);
      if (++runs === 1) throw new PermanentError("no");
    },
    { name: "child" },
  );
  const spawns = (_: unknown, task: TaskContext) => (task as TaskContext<never>).spawn({ type: "child", input: 1 });
  const parent = typeOf(spawns, { name: "parent", children: {}, maxAttempts: 1 });
  const pipeline = memoryPipeline([parent, child]);
  const { ports, clock, recordOf, accept, drain, work } = pipeline;
  ports.submitChild = (task, given, key) => submitChild(ports)(task, given as ChildSubmit, key);
  const { tenant_id, task_id } = await accept({ type: "parent" });
  await drain();
  const failed = await recordOf({ tenant_id, task_id });
  const [found] = pipeline.records.all().filter(({ parent_id }) => parent_id === task_id);
  if (found === undefined) throw new Error("there is no child");
  expect([failed.status, found.status]).toEqual(["failed", "failed"]);
  for (const record of [failed, found]) await extend(ports, record, 30 * daySeconds);
  await clock.advance(29 * daySeconds * 1000);
  await retry(ports, await recordOf(failed));
  await work();
  const again = await recordOf(found);
  expect([again.status, again.round]).toEqual(["pending", 2]);
  expect(await deletedBefore(pipeline, again)).toEqual([]);
});
