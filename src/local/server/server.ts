import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { openApiDocument } from "../../api/openapi/document.ts";
import { timeOfLine } from "../../aws/log.ts";
import type { WorkerEnvironment } from "../../code/describe/worker-environment.ts";
import { tasksFolder } from "../../code/project/task-folder.ts";
import { offloadSource } from "../../core/schedules/bus-event.ts";
import type { AppTrigger, EventFiring } from "../../core/schedules/trigger.ts";
import { packageVersion } from "../../installed/installation.ts";
import { localBucket, localTable, objectDays, toEnv } from "../../settings/config.ts";
import { type CloudWatch, startCloudWatch } from "../cloudwatch/cloudwatch.ts";
import { functionEnvironment, logFileIn } from "../deployment/environment.ts";
import { loadProject, type Project } from "../deployment/project.ts";
import { firingsQueue, localDeployment, notifyQueue, queueSpecs } from "../deployment/resources.ts";
import type { LocalSettings } from "../deployment/settings.ts";
import { openDoors } from "../direct/doors.ts";
import { DiskFault, DiskFaults } from "../disk/disk-faults.ts";
import { noteRelease } from "../disk/folder-release.ts";
import { keepPrivate } from "../disk/private-state.ts";
import { startPurge } from "../dynamodb/purge.ts";
import { startTable, type Table } from "../dynamodb/table.ts";
import { type LocalEventBus, startEventBus } from "../events/event-bus.ts";
import type { EventLog } from "../events/event-log.ts";
import { withQuietEnds } from "../events/quiet-ends.ts";
import { busyMachineLimits, startGateway } from "../gateway/gateway.ts";
import { Submits } from "../gateway/submits.ts";
import { channelPath, startWebSockets, type WebSockets } from "../gateway/web-sockets.ts";
import { type Functions, loadFunctions } from "../lambda/functions.ts";
import type { Endpoint } from "../net/endpoint.ts";
import { type S3, startS3 } from "../s3/s3.ts";
import { deadLetterOf } from "../scheduler/dead-letter.ts";
import { type Scheduler, type SchedulerOptions, startScheduler } from "../scheduler/scheduler.ts";
import type { QueueStore } from "../sqs/queue-store.ts";
import { type Sqs, startSqs } from "../sqs/sqs.ts";
import { watchClock } from "../time/clock-watch.ts";
import { serverNow } from "../time/moved-time.ts";
import { boundCompiled } from "../workers/compiled-code.ts";
import { type Consumers, startConsumers } from "../workers/consumers.ts";
import { SpareWorker } from "../workers/spare-worker.ts";
import { openClock, type ServerClock } from "./clock.ts";
import { openDirectSubmit, publishCatalog } from "./direct-submit.ts";
import { localRoutes } from "./local-routes.ts";
import { resendOpenTasks } from "./open-tasks.ts";
import { mendNewFiles, prepareScheduler, prepareTable, tellDeployed } from "./prepare.ts";
import { withReloadHint } from "./reload-hint.ts";
import { startClock } from "./start-clock.ts";

type Cleanups = (() => Promise<void> | void)[];

export interface LocalServer {
  url: string;
  dynamodbUrl: string;
  sqsUrl: string;
  s3Url: string;
  /** EventBridge, for PutEvents. */
  eventsUrl: string;
  /** File of the recorded spans. Undefined: tracing is off. */
  spansFile: string | undefined;
  /** Names of the task types that it started with. */
  types: readonly string[];
  close(): Promise<void>;
}

/**
 * Starts the whole deployment on this machine: emulators of DynamoDB, SQS, S3, EventBridge and its Scheduler, the real
 * functions behind a gateway, and worker processes. A process can have only one server, because the functions read
 * their settings from the process's environment.
 * @param print Receives each line of the log.
 * @param known The project, when it is loaded already. Default: it is built and loaded.
 * @throws EADDRINUSE with the port in its message; TaskFileError
 */
export async function startServer(
  settings: LocalSettings,
  print: (line: string) => void,
  known?: Project,
): Promise<LocalServer> {
  const loadedAtMs = Date.now();
  const clock = openClock(settings, print);
  const app = known ?? (await loadProject(tasksFolder(), settings.probes));
  printMissing(app.environment, print);
  keepPrivate(settings.stateDir, print);
  const log = (line: string) => print(`${timeOfLine(serverNow())} ${line}`);
  const faults = new DiskFaults(log);
  const { stateDir } = settings;
  const cleanups: Cleanups = [() => app.code[Symbol.dispose](), watchClock(log)];
  const close = async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  };
  const opened = openedInto(cleanups);
  try {
    // The table starts first: it refuses a folder that another server uses, before this server changes a file in it.
    const table = await opened(startTable({ port: settings.dynamodbPort, stateDir, faults, kept: localTable }));
    const filesDir = filesDirOf(settings, app, cleanups, print);
    const sqs = await opened(startSqs({ port: settings.sqsPort, stateDir, queues: queueSpecs(), faults }));
    const cloudWatch = await opened(startCloudWatch(sqs.store, { logFile: logFileIn(filesDir) }));
    const eventBus = await opened(startEvents(sqs.store, app.triggers, log));
    const s3 = await opened(startBucket(settings, faults));
    let fire: (event: unknown) => Promise<void> = () => Promise.reject(new Error("the local server is still starting"));
    const runFire = clock.counting((event) => fire(event));
    const scheduler = await opened(startSchedules({ stateDir, faults, sqs, fire: runFire }));
    const webSockets = await opened(
      startWebSockets({ handler: (...event) => functions.socket(...event), onEvent: log }),
    );
    const parts = { table, sqs, scheduler, cloudWatch, eventBus, s3, webSockets, filesDir };
    cleanups.push(useParts(settings, parts));
    const spansFile = settings.tracing ? await startTracing(settings, filesDir) : undefined;
    await prepareState({ settings, app, filesDir, table, sqs, scheduler }, print);
    const purging = startPurge({ url: table.url, table: localTable, giveRoomBack: table.giveRoomBack });
    cleanups.push(purging.stop);
    const functions = await loadFunctions();
    fire = (event) => functions.fire(event);
    const [submits, isMoved] = [new Submits(), () => clock.moving !== undefined];
    // Workers know the API's URL. No request comes before they have started, as nothing waits in between.
    const gateway = await openGateway(functions, { webSockets, events: eventBus.log, submits, clock }, settings, log);
    const consumers = startConsumers(sqs.store, consumersOf(functions), app, log, { ...settings, submits, isMoved });
    cleanups.push(() => consumers.stop());
    cleanups.push(startClock(clock, { scheduler, consumers, submits, functions, purging, s3, sqs, filesDir }));
    cleanups.push(() => gateway.close());
    if (settings.reload) {
      const deployed = () => tellDeployed(sqs.store);
      const parts = { functions, consumers, events: eventBus.log, filesDir, settings, project: app, loadedAtMs, print };
      cleanups.push(await reload({ ...parts, deployed }));
    } else {
      for (const { message } of app.problems) print(`Not loaded, the other types run: ${message}`);
    }
    const urls = { dynamodbUrl: table.url, sqsUrl: sqs.url, s3Url: s3.url, eventsUrl: eventBus.url };
    return { url: gateway.url, ...urls, spansFile, types: app.catalog.map(({ name }) => name), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Tells the functions and workers where the parts are. Returns a function that ends their calls without HTTP. */
function useParts(settings: LocalSettings, parts: Parameters<typeof functionEnvironment>[1] & DirectParts): () => void {
  Object.assign(process.env, functionEnvironment(settings, parts));
  const { table, sqs, cloudWatch, eventBus, webSockets } = parts;
  const events = { events: eventBus.log, source: offloadSource + localDeployment, hasChannels: webSockets.areUsed };
  const queues = withQuietEnds(sqs.call, { ...events, queue: notifyQueue });
  return openDoors({ dynamodb: table.call, sqs: queues, events: eventBus.call, measured: cloudWatch.measured });
}

type DirectParts = {
  table: Table;
  sqs: Sqs;
  cloudWatch: CloudWatch;
  eventBus: LocalEventBus;
  webSockets: WebSockets;
};

type StateParts = { settings: LocalSettings; app: Project; filesDir: string } & {
  table: Table;
  sqs: Sqs;
  scheduler: Scheduler;
};

/** Makes what the last server left ready for this one: its table, its schedules, and the messages of its open tasks. */
async function prepareState(
  { settings, app, filesDir, table, sqs, scheduler }: StateParts,
  print: (line: string) => void,
): Promise<void> {
  const waits = { store: sqs.store, scheduler };
  const openTasks = await prepareTable(settings.keys, print);
  await openDirectSubmit(filesDir);
  await prepareScheduler(app.schedules);
  tellDeployed(sqs.store);
  if (!table.isNew) await mendNewFiles(waits, print);
  await resendOpenTasks(openTasks, waits, print);
}

/** Logs requests, those that only read and succeed with `--verbose` only: pages and programs poll. */
const requestLog =
  ({ verbose }: LocalSettings, log: (line: string) => void) =>
  (line: string): void => {
    if (verbose || !/^(GET|HEAD|OPTIONS) \S+ [23]\d\d /.test(line)) log(line);
  };

/** The functions that read queues. A reload replaces them. */
const consumersOf = (functions: Functions): Pick<Functions, "redrive" | "fire" | "notify"> => ({
  redrive: (event) => functions.redrive(event),
  fire: (event) => functions.fire(event),
  notify: (event) => functions.notify(event),
});
/** Returns a function that waits until a part has started, and adds its end to the cleanups. */
const openedInto =
  (cleanups: Cleanups) =>
  async <Part extends { close(): Promise<void> }>(starting: Promise<Part>): Promise<Part> => {
    const part = await starting;
    cleanups.push(() => part.close());
    return part;
  };

/** Starts EventBridge Scheduler, which calls fire. */
async function startSchedules({
  sqs,
  fire,
  ...options
}: Pick<SchedulerOptions, "stateDir" | "faults"> & { sqs: Sqs; fire: Functions["fire"] }): Promise<Scheduler> {
  return startScheduler({
    port: 0,
    ...options,
    fire: ({ input }) => fire(JSON.parse(input)),
    sendToDlq: async (lost) => {
      sqs.store.send(firingsQueue, deadLetterOf(lost));
    },
  });
}

/**
 * Starts EventBridge. An event goes to fire by the queue of firings: so it survives the end of this process, and is
 * tried again.
 */
async function startEvents(
  store: QueueStore,
  triggers: readonly AppTrigger[],
  log: (line: string) => void,
): Promise<LocalEventBus> {
  const deliver = (firing: EventFiring) => void store.send(firingsQueue, { body: JSON.stringify(firing) });
  const eventBus = await startEventBus({ deliver, log });
  eventBus.log.use(triggers);
  return eventBus;
}

interface GatewayParts {
  webSockets: WebSockets;
  events: EventLog;
  submits: Submits;
  clock: ServerClock;
}

/**
 * Opens the API's port, also for WebSocket connections. Its close ends these first, because the port waits for them.
 */
async function openGateway(
  functions: Functions,
  { webSockets, events, submits, clock }: GatewayParts,
  settings: LocalSettings,
  log: (line: string) => void,
): Promise<Endpoint> {
  const { port } = settings;
  const onRequest = requestLog(settings, log);
  const upgrade = { path: channelPath, upgrade: webSockets.upgrade };
  // A reset of the clock replaces it.
  const authorizer = (event: never) => functions.authorizer(event);
  const parts = { authorizer, handlers: functions.http, local: localRoutes(events, clock), webSockets: upgrade };
  const gateway = await startGateway({ ...functions, ...parts, port, onRequest, limits: busyMachineLimits, submits });
  const { url: apiUrl } = gateway;
  Object.assign(process.env, toEnv({ apiUrl, socketUrl: `${gateway.url.replace(/^http/, "ws")}${channelPath}` }));
  const close = () => webSockets.close().then(() => gateway.close());
  return { ...gateway, close };
}

/** Starts S3 with the deployment's bucket. */
function startBucket({ stateDir }: LocalSettings, faults: DiskFaults): Promise<S3> {
  const lifecycle = [{ bucket: localBucket, prefix: "", days: objectDays }];
  return startS3({ port: 0, stateDir, buckets: [localBucket], lifecycle, faults });
}

/** Prints which declared names have no value, and which values of `.env` nobody reads. */
function printMissing({ missing, shellOnly }: WorkerEnvironment, print: (line: string) => void): void {
  if (missing.length > 0) {
    const names = missing.join(", ");
    print(`Declared in tasks/environment.ts, but without a value here: ${names}. Set them in .env or in the shell.`);
  }
  if (shellOnly.length > 0) {
    print(
      `In .env, but not read from there: ${shellOnly.join(", ")}. Set them in the shell: export ${shellOnly[0]}=...`,
    );
  }
}

/** Undefined: the workers have debuggers from their start on. */
const spareOf = ({ inspectPort }: LocalSettings): SpareWorker | undefined =>
  inspectPort !== undefined ? undefined : new SpareWorker();

/** Keeps a running server in step with the task files. */
async function reload({
  functions,
  consumers,
  events,
  filesDir,
  settings,
  project,
  loadedAtMs,
  deployed,
  print,
}: {
  functions: Functions;
  consumers: Consumers;
  events: EventLog;
  filesDir: string;
  settings: LocalSettings;
  project: Project;
  loadedAtMs: number;
  deployed: () => void;
  print: (line: string) => void;
}): Promise<() => Promise<void>> {
  const { probes } = settings;
  const spare = spareOf(settings);
  let version = 0;
  let problem = "";
  let inUse: Project | undefined = project;
  const renewed: Project[] = [];
  functions.http.submit = withReloadHint(functions.http.submit, () => problem);
  // Loads a bundler, which a server that does not reload does not need.
  const { reloadOnChange } = await import("./reload.ts");
  const stop = await reloadOnChange({
    folder: tasksFolder(),
    ...{ probes, spare, project, loadedAtMs },
    print,
    onProblem: (found) => {
      problem = found;
    },
    async use(app) {
      renewed.push(app);
      // First the workers: the API accepts a new type once they can run it.
      await consumers.renewWorkers(app, spare?.take(app.code.file));
      spare?.prepare();
      deployed();
      if (inUse !== undefined && isDeepStrictEqual(readByFunctions(app), readByFunctions(inUse))) return;
      inUse = undefined;
      writeAppFiles(filesDir, app);
      await publishCatalog(filesDir);
      version += 1;
      const { http, ...others } = await loadFunctions(version);
      // The gateway holds the object of the handlers.
      Object.assign(functions.http, { ...http, submit: withReloadHint(http.submit, () => problem) });
      Object.assign(functions, others);
      events.use(app.triggers);
      await prepareScheduler(app.schedules);
      inUse = app;
    },
  });
  spare?.prepare();
  // The cache may be gone, or not be writable: then workers compile, and that is all.
  void boundCompiled().catch(() => {});
  return async () => {
    await stop();
    spare?.close();
    // Attempts of all of them may have run until now.
    for (const { code } of renewed) code[Symbol.dispose]();
  };
}

/**
 * Folder of the catalogue, the app's schedules and triggers, the OpenAPI document and the cursor key. It is temporary
 * when the server keeps no state.
 * @throws Error that names the file that could not be written, or a later release that has written to the folder
 */
function filesDirOf(settings: LocalSettings, app: Project, cleanups: Cleanups, print: (line: string) => void): string {
  noteRelease(settings.stateDir, print);
  const dir = settings.stateDir === undefined ? mkdtempSync(join(tmpdir(), "offload-")) : resolve(settings.stateDir);
  if (settings.stateDir === undefined) cleanups.push(() => rmSync(dir, { recursive: true, force: true }));
  writeAppFiles(dir, app);
  return dir;
}

/** The part of a project that is not its code: a change of a handler leaves it as it is. */
const readByFunctions = ({ catalog, schedules, triggers }: Project) => ({ catalog, schedules, triggers });

/** Writes what the functions read when they load. */
function writeAppFiles(dir: string, { catalog, schedules, triggers }: Project): void {
  writeJson(join(dir, "catalog.json"), catalog);
  writeJson(join(dir, "schedules.json"), schedules);
  writeJson(join(dir, "triggers.json"), triggers);
  writeJson(join(dir, "openapi.json"), openApiDocument(catalog, packageVersion()));
}

function writeJson(path: string, value: unknown): void {
  try {
    writeFileSync(path, JSON.stringify(value));
  } catch (cause) {
    throw new DiskFault(path, cause);
  }
}

/**
 * Turns on tracing for the functions in this process and in the worker processes. The spans of the last start are kept
 * in `<file>.old`, older ones are deleted. Returns the file.
 */
async function startTracing({ spansFile }: LocalSettings, filesDir: string): Promise<string> {
  const file = spansFile ?? join(filesDir, "spans.jsonl");
  if (existsSync(file)) renameSync(file, `${file}.old`);
  Object.assign(process.env, { OFFLOAD_TRACING: "1", OFFLOAD_SPANS_FILE: file });
  const { keepSpans } = await import("../traces/spans.ts");
  keepSpans(file);
  return file;
}
