import type { Config } from "../config.ts";
import { submitChild } from "../core/children/child.ts";
import { rejoinChild, spawnChild } from "../core/children/spawn-child.ts";
import { operationTypes } from "../core/control/run-operation.ts";
import { FlowBook } from "../core/flow/flow-book.ts";
import { countingRecords, Releases } from "../core/limits/quota.ts";
import type { StackOf } from "../core/model/stack.ts";
import type { Disk } from "../core/ports/disk.ts";
import { setProbeCounters } from "../core/ports/probe-counters.ts";
import { knownTypesOf } from "../core/task/catalog.ts";
import type { Secrets } from "../core/task/secrets.ts";
import { acceptedTypes, registry, type TaskType } from "../core/task/task.ts";
import type { WorkPorts } from "../core/work/work-message.ts";
import { queueClient } from "./clients.ts";
import { addPlacesToFetch } from "./fetch-places.ts";
import { DynamoFlowSettings } from "./flow-settings.ts";
import { GatheredQueues } from "./gathered-queues.ts";
import { newId } from "./ids.ts";
import { lazySubmitUnique } from "./lazy-unique.ts";
import { DynamoLines } from "./lines.ts";
import { createLog } from "./log.ts";
import { DynamoCounters, DynamoOnceStore } from "./once-store.ts";
import { threadWatchdog } from "./process.ts";
import { SqsQueueDepths } from "./queue-depths.ts";
import { SqsDeadLetterQueues } from "./queues.ts";
import { DynamoRecords } from "./records.ts";
import { DynamoStepStore } from "./step-store.ts";
import { createTracing } from "./tracing.ts";
import { DynamoUploads } from "./uploads.ts";
import { dispatchPorts, dispatchSettings } from "./wiring.ts";

/** The settings that `workPorts` reads. */
export const workerSettings = [...dispatchSettings, "probes", "timeScale", "secrets"] as const;

/** Reads source maps, which only a failed attempt needs. */
const bundleStackOf: StackOf = async (error) => (await import("./bundle-places.ts")).bundleStackOf(error);

/** Node tells of rejections that nobody awaits between two turns of the event loop. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Ports in place of those of a deployed worker. */
export type OwnPorts = Partial<Pick<WorkPorts, "clock" | "watchdog" | "stackOf">>;

/**
 * Creates the ports of a worker.
 * @param service The worker's name in its log lines.
 * @param found The types of all files in `tasks/`.
 * @param env The process's environment, from which handlers read their secrets.
 */
export async function workPorts(
  config: Config<(typeof workerSettings)[number]>,
  service: string,
  found: readonly TaskType[],
  { disk, own, env }: { disk: Disk; own: OwnPorts; env: NodeJS.ProcessEnv },
) {
  addPlacesToFetch();
  const { table, ...base } = dispatchPorts(config, createLog(service));
  const types = await afterSecrets(acceptedTypes(found, config.probes), config.secrets, base, env);
  setProbeCounters(new DynamoCounters(table));
  const once = new DynamoOnceStore(table);
  const steps = new DynamoStepStore(table);
  const queues = queueClient();
  const known = knownTypesOf(types);
  const operations = operationTypes({
    ...base,
    types: known,
    newId,
    once,
    steps,
    uploads: new DynamoUploads(table),
    deadLetterQueues: new SqsDeadLetterQueues(queues, config.dlqUrls, base.log),
    depths: new SqsQueueDepths(queues, config.queueUrls, config.dlqUrls, config.containerQueueUrls),
  });
  const releases = new Releases(base);
  const tracing = await createTracing();
  const flowSettings = new DynamoFlowSettings(table);
  const ports: WorkPorts = {
    ...base,
    newId,
    records: countingRecords(new DynamoRecords(table, config.listShards), (...ended) => releases.add(...ended)),
    once,
    steps,
    registry: registry([...types, ...operations]),
    random: Math.random,
    disk,
    turn,
    timeScale: config.timeScale,
    tracing,
    watchdog: threadWatchdog(),
    lines: new DynamoLines(table, base.clock.now),
    flowSettings,
    flow: new FlowBook({ ...base, flowSettings }),
    stackOf: bundleStackOf,
    submitChild: submitChild({ ...base, types: known, submitUnique: lazySubmitUnique }),
    createChild: spawnChild({ ...base, queues: new GatheredQueues(base.queues), types: known }),
    rejoinChild: rejoinChild({ ...base, queues: new GatheredQueues(base.queues), types: known }),
    ...own,
  };
  return { ports, releases, tracing, metrics: base.metrics };
}

/** Makes handlers wait for their secrets. The code for this loads only where secrets are declared. */
async function afterSecrets(
  types: readonly TaskType[],
  secrets: Secrets | undefined,
  ports: Pick<WorkPorts, "clock" | "log">,
  env: NodeJS.ProcessEnv,
) {
  if (secrets === undefined) return types;
  const [{ secretLoader, withSecrets }, { awsSecrets }] = await Promise.all([
    import("../core/task/secrets.ts"),
    import("./secrets.ts"),
  ]);
  return withSecrets(types, secretLoader({ ...ports, reader: awsSecrets(), env }, secrets));
}
