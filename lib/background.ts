import type { Duration } from "aws-cdk-lib";
import type { FunctionName, SettingTexts } from "../src/settings/config.ts";
import { withRelease } from "../src/settings/releases.ts";
import { allowSend, allowTable } from "./access.ts";
import type { Capacity } from "./capacity.ts";
import type { ContainerWorkers } from "./container-workers.ts";
import type { DataStack } from "./data-stack.ts";
import type { Dispatch } from "./dispatch.ts";
import { allowFire } from "./fire.ts";
import type { CommonProps, PipelineFunction, PipelineFunctionProps } from "./function.ts";
import { fireTimeout, redriveTimeout } from "./queue.ts";

export type FunctionOptions = Omit<PipelineFunctionProps, "name" | "timeout" | keyof CommonProps> & {
  readonly timeout?: Duration;
};

/** Adds a function to the service stack. */
type Add = (name: FunctionName, options: FunctionOptions) => PipelineFunction;

interface BackgroundProps {
  readonly data: DataStack;
  readonly dispatch: Dispatch;
  readonly capacity: Capacity;
  readonly timeScale: string;
}

/** Adds the function that handles messages which a tier delivered too often. */
export function addRedrive(add: Add, { data, dispatch, capacity, timeScale }: BackgroundProps): void {
  const redrive = add("redrive", {
    description: "handles messages that a tier queue gave up on",
    settings: { ...dispatch.settings, timeScale },
    timeout: redriveTimeout,
    recursive: true,
  });
  redrive.takeFrom(data.redriveQueue, { maxConcurrency: capacity.redrive });
  allowTable(redrive, data.table, ["GetItem", "PutItem", "UpdateItem"]);
  allowSend(redrive, Object.values(data.dlqs));
  dispatch.allow(redrive);
}

export interface FireProps extends BackgroundProps {
  /** The tasks of schedules count as submits of their tenant. */
  readonly limitSettings: SettingTexts;
  readonly fireName: string;
}

/** Adds the function that EventBridge Scheduler and the rules of triggers invoke. Its code follows. */
export function addFire(add: Add, { data, dispatch, capacity, limitSettings, fireName }: FireProps): PipelineFunction {
  const { scheduling } = data;
  const fire = add("fire", {
    description: withRelease("dispatches delayed tasks, submits tasks of schedules and triggers"),
    settings: { ...dispatch.settings, ...limitSettings },
    files: "later",
    timeout: fireTimeout,
    functionName: fireName,
    // EventBridge Scheduler invokes asynchronously: Lambda retries a failed firing, then sends it to this queue.
    deadLetterQueue: scheduling.firings,
  });
  fire.takeFrom(scheduling.firings, { maxConcurrency: capacity.firings, batchSize: 1 });
  allowFire(fire, data);
  dispatch.allowTell(fire);
  return fire;
}

/** Adds the function that starts a container worker when none runs. Only it may change their service. */
export function addWake(add: Add, containers: ContainerWorkers, functionName: string): void {
  const wake = add("wake", {
    description: "starts a container worker when none runs",
    settings: { containerService: containers.serviceSetting },
    functionName,
    withoutDlq:
      "A lost event delays a task by minutes: the next message starts the function again, and scaling follows.",
  });
  containers.allowStart(wake);
}
