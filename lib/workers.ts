import type { Construct } from "constructs";
import type { PerTier } from "../src/config.ts";
import type { TaskEnvironment } from "../src/core/environment.ts";
import { internalOptions } from "../src/core/internal-types.ts";
import type { Tier } from "../src/core/tier.ts";
import { allowLists, allowMeasure, allowObjects, allowReceive, allowSend, allowTable } from "./access.ts";
import type { TierOptions } from "./capacity.ts";
import type { DataStack } from "./data-stack.ts";
import type { Dispatch } from "./dispatch.ts";
import type { BundleFiles } from "./esbuild.ts";
import type { CommonProps } from "./function.ts";
import type { HandlerOptions } from "./handler-options.ts";
import { allowNetwork, type Network, networkOf } from "./network.ts";
import { perTier, title } from "./per-tier.ts";
import { type WorkerEnvironment, workerEnvironment } from "./task-environment.ts";
import { TaskRole } from "./task-role.ts";
import { allowSecrets, sourcesOf } from "./task-secrets.ts";
import { Worker } from "./tier.ts";

/** Options of the workers of all tiers. */
export interface WorkerOptions {
  /** Memory in MB, of tiers without their own. */
  readonly memorySize: number;
  /** Additional files of the bundles. */
  readonly files: BundleFiles;
  /** True to register the probe types. */
  readonly probes: boolean;
  /** Declared environment variables and secrets of handlers. */
  readonly declared: TaskEnvironment;
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
}

/** Tier of internal tasks: replays, discards and sweeps of dead letters, and the purge of stored objects. */
const internalTier = internalOptions.sweep.priority;

/** Properties that the workers of all tiers share. */
interface Surroundings {
  readonly environment: WorkerEnvironment;
  /** Undefined: no VPC. */
  readonly network: Network | undefined;
}

/** The workers, and what they share. */
export interface Workers {
  readonly workers: PerTier<Worker>;
  /** The roles of all workers. */
  readonly taskRole: TaskRole;
  /** Undefined: no VPC. */
  readonly network: Network | undefined;
}

/** Adds each tier's worker function, with its permissions and what its handlers need. */
export function addWorkers(scope: Construct, props: WorkersProps): Workers {
  const { handlers, declared } = props.options;
  const environment = workerEnvironment(declared, handlers);
  const network = networkOf(scope, handlers);
  const workers = perTier((tier) => addWorker(scope, tier, props, { environment, network }));
  const taskRole = new TaskRole(Object.values(workers));
  allowSecrets(scope, taskRole, environment.secrets);
  for (const statement of handlers.policies ?? []) taskRole.addToPrincipalPolicy(statement);
  return { workers, taskRole, network };
}

function addWorker(
  scope: Construct,
  tier: Tier,
  { common, data, dispatch, options, tiers, timeScale }: WorkersProps,
  { environment: { variables, secrets }, network }: Surroundings,
): Worker {
  const worker = new Worker(scope, `${title(tier)}Worker`, {
    ...common,
    tier,
    queue: data.queues[tier],
    options: tiers[tier] ?? {},
    memorySize: options.memorySize,
    files: options.files,
    environment: variables,
    network,
    layers: options.handlers.layers ?? [],
    settings: {
      ...dispatch.settings,
      probes: options.probes ? "1" : "0",
      timeScale,
      ...(Object.keys(secrets).length > 0 && { secrets: JSON.stringify(sourcesOf(secrets)) }),
    },
  });
  allowTable(worker, data.table, ["GetItem", "PutItem", "UpdateItem", "DeleteItem"]);
  allowLists(worker, data.table);
  allowObjects(worker, data.bucket, ["GetObject", "PutObject", "DeleteObject", "AbortMultipartUpload"]);
  dispatch.allow(worker);
  if (network !== undefined) allowNetwork(worker);
  allowSend(worker, [data.dlqs[tier]]);
  if (tier === internalTier) {
    // To read the lists of stored objects.
    allowTable(worker, data.table, ["Query"]);
    const dlqs = Object.values(data.dlqs);
    allowReceive(worker, dlqs);
    allowMeasure(worker, dlqs);
  }
  return worker;
}
