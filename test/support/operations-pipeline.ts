import { z } from "zod";
import { matchByFilter } from "../../src/core/control/find-dead-letters.ts";
import {
  findOperation,
  type OperationAction,
  type OperationStart,
  type OperationView,
  onTasks,
  startOperation,
} from "../../src/core/control/operation.ts";
import { operationTypes } from "../../src/core/control/run-operation.ts";
import { PermanentError } from "../../src/core/model/errors.ts";
import type { TaskRecord } from "../../src/core/model/record.ts";
import type { Tier } from "../../src/core/model/words.ts";
import { registry } from "../../src/core/task/task.ts";
import { MemoryDeliveries } from "../../src/memory/deliveries.ts";
import { MemoryReceivers } from "../../src/memory/receivers.ts";
import { operator } from "./identities.ts";
import { pipelineWith } from "./memory-pipeline.ts";
import type { Part, PipelineOptions } from "./pipeline-ports.ts";
import { typeOf } from "./task-types.ts";

/** A pipeline in memory whose workers also have Offload's own types, and two types of tasks that fail until they are mended. */
export function operationsPipeline(options: PipelineOptions = {}, parts: readonly Part[] = []) {
  const broken = { mended: false, starts: [] as string[] };
  const fails = (name: string) =>
    typeOf(
      (_input, task) => {
        broken.starts.push(task.taskId);
        if (!broken.mended) throw new PermanentError("broken");
        return "mended";
      },
      { name, input: z.object({ n: z.number() }) },
    );
  const types = [fails("order.ship"), fails("mail.send")];
  const pipeline = pipelineWith(...parts)(types, options);
  const { clock, queues, records } = pipeline;
  const ports = {
    ...pipeline.ports,
    deadLetterQueues: queues,
    depths: queues,
    deliveries: new MemoryDeliveries(),
    receivers: new MemoryReceivers(),
  };
  Object.assign(pipeline.ports, { registry: registry([...types, ...operationTypes(ports)]) });

  /** Lets a worker take what waits in a tier, and moves time on until it is done with it. */
  const run = async (tier: Tier = "high"): Promise<void> => {
    let over = false;
    const working = pipeline.work(tier).finally(() => {
      over = true;
    });
    for (let ms = 0; !over; ms = Math.max(0, (clock.nextTimer() ?? clock.now()) - clock.now())) {
      await clock.advance(ms);
      await clock.advance(0);
    }
    await working;
  };

  /**
   * Makes dead letters, one a millisecond, oldest first.
   * @param batch Number of tasks that die together, in any order.
   */
  const deadLetter = async (
    count: number,
    { type = "order.ship", tier = "normal" as Tier, identity = operator, batch = 1 } = {},
  ): Promise<TaskRecord[]> => {
    const accepted: TaskRecord[] = [];
    for (let n = 0; n < count; n++) {
      accepted.push(await pipeline.accept({ type, input: { n }, priority: tier }, { identity }));
      if ((n + 1) % batch === 0 || n + 1 === count) await run(tier);
      await clock.advance(1);
    }
    return Promise.all(accepted.map((record) => pipeline.recordOf(record)));
  };

  /** Accepts an operation on what the filter matches, as the API does. */
  const start = async (
    action: OperationAction,
    filter: Parameters<typeof matchByFilter>[2] = {},
    more: Partial<Omit<OperationStart, "matched"> & { matched: readonly TaskRecord[] }> = {},
  ): Promise<string> => {
    const identity = more.identity ?? operator;
    const matched = more.matched ?? (await matchByFilter(ports, identity.tenantId, filter));
    const common = { action, missed: 0, identity, correlationId: "corr-op" };
    return startOperation(ports, { ...common, ...more, ...onTasks(identity.tenantId, action, matched) });
  };

  const view = async (operationId: string): Promise<OperationView | undefined> =>
    (await findOperation(ports, operator.tenantId, operationId))?.view;

  /** Works on an operation until it has ended, whatever number of attempts that takes. */
  const finish = async (operationId: string): Promise<OperationView | undefined> => {
    for (let tries = 0; tries < 200; tries++) {
      await run();
      const seen = await view(operationId);
      if (seen === undefined || ["completed", "failed", "cancelled"].includes(seen.status)) return seen;
      await clock.advance(1_000);
    }
    return view(operationId);
  };

  /** The task ids in a tier's DLQ. */
  const deadLettered = (tier: Tier = "normal"): string[] =>
    queues.deadLettersOf(tier).map(({ body }) => JSON.parse(body).original_message.task_id);

  const deadLetters = async (filter = {}) => matchByFilter(ports, operator.tenantId, filter);

  return { ...pipeline, records, ports, broken, run, deadLetter, start, view, finish, deadLettered, deadLetters };
}
