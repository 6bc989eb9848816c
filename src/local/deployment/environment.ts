import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { localServicesEnv } from "../../aws/local-services.ts";
import { type Tier, tiers } from "../../core/model/words.ts";
import { offloadSource } from "../../core/schedules/bus-event.ts";
import { packageVersion } from "../../installed/installation.ts";
import { localBucket, localTable, type PerTier, toEnv } from "../../settings/config.ts";
import { localEventBus } from "../events/event-log.ts";
import { accountId } from "../sqs/queue-message.ts";
import {
  containerQueueName,
  dlqName,
  firingsQueue,
  localArn,
  localDeployment,
  notifyQueue,
  queueName,
  scheduleGroup,
  schedulerDlq,
} from "./resources.ts";
import type { LocalSettings } from "./settings.ts";
import { localWebhookKey } from "./webhook-key.ts";

/** Length of 32 bytes in base64url. */
const cursorKeyLength = 43;

/** The emulators that the functions call, and the folder of the server's files. */
export interface Parts {
  table: { url: string };
  sqs: { url: string };
  scheduler: { url: string };
  cloudWatch: { url: string };
  eventBus: { url: string };
  s3: { url: string; secret: string };
  webSockets: { url: string };
  filesDir: string;
}

/** The file to which all processes append the lines of tasks. */
export const logFileIn = (filesDir: string): string => join(resolve(filesDir), "log.jsonl");

/** Environment of the functions: the variables that the service stack sets, and the emulators' addresses. */
export function functionEnvironment(
  settings: LocalSettings,
  { table, sqs, scheduler, cloudWatch, eventBus, s3, webSockets, filesDir }: Parts,
): Record<string, string> {
  const urls = (name: (tier: Tier) => string) =>
    Object.fromEntries(tiers.map((tier) => [tier, `${sqs.url}/${accountId}/${name(tier)}`])) as PerTier<string>;
  const queueUrls = urls(queueName);
  const dlqUrls = urls(dlqName);
  const queues = Object.fromEntries(tiers.map((tier) => [tier, { url: queueUrls[tier], dlq_url: dlqUrls[tier] }]));
  return {
    ...toEnv({
      table: localTable,
      bucket: localBucket,
      queueUrls,
      containerQueueUrls: urls(containerQueueName),
      dlqUrls,
      scheduleGroup,
      fireArn: localArn("lambda", "function:offload-fire"),
      schedulerRoleArn: `arn:aws:iam::${accountId}:role/offload-scheduler`,
      schedulerDlqArn: localArn("sqs", firingsQueue),
      notifyUrl: `${sqs.url}/${accountId}/${notifyQueue}`,
      notifyPush: "1",
      notifyEvents: "1",
      webhookKey: localWebhookKey(settings.stateDir),
      firingsUrl: `${sqs.url}/${accountId}/${firingsQueue}`,
      catalogFile: join(filesDir, "catalog.json"),
      firingsDlqUrl: `${sqs.url}/${accountId}/${schedulerDlq}`,
      eventBus: localEventBus,
      eventSource: offloadSource + localDeployment,
      schedulesFile: join(filesDir, "schedules.json"),
      triggersFile: join(filesDir, "triggers.json"),
      openApiFile: join(filesDir, "openapi.json"),
      consoleFolder: join(filesDir, "console"),
      probes: settings.probes ? "1" : "0",
      timeScale: String(settings.timeScale),
      cursorKey: cursorKey(filesDir),
      version: packageVersion(),
      localKeys: settings.keys,
      callbackHosts: settings.callbackHosts,
      waits: "1000",
      socketEndpoint: webSockets.url,
      localHealth: localHealth(settings, { table, sqs, s3, eventBus }, queues),
    }),
    ...localServicesEnv({
      dynamodb: table.url,
      sqs: sqs.url,
      scheduler: scheduler.url,
      cloudwatch: cloudWatch.url,
      eventbridge: eventBus.url,
      s3: s3.url,
      s3Secret: s3.secret,
    }),
    OFFLOAD_LOG: "text",
    OFFLOAD_VERBOSE: settings.verbose ? "1" : "0",
    OFFLOAD_LOG_FILE: logFileIn(filesDir),
  };
}

/** The fields of `/health` that only the local server has. */
const localHealth = (
  { limits }: LocalSettings,
  { table, sqs, s3, eventBus }: Pick<Parts, "table" | "sqs" | "s3" | "eventBus">,
  queues: object,
): string =>
  JSON.stringify({
    dynamodb_url: table.url,
    sqs_url: sqs.url,
    s3_url: s3.url,
    events_url: eventBus.url,
    queues,
    limits,
  });

/**
 * Key that signs page cursors. It is created once and stored, so that cursors stay valid after a restart. A key that
 * was not written to its end is replaced.
 */
function cursorKey(filesDir: string): string {
  const path = join(filesDir, "cursor-key");
  const stored = existsSync(path) ? readFileSync(path, "utf8") : "";
  if (stored.length === cursorKeyLength) return stored;
  const key = randomBytes(32).toString("base64url");
  writeFileSync(path, key, { mode: 0o600 });
  return key;
}
