import type { Construct } from "constructs";
import type { Tier } from "../src/core/tier.ts";
import { feedOf, type TierOptions } from "./capacity.ts";
import { PipelineFunction, type PipelineFunctionProps } from "./function.ts";
import { type TierQueue, workerTimeout } from "./queue.ts";

export interface WorkerProps extends Omit<PipelineFunctionProps, "name" | "description" | "timeout" | "recursive"> {
  readonly tier: Tier;
  readonly queue: TierQueue;
  readonly options: TierOptions;
}

/** One tier's worker: a function of its own, so that no tier takes another's concurrency, fed by the tier's queue. */
export class Worker extends PipelineFunction {
  constructor(scope: Construct, id: string, props: WorkerProps) {
    const { tier, queue, options, settings, ...rest } = props;
    const feed = feedOf(tier, options);
    super(scope, id, {
      ...rest,
      name: "worker",
      description: `Offload: does the tasks of tier ${tier}`,
      settings: { ...settings, tier },
      timeout: workerTimeout,
      // A retry is a new message from a worker to its own queue; what bounds the loop is the task's max_attempts.
      recursive: true,
      ...(options.memorySize !== undefined && { memorySize: options.memorySize }),
    });
    this.takeFrom(queue, feed);
  }
}
