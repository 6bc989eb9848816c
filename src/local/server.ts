import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { ConflictException, CreateScheduleGroupCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import type { Context } from "aws-lambda";
import { schedulerClient } from "../aws/clients.ts";
import { schedulerSettings } from "../aws/one-offs.ts";
import { SchedulerRules } from "../aws/rules.ts";
import { fromEnv, localTable, maxReceiveCount, type PerTier, toEnv } from "../config.ts";
import { toCatalog } from "../core/catalog.ts";
import { type AppSchedule, appSchedules } from "../core/schedules/app-schedule.ts";
import { type Tier, tiers } from "../core/tier.ts";
import { parseLocalKeys } from "../http/authorizer.ts";
import { loadApp } from "../task-files.ts";
import { syncAppSchedules } from "./app-schedules.ts";
import { startCloudWatch } from "./cloudwatch.ts";
import { createTable, endLeases } from "./create-table.ts";
import { startEventSource, type Target } from "./event-source.ts";
import { startGateway } from "./gateway.ts";
import { startPurge } from "./purge.ts";
import { startScheduler } from "./scheduler/scheduler.ts";
import type { LocalSettings } from "./settings.ts";
import { accountId, region } from "./sqs/queue-message.ts";
import { type Sqs, startSqs } from "./sqs/sqs.ts";
import { startTable } from "./table.ts";
import { WorkerPool } from "./worker-pool.ts";

const scheduleGroup = "offload";
const redriveQueue = "offload-redrive";
const redriveDlq = "offload-redrive-dlq";
const firingsQueue = "offload-firings";
const schedulerDlq = "offload-scheduler-dlq";
const queueName = (tier: Tier) => `offload-${tier}`;
const dlqName = (tier: Tier) => `offload-${tier}-dlq`;
const arn = (service: string, resource: string) => `arn:aws:${service}:${region}:${accountId}:${resource}`;

/**
 * A message is hidden this long until the worker holds it for the lease, which it does first of all. In AWS it must be six
 * times the function's time-out; here processes get ended at any moment, and no throttle delays a batch.
 */
const unheldSeconds = 30;

/** The most worker processes of one tier: about what a small account's share would be. */
const mostWorkers = 8;

/** What fire asks of its invocation: how much of its five minutes is left. */
const fireContext = { getRemainingTimeInMillis: () => 300_000 } as Context;

/** Receives until redrive itself gives a message up. */
const redriveMaxReceiveCount = 20;

/** Receives until a firing is given up. */
const firingMaxReceiveCount = 20;

/** How long a stop waits for batches that are being worked on. */
const stopGraceMs = 2_500;

type Cleanups = (() => Promise<void> | void)[];
type App = Awaited<ReturnType<typeof loadApp>>;

export interface LocalServer {
  url: string;
  dynamodbUrl: string;
  sqsUrl: string;
  /** Where spans are kept. Undefined: none are. */
  spansFile: string | undefined;
  close(): Promise<void>;
}

/**
 * Starts everything on this machine: table, queues and scheduler with AWS's wire protocols, the real functions behind a
 * gateway, and worker processes. One server a process: the functions read their settings from this process's environment.
 * @param print Takes each line of the log.
 * @throws EADDRINUSE with the port in its message; TaskFileError
 */
export async function startServer(settings: LocalSettings, print: (line: string) => void): Promise<LocalServer> {
  parseLocalKeys(settings.keys);
  const app = await loadApp(settings.probes);
  const cleanups: Cleanups = [];
  const close = async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  };
  try {
    // The table comes first: it refuses a folder that another server uses, before anything in it is touched.
    const table = await startTable({ port: settings.dynamodbPort, stateDir: settings.stateDir });
    cleanups.push(() => table.close());
    const filesDir = filesDirOf(settings, app, cleanups);
    const sqs = await startSqs({ port: settings.sqsPort, stateDir: settings.stateDir, queues: queueSpecs() });
    cleanups.push(() => sqs.close());
    const cloudWatch = await startCloudWatch(sqs.store);
    cleanups.push(() => cloudWatch.close());
    let fire: (event: unknown, context: Context) => Promise<void> = () =>
      Promise.reject(new Error("the server is starting"));
    const scheduler = await startScheduler({
      port: 0,
      stateDir: settings.stateDir,
      fire: ({ input }) => fire(JSON.parse(input), fireContext),
      bury: async ({ input }) => {
        sqs.store.send(firingsQueue, { body: input });
      },
    });
    cleanups.push(() => scheduler.close());
    Object.assign(process.env, environment(settings, { table, sqs, scheduler, cloudWatch, filesDir }));
    const spansFile = settings.tracing ? (settings.spansFile ?? join(filesDir, "spans.jsonl")) : undefined;
    if (spansFile !== undefined) await startTracing(spansFile);
    await prepare(print, app.schedules);
    cleanups.push(startPurge({ url: table.url, table: localTable }));
    const functions = await loadFunctions();
    fire = functions.fire;
    startConsumers(sqs, functions, print, cleanups);
    const gateway = await startGateway({
      port: settings.port,
      handlers: functions.http,
      authorizer: functions.authorizer,
      onRequest: (line) => print(`${new Date().toISOString().slice(11, 23)} ${line}`),
    });
    cleanups.push(() => gateway.close());
    return { url: gateway.url, dynamodbUrl: table.url, sqsUrl: sqs.url, spansFile, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A folder for the catalogue, the app's schedules and the cursor key; a temporary one when nothing is kept. */
function filesDirOf(settings: LocalSettings, { types, schedules }: App, cleanups: Cleanups): string {
  const dir = settings.stateDir === undefined ? mkdtempSync(join(tmpdir(), "offload-")) : resolve(settings.stateDir);
  mkdirSync(dir, { recursive: true });
  if (settings.stateDir === undefined) cleanups.push(() => rmSync(dir, { recursive: true, force: true }));
  const catalog = toCatalog(types);
  writeFileSync(join(dir, "catalog.json"), JSON.stringify(catalog));
  writeFileSync(join(dir, "schedules.json"), JSON.stringify(appSchedules(schedules, catalog)));
  return dir;
}

const queueSpecs = () => [
  ...tiers.flatMap((tier) => [
    {
      name: queueName(tier),
      visibilitySeconds: unheldSeconds,
      retentionSeconds: 7 * 86_400,
      redrive: { target: redriveQueue, maxReceiveCount },
    },
    { name: dlqName(tier), retentionSeconds: 14 * 86_400 },
  ]),
  {
    name: redriveQueue,
    visibilitySeconds: 60,
    retentionSeconds: 14 * 86_400,
    redrive: { target: redriveDlq, maxReceiveCount: redriveMaxReceiveCount },
  },
  { name: redriveDlq, retentionSeconds: 14 * 86_400 },
  {
    name: firingsQueue,
    visibilitySeconds: 60,
    retentionSeconds: 7 * 86_400,
    redrive: { target: schedulerDlq, maxReceiveCount: firingMaxReceiveCount },
  },
  { name: schedulerDlq, retentionSeconds: 14 * 86_400 },
];

interface Parts {
  table: { url: string };
  sqs: { url: string };
  scheduler: { url: string };
  cloudWatch: { url: string };
  filesDir: string;
}

/** The environment of the functions: what the service stack would give them, and the emulators' addresses. */
function environment(
  settings: LocalSettings,
  { table, sqs, scheduler, cloudWatch, filesDir }: Parts,
): Record<string, string> {
  const urls = (name: (tier: Tier) => string) =>
    Object.fromEntries(tiers.map((tier) => [tier, `${sqs.url}/${accountId}/${name(tier)}`])) as PerTier<string>;
  const queueUrls = urls(queueName);
  const dlqUrls = urls(dlqName);
  const queues = Object.fromEntries(tiers.map((tier) => [tier, { url: queueUrls[tier], dlq_url: dlqUrls[tier] }]));
  return {
    ...toEnv({
      table: localTable,
      queueUrls,
      dlqUrls,
      scheduleGroup,
      fireArn: arn("lambda", "function:offload-fire"),
      schedulerRoleArn: `arn:aws:iam::${accountId}:role/offload-scheduler`,
      schedulerDlqArn: arn("sqs", firingsQueue),
      firingsUrl: `${sqs.url}/${accountId}/${firingsQueue}`,
      catalogFile: join(filesDir, "catalog.json"),
      schedulesFile: join(filesDir, "schedules.json"),
      probes: settings.probes ? "1" : "0",
      timeScale: String(settings.timeScale),
      cursorKey: cursorKey(filesDir),
      version: packageVersion(),
      localKeys: settings.keys,
      localHealth: JSON.stringify({ dynamodb_url: table.url, sqs_url: sqs.url, queues }),
    }),
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
    AWS_ENDPOINT_URL_DYNAMODB: table.url,
    AWS_ENDPOINT_URL_SQS: sqs.url,
    AWS_ENDPOINT_URL_SCHEDULER: scheduler.url,
    AWS_ENDPOINT_URL_CLOUDWATCH: cloudWatch.url,
    OFFLOAD_LOG: "text",
  };
}

/** Has the functions make spans, here and in the worker processes; those of the last start but one are dropped. */
async function startTracing(file: string): Promise<void> {
  if (existsSync(file)) renameSync(file, `${file}.old`);
  Object.assign(process.env, { OFFLOAD_TRACING: "1", OFFLOAD_SPANS_FILE: file });
  const { keepSpans } = await import("./spans.ts");
  keepSpans(file);
}

/** Made once and kept, so that cursors outlive a restart. */
function cursorKey(filesDir: string): string {
  const path = join(filesDir, "cursor-key");
  try {
    return readFileSync(path, "utf8");
  } catch {
    const key = randomBytes(32).toString("base64url");
    writeFileSync(path, key, { mode: 0o600 });
    return key;
  }
}

function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** Makes the table, and gives up what a server before this one left in mid-attempt. */
async function prepare(print: (line: string) => void, schedules: readonly AppSchedule[]): Promise<void> {
  const client = new DynamoDBClient({});
  await createTable(client, localTable);
  const ended = await endLeases(client, localTable);
  if (ended > 0) print(`${ended} attempts were cut off when the server last ended; they will be tried again`);
  client.destroy();
  await prepareScheduler(schedules);
}

async function prepareScheduler(schedules: readonly AppSchedule[]): Promise<void> {
  const client = new SchedulerClient({});
  await client.send(new CreateScheduleGroupCommand({ Name: scheduleGroup })).catch((error: unknown) => {
    if (!(error instanceof ConflictException)) throw error;
  });
  const config = fromEnv(process.env, schedulerSettings);
  const rules = new SchedulerRules(schedulerClient(), config);
  await syncAppSchedules({ client, rules, group: config.scheduleGroup }, schedules);
  client.destroy();
}

/** The real functions; loaded now, as they read their settings when they load. */
async function loadFunctions() {
  const [submit, status, control, authorizer, redrive, fire] = await Promise.all([
    import("../../lambdas/submit.ts"),
    import("../../lambdas/status.ts"),
    import("../../lambdas/control.ts"),
    import("../../lambdas/authorizer.ts"),
    import("../../lambdas/redrive.ts"),
    import("../../lambdas/fire.ts"),
  ]);
  return {
    http: { submit: submit.handler as never, status: status.handler as never, control: control.handler as never },
    authorizer: authorizer.handler as never,
    redrive: redrive.handler,
    fire: fire.handler,
  };
}

type Functions = Pick<Awaited<ReturnType<typeof loadFunctions>>, "redrive" | "fire">;

/** Worker processes and event sources for each tier, and redrive and fire in this process, as they run no user's code. */
function startConsumers(
  sqs: Sqs,
  { redrive, fire }: Functions,
  print: (line: string) => void,
  cleanups: Cleanups,
): void {
  sqs.store.releaseAll();
  const pools = tiers.map((tier) => {
    const pool = new WorkerPool({ env: toEnv({ tier }), most: mostWorkers, onExit: print });
    pool.warm();
    return {
      pool,
      stop: startEventSource({ store: sqs.store, queue: queueName(tier), target: pool, onFailure: () => {} }),
    };
  });
  const source = (queue: string, invoke: Target["invoke"]) =>
    startEventSource({
      store: sqs.store,
      queue,
      target: { free: () => Promise.resolve(), invoke },
      onFailure: (error) => print(`what came by ${queue} failed: ${String(error)}`),
    });
  const stopRedrive = source(redriveQueue, redrive);
  const stopFirings = source(firingsQueue, async (event) => {
    await fire(event, fireContext);
    return { batchItemFailures: [] };
  });
  cleanups.push(async () => {
    const stopped = Promise.all([stopRedrive(), stopFirings(), ...pools.map(({ stop }) => stop())]);
    await Promise.race([stopped, new Promise((done) => setTimeout(done, stopGraceMs).unref())]);
    await Promise.all(pools.map(({ pool }) => pool.close()));
  });
}
