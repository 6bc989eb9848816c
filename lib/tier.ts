import type { Construct } from "constructs";
import type { Tier } from "../src/core/model/words.ts";
import { feedOf, type TierOptions, timeoutOf } from "./capacity.ts";
import { PipelineFunction, type PipelineFunctionProps } from "./function.ts";
import type { TierQueue } from "./queue.ts";

export interface WorkerProps extends Omit<PipelineFunctionProps, "name" | "description" | "timeout" | "recursive"> {
  readonly tier: Tier;
  readonly queue: TierQueue;
  readonly options: TierOptions;
}

/**
 * Worker function of one tier, with the tier's queue as event source. Each tier has its own function and concurrency.
 */
export class Worker extends PipelineFunction {
  constructor(scope: Construct, id: string, props: WorkerProps) {
    const { tier, queue, options, settings, layers, ...rest } = props;
    const feed = feedOf(tier, options);
    super(scope, id, {
      ...rest,
      name: "worker",
      description: `Offload: runs the tasks of tier ${tier}`,
      settings: { ...settings, tier },
      timeout: timeoutOf(options),
      layers: [...(layers ?? []), ...(options.layers ?? [])],
      // A retry is a new message from a worker to its own queue. The task's max_attempts limits the loop.
      recursive: true,
      ...(options.memorySize !== undefined && { memorySize: options.memorySize }),
    });
    this.takeFrom(queue, feed);
  }
}
