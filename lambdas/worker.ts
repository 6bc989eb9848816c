import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { endsInTime } from "../src/aws/call-times.ts";
import { queueClient } from "../src/aws/clients.ts";
import { answerBatch } from "../src/aws/deliveries.ts";
import { addPlacesToFetch } from "../src/aws/fetch-places.ts";
import { GatheredQueues } from "../src/aws/gathered-queues.ts";
import { newId } from "../src/aws/ids.ts";
import { createLog } from "../src/aws/log.ts";
import { observed } from "../src/aws/observed.ts";
import { DynamoCounters, DynamoOnceStore } from "../src/aws/once-store.ts";
import { threadWatchdog } from "../src/aws/process.ts";
import { SqsQueueDepths } from "../src/aws/queue-depths.ts";
import { SqsDeadLetterQueues } from "../src/aws/queues.ts";
import { DynamoRecords } from "../src/aws/records.ts";
import { DynamoStepStore } from "../src/aws/step-store.ts";
import { createTracing } from "../src/aws/tracing.ts";
import { DynamoUploads } from "../src/aws/uploads.ts";
import { dispatchPorts, dispatchSettings } from "../src/aws/wiring.ts";
import { fromEnv } from "../src/config.ts";
import { knownTypesOf } from "../src/core/catalog.ts";
import { submitChild } from "../src/core/child.ts";
import { operationTypes } from "../src/core/dead-letters/run-operation.ts";
import { countingRecords, Releases } from "../src/core/limits/quota.ts";
import { setProbeCounters } from "../src/core/probe-counters.ts";
import type { Secrets } from "../src/core/secrets.ts";
import { spawnChild } from "../src/core/spawn/spawn-child.ts";
import type { StackOf } from "../src/core/stack.ts";
import { acceptedTypes, registry, type TaskType } from "../src/core/task.ts";
import { workBatch } from "../src/core/work.ts";
import type { WorkPorts } from "../src/core/work-message.ts";
import { disk } from "../src/disk.ts";

/** Reads source maps, which only a failed attempt needs. */
const bundleStackOf: StackOf = async (error) => (await import("../src/aws/bundle-places.ts")).bundleStackOf(error);

/**
 * Makes a worker's handler.
 * @param found The types of all files in `tasks/`: imported by the bundle's entry (`lib/esbuild.ts`), or by the local server.
 * @param own Ports in place of those for Lambda.
 */
export async function createWorker(
  found: readonly TaskType[],
  own: Partial<Pick<WorkPorts, "clock" | "watchdog" | "stackOf">> = {},
) {
  addPlacesToFetch();
  const config = fromEnv(process.env, [...dispatchSettings, "tier", "probes", "timeScale", "secrets"]);
  const { documents, ...base } = dispatchPorts(config, createLog("worker"));
  const types = await afterSecrets(acceptedTypes(found, config.probes), config.secrets, base);
  setProbeCounters(new DynamoCounters(documents, config.table));
  const once = new DynamoOnceStore(documents, config.table);
  const steps = new DynamoStepStore(documents, config.table);
  const queues = queueClient();
  const known = knownTypesOf(types);
  const operations = operationTypes({
    ...base,
    types: known,
    newId,
    once,
    steps,
    uploads: new DynamoUploads(documents, config.table),
    deadLetterQueues: new SqsDeadLetterQueues(queues, config.dlqUrls, base.log),
    depths: new SqsQueueDepths(queues, config.queueUrls, config.dlqUrls),
  });
  const releases = new Releases(base);
  const tracing = await createTracing();
  const ports: WorkPorts = {
    ...base,
    newId,
    records: countingRecords(new DynamoRecords(documents, config.table, config.listShards), (...ended) =>
      releases.add(...ended),
    ),
    once,
    steps,
    registry: registry([...types, ...operations]),
    random: Math.random,
    disk,
    timeScale: config.timeScale,
    tracing,
    watchdog: threadWatchdog(),
    stackOf: bundleStackOf,
    submitChild: submitChild({ ...base, types: known }),
    createChild: spawnChild({ ...base, queues: new GatheredQueues(base.queues), types: known }),
    ...own,
  };
  const work = (event: SQSEvent, context: Context): Promise<SQSBatchResponse> =>
    answerBatch(
      event,
      () => config.tier,
      (deliveries) =>
        workBatch(ports, deliveries, Date.now() + context.getRemainingTimeInMillis()).finally(() => releases.flush()),
    );
  return endsInTime(observed({ metrics: base.metrics, tracing }, work));
}

/** Makes handlers wait for their secrets. The code for this loads only where secrets are declared. */
async function afterSecrets(
  types: readonly TaskType[],
  secrets: Secrets | undefined,
  ports: Pick<WorkPorts, "clock" | "log">,
) {
  if (secrets === undefined) return types;
  const [{ secretLoader, withSecrets }, { awsSecrets }] = await Promise.all([
    import("../src/core/secrets.ts"),
    import("../src/aws/secrets.ts"),
  ]);
  return withSecrets(types, secretLoader({ ...ports, reader: awsSecrets(), env: process.env }, secrets));
}
