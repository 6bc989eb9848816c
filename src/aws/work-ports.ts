import { FlowBook } from "../core/extras/limits/flow-book.ts";
import { isLimited, limiter, loadLimits } from "../core/extras/limits/index.ts";
import { countingRecords, Releases } from "../core/limits/quota.ts";
import type { StackOf } from "../core/model/stack.ts";
import { sayLater } from "../core/pipeline/send/dispatch.ts";
import type { WorkPorts } from "../core/pipeline/work/work-message.ts";
import { setProbeCounters } from "../core/ports/probe-counters.ts";
import type { Log, OnceStore } from "../core/ports/tasks.ts";
import { type KnownType, knownTypesOf } from "../core/task/catalog.ts";
import type { TaskType } from "../core/task/task.ts";
import type { Config } from "../settings/config.ts";
import { lazily } from "../util/lazily.ts";
import type { ChildrenPorts } from "./children.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { endingPorts } from "./ending-ports.ts";
import { addPlacesToFetch } from "./fetch-places.ts";
import { DynamoFlowSettings } from "./flow-settings.ts";
import { newId, randomBytes } from "./ids.ts";
import { lazyPort } from "./lazy-port.ts";
import { createLog } from "./log.ts";
import { DynamoRecords } from "./records.ts";
import type { SchedulerConfig } from "./scheduler-settings.ts";
import { DynamoStepStore } from "./step-store.ts";
import { createTracing } from "./tracing.ts";
import { threadWatchdog } from "./watchdog.ts";
import { dispatchPorts, dispatchSettings } from "./wiring.ts";
import { useTypes, type WorkerCode } from "./worker-types.ts";

/** The settings that `workPorts` reads. */
export const workerSettings = [...dispatchSettings, "probes", "timeScale", "secrets", "apiUrl"] as const;

/** Reads source maps, which only a failed attempt needs. */
const bundleStackOf: StackOf = async (error) => (await import("./bundle-places.ts")).bundleStackOf(error);

/**
 * The ports that dispatch tasks and end them, and those of flow. A worker reads the settings of flow in any case, and
 * the marks of receivers with them.
 */
function flowingPorts(config: Config<(typeof dispatchSettings)[number]>, log: Log) {
  const base = dispatchPorts(config, log);
  const flowSettings = new DynamoFlowSettings(base.table);
  const flow = new FlowBook({ ...base, flowSettings });
  const notices = { ...base.notices, receives: (tenantId: string) => flow.receives(tenantId) };
  const steps = new DynamoStepStore(base.table);
  return { ...base, ...endingPorts(base.table, steps), notices, flow, flowSettings, steps };
}

/** Loads what tasks of these types need, before the first of them comes. */
async function preload(types: readonly TaskType[]): Promise<void> {
  if (types.some(isLimited)) await Promise.all([loadLimits(), import("./wait-queues.ts")]);
  if (types.some(({ children }) => children !== undefined))
    await Promise.all([import("../core/extras/children/spawner.ts"), import("./children.ts"), import("./families.ts")]);
}

/** The lines, which few workers need. */
async function linesOf({
  table,
  clock,
  ...say
}: Pick<WorkPorts, "clock" | "log" | "metrics"> & { table: DynamoTable }) {
  const { DynamoWaitQueues } = await import("./wait-queues.ts");
  return new DynamoWaitQueues(table, clock.now, (error) => sayLater(say, error));
}

const signalUrlsOf = (table: DynamoTable, { apiUrl }: Config<"apiUrl">): NonNullable<WorkPorts["signalUrls"]> => ({
  links: lazyPort(async () => new (await import("./signal-links.ts")).DynamoSignalLinks(table)),
  randomBytes,
  apiUrl,
});

/** The ports that the process itself has. */
export type MachinePorts = Required<Pick<WorkPorts, "disk" | "turn" | "loadFollow">>;

/** The ports by which handlers create tasks and schedules. Their code loads with their first use. */
function handlerPorts(
  ports: ChildrenPorts & { table: DynamoTable },
  config: SchedulerConfig,
  env: NodeJS.ProcessEnv,
): Pick<WorkPorts, "submitChild" | "createChild" | "rejoinChild" | "handlerSchedules"> {
  const children = lazyPort(async () => (await import("./children.ts")).childrenPorts(ports));
  return {
    submitChild: children.submitChild,
    createChild: children.createChild,
    rejoinChild: children.rejoinChild,
    handlerSchedules: lazyPort(async () =>
      (await import("./handler-schedules.ts")).handlerSchedulesOf(config, ports, env),
    ),
  };
}

/** Ports in place of those of a deployed worker. */
export type OwnPorts = Partial<Pick<WorkPorts, "clock" | "watchdog" | "stackOf">>;

/**
 * Creates the ports of a worker.
 * @param service The worker's name in its log lines.
 * @param code The types of all files in `tasks/`.
 * @param env The process's environment, from which handlers read their secrets.
 */
export async function workPorts(
  config: Config<(typeof workerSettings)[number]>,
  service: string,
  code: WorkerCode,
  { own, env, ...machine }: MachinePorts & { own: OwnPorts; env: NodeJS.ProcessEnv },
) {
  addPlacesToFetch();
  const { table, flow, flowSettings, steps, ...base } = flowingPorts(config, createLog(service));
  // Few types use them.
  setProbeCounters(lazyPort(async () => new (await import("./once-store.ts")).DynamoCounters(table)));
  const once = lazyPort<OnceStore>(async () => new (await import("./once-store.ts")).DynamoOnceStore(table));
  const known = new Map<string, KnownType>();
  const registry = new Map<string, TaskType>();
  const loadOwnTypes = lazily(async () => {
    const { ownTypes } = await import("./own-types.ts");
    for (const type of ownTypes({ ...base, table, types: known, newId, once, steps }, config))
      registry.set(type.name, type);
  });
  const use = (types: readonly TaskType[]) => {
    for (const type of types) registry.set(type.name, type);
    for (const [name, type] of knownTypesOf(types)) known.set(name, type);
  };
  const life = await useTypes(code, config, { ...base, env, service }, use);
  await preload([...registry.values()]);
  const releases = new Releases(base);
  const tracing = await createTracing();
  const ports: WorkPorts = {
    ...{ ...base, newId, signalUrls: signalUrlsOf(table, config) },
    records: countingRecords(new DynamoRecords(table, config.listShards), (...ended) => releases.add(...ended)),
    once,
    steps,
    registry,
    loadOwnTypes,
    random: Math.random,
    ...machine,
    timeScale: config.timeScale,
    tracing,
    watchdog: threadWatchdog(),
    lines: lazyPort(() => linesOf({ ...base, table })),
    flowSettings,
    flow,
    limiter,
    audit: lazyPort(async () => new (await import("./audit-log.ts")).DynamoAuditLog(table)),
    stackOf: bundleStackOf,
    ...handlerPorts({ ...base, table, types: known }, config, env),
    ...own,
  };
  return { ports, releases, tracing, metrics: base.metrics, life };
}
