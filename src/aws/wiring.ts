import { countingRecords } from "../core/limits/quota.ts";
import type { DispatchPorts } from "../core/ports/steps.ts";
import type { Log } from "../core/ports/tasks.ts";
import type { Config } from "../settings/config.ts";
import { DynamoBlobList } from "./blob-list.ts";
import { s3Blobs } from "./blobs.ts";
import { queueClient, schedulerClient, tableClient } from "./clients.ts";
import { DynamoTable } from "./dynamo-table.ts";
import { newId } from "./ids.ts";
import { lazyNotices, noticeSettings } from "./lazy-notices.ts";
import { lazyPort } from "./lazy-port.ts";
import { createMetrics, type StoredMetrics } from "./metrics.ts";
import { systemClock } from "./process.ts";
import { SqsQueues } from "./queues.ts";
import { DynamoRecords } from "./records.ts";
import { schedulerSettings } from "./scheduler-settings.ts";
import { DynamoUsage } from "./usage.ts";
import { wakingQueues } from "./waking-queues.ts";

/** The settings that `dispatchPorts` reads. */
export const dispatchSettings = [
  "table",
  "bucket",
  "listShards",
  "queueUrls",
  "containerQueueUrls",
  "dlqUrls",
  "wakeFunction",
  ...noticeSettings,
  ...schedulerSettings,
] as const;

/** Creates the ports that send tasks to a tier, with one client for each service. */
export function dispatchPorts(
  config: Config<(typeof dispatchSettings)[number]>,
  log: Log,
  metrics: StoredMetrics = createMetrics(),
) {
  const table = new DynamoTable(tableClient(), config.table);
  const scheduler = schedulerClient();
  const usage = new DynamoUsage(table);
  const sqs = new SqsQueues(queueClient(), config.queueUrls, config.dlqUrls, log, config.containerQueueUrls);
  const queues = wakingQueues(sqs, config.wakeFunction, log);
  const ports: DispatchPorts = {
    clock: systemClock,
    // A count that could not be lowered is corrected when it is about to refuse a submit, so this is not an error.
    records: countingRecords(new DynamoRecords(table, config.listShards), (tenantId, hour) =>
      usage.release(tenantId, hour, 1).catch(() => {}),
    ),
    queues,
    // A task needs one for a long wait only.
    oneOffs: lazyPort(async () => new (await import("./one-offs.ts")).SchedulerOneOffs(scheduler, config)),
    blobs: s3Blobs(config.bucket),
    blobList: new DynamoBlobList(table),
    notices: lazyNotices(config, table, systemClock),
    uniqueKeys: lazyPort(async () => new (await import("./unique-keys.ts")).DynamoUniqueKeys(table)),
    lists: lazyPort(async () => new (await import("./lists.ts")).DynamoLists(table)),
    newId,
    log,
    metrics,
  };
  return { ...ports, queues, metrics, usage, table, scheduler };
}

/** The settings that a gate reads in addition to `dispatchSettings`. */
export const gateSettings = ["limits"] as const;
