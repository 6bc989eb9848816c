import { Lazy } from "aws-cdk-lib";
import type { Construct } from "constructs";
import type { Tier } from "../src/core/model/words.ts";
import type { TaskEnvironment } from "../src/core/task/environment.ts";
import { internalOptions } from "../src/core/task/internal-types.ts";
import { type PerTier, type SettingTexts, toEnv } from "../src/settings/config.ts";
import {
  allowLists,
  allowMeasure,
  allowObjects,
  allowReceive,
  allowSchedules,
  allowSend,
  allowTable,
} from "./access.ts";
import type { TierOptions } from "./capacity.ts";
import { ContainerWorkers } from "./container-workers.ts";
import type { Containers } from "./containers.ts";
import type { DataStack } from "./data-stack.ts";
import type { Dispatch } from "./dispatch.ts";
import type { BundleFiles } from "./esbuild.ts";
import type { CommonProps } from "./function.ts";
import type { HandlerOptions } from "./handler-options.ts";
import { allowNetwork, type Network, networkOf } from "./network.ts";
import { perTier, title } from "./per-tier.ts";
import { type WorkerEnvironment, workerEnvironment } from "./task-environment.ts";
import { TaskRole } from "./task-role.ts";
import { allowSecrets, type PlacedSecrets, sourcesOf } from "./task-secrets.ts";
import { Worker } from "./tier.ts";

/** Options of the workers of all tiers. */
export interface WorkerOptions {
  /** Memory in MB, of tiers without their own. */
  readonly memorySize: number;
  /** Additional files of the bundles. */
  readonly files: BundleFiles;
  /** True to register the probe types. */
  readonly probes: boolean;
  /** Needs of handlers. */
  readonly handlers: HandlerOptions;
}

export interface WorkersProps {
  readonly common: CommonProps;
  readonly data: DataStack;
  readonly dispatch: Dispatch;
  readonly options: WorkerOptions;
  /** Concurrency, batches and memory of each tier. */
  readonly tiers: Partial<PerTier<TierOptions>>;
  /** Multiplies the retry waits. */
  readonly timeScale: string;
  /** Waits for the API's URL. */
  readonly apiUrl: () => string;
  /** Container workers. Undefined: the deployment has none. */
  readonly containers: Containers | undefined;
  /** Waits for the declared environment variables and secrets of handlers. */
  readonly declared: () => TaskEnvironment;
}

/** Tier of internal tasks: replays, discards and sweeps of dead letters, and the purge of stored objects. */
const internalTier = internalOptions.sweep.priority;

/** The workers, and what they share. */
export interface Workers {
  readonly workers: PerTier<Worker>;
  /** The roles of all workers. */
  readonly taskRole: TaskRole;
  /** Undefined: no VPC. */
  readonly network: Network | undefined;
  /** Undefined: the deployment has no containers of its own. */
  readonly containers: ContainerWorkers | undefined;
}

/** Adds each tier's worker function, with its permissions. `equipWorkers` gives them their code. */
export function addWorkers(scope: Construct, props: WorkersProps): Workers {
  const network = networkOf(scope, props.options.handlers);
  const workers = perTier((tier) => addWorker(scope, tier, props, network));
  const containers = addContainers(scope, props, network);
  const taskRole = new TaskRole([...Object.values(workers), ...(containers === undefined ? [] : [containers])]);
  return { workers, taskRole, network, containers };
}

/** Adds to the workers what follows from the task files, which are loaded meanwhile: code, variables, secrets. */
export function equipWorkers(scope: Construct, props: WorkersProps, { workers, taskRole }: Workers): void {
  const { files, handlers } = props.options;
  const { variables, secrets } = environmentOf(props);
  for (const worker of Object.values(workers)) {
    worker.addVariables({ ...variables, ...toEnv(secretSettings(secrets)) });
    worker.bundle(files);
  }
  allowSecrets(scope, taskRole, secrets);
  for (const statement of handlers.policies ?? []) taskRole.addToPrincipalPolicy(statement);
}

const environmentOf = ({ declared, options, containers }: WorkersProps): WorkerEnvironment =>
  workerEnvironment(declared(), options.handlers, containers !== undefined);

/** Settings of the workers of all tiers, and of container workers. */
const settingsOf = ({ data, dispatch, options, timeScale, apiUrl }: WorkersProps): SettingTexts => ({
  ...dispatch.settings,
  firingsUrl: data.scheduling.firings.queueUrl,
  // The API is added after the workers.
  apiUrl: Lazy.string({ produce: apiUrl }),
  probes: options.probes ? "1" : "0",
  timeScale,
});

const secretSettings = (secrets: PlacedSecrets): SettingTexts =>
  Object.keys(secrets).length === 0 ? {} : { secrets: JSON.stringify(sourcesOf(secrets)) };

/** Adds the service of container workers, unless the user runs such workers elsewhere. */
function addContainers(
  scope: Construct,
  props: WorkersProps,
  network: Network | undefined,
): ContainerWorkers | undefined {
  const { common, data, dispatch, options, containers } = props;
  if (containers === undefined || data.containerQueues === undefined || containers.maxTasks === 0) return undefined;
  const { variables, secrets } = environmentOf(props);
  return new ContainerWorkers(scope, "Containers", {
    ...{ data, dispatch, network },
    options: containers,
    queues: data.containerQueues,
    settings: { ...settingsOf(props), ...secretSettings(secrets) },
    environment: variables,
    files: options.files,
    logs: common.logs,
    service: common.service,
  });
}

function addWorker(scope: Construct, tier: Tier, props: WorkersProps, network: Network | undefined): Worker {
  const { common, data, dispatch, options, tiers } = props;
  const worker = new Worker(scope, `${title(tier)}Worker`, {
    ...common,
    tier,
    queue: data.queues[tier],
    options: tiers[tier] ?? {},
    memorySize: options.memorySize,
    files: "later",
    network,
    layers: options.handlers.layers ?? [],
    instrumentation: options.handlers.instrumentation,
    settings: settingsOf(props),
  });
  // Query reads the entries of a task's steps; in the internal tier also the lists of stored objects.
  allowTable(worker, data.table, ["GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"]);
  allowLists(worker, data.table);
  allowObjects(worker, data.bucket, tier === internalTier ? "internalWorker" : "worker");
  dispatch.allow(worker);
  allowSchedules(worker, data);
  if (network !== undefined) allowNetwork(worker);
  allowSend(worker, [data.dlqs[tier]]);
  if (tier === internalTier) {
    const dlqs = Object.values(data.dlqs);
    allowReceive(worker, dlqs);
    allowMeasure(worker, dlqs);
  }
  return worker;
}
