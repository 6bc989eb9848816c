import type { SqsEventSourceProps } from "aws-cdk-lib/aws-lambda-event-sources";
import type { Construct } from "constructs";
import { defaultConcurrency } from "../src/config.ts";
import type { Tier } from "../src/core/tier.ts";
import { PipelineFunction, type PipelineFunctionProps } from "./function.ts";
import { type TierQueue, workerTimeout } from "./queue.ts";

/** How much of the account a tier may take. */
export interface TierOptions {
  /**
   * How many worker invocations the tier may have at once, 2 to 1000. It reserves nothing, but no tier can take what
   * another needs as long as all of them fit into the account's concurrency. Not together with `provisionedPollers`.
   * @default critical 200, high 150, normal 100, low 50: half of an account's usual 1,000
   */
  readonly maxConcurrency?: number;
  /**
   * Pollers that wait for work at all times, so that a burst starts at once instead of over some minutes. Charged by the
   * hour. Each has up to 10 invocations at once: `maximum` is the tier's limit in place of `maxConcurrency`.
   * @default - none: Lambda adds pollers as the queue fills
   */
  readonly provisionedPollers?: {
    /** 2 to 200. */
    readonly minimum: number;
    /** 2 to 2000. */
    readonly maximum: number;
  };
  /**
   * Memory of the tier's worker, in MB, and with it a share of a CPU.
   * @default - the pipeline's `workerMemorySize`
   */
  readonly memorySize?: number;
}

export interface WorkerProps extends Pick<PipelineFunctionProps, "settings" | "logs" | "memorySize" | "files"> {
  readonly tier: Tier;
  readonly queue: TierQueue;
  readonly options: TierOptions;
}

/** One tier's worker: a function of its own, so that no tier takes another's concurrency, fed by the tier's queue. */
export class Worker extends PipelineFunction {
  constructor(scope: Construct, id: string, props: WorkerProps) {
    const { tier, queue, options, settings, ...rest } = props;
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
    this.takeFrom(queue, scaling(tier, options));
  }
}

function scaling(
  tier: Tier,
  options: TierOptions,
): Pick<SqsEventSourceProps, "maxConcurrency" | "provisionedPollerConfig"> {
  const { maxConcurrency, provisionedPollers } = options;
  if (provisionedPollers === undefined) return { maxConcurrency: maxConcurrency ?? defaultConcurrency[tier] };
  if (maxConcurrency !== undefined) {
    throw new TypeError(
      `tier ${tier}: provisionedPollers and maxConcurrency exclude each other; each poller has up to 10 invocations at once`,
    );
  }
  const { minimum, maximum } = provisionedPollers;
  return { provisionedPollerConfig: { minimumPollers: minimum, maximumPollers: maximum } };
}
