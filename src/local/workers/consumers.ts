import type { ChildProcess } from "node:child_process";
import { type Tier, tiers } from "../../core/model/words.ts";
import { toEnv } from "../../settings/config.ts";
import type { Project } from "../deployment/project.ts";
import { firingsQueue, notifyQueue, queueName, redriveQueue } from "../deployment/resources.ts";
import type { LocalSettings } from "../deployment/settings.ts";
import type { Submits } from "../gateway/submits.ts";
import { Bounded } from "../lambda/bounded.ts";
import { startEventSource, type Target } from "../lambda/event-source.ts";
import type { Functions } from "../lambda/functions.ts";
import type { QueueStore } from "../sqs/queue-store.ts";
import { Activity } from "../time/activity.ts";
import type { Player } from "../time/mover.ts";
import { startContainerWorker } from "./container-worker.ts";
import { holdingBatches } from "./debug-hold.ts";
import { codeVariable } from "./local-code.ts";
import { type PoolOptions, WorkerPool } from "./worker-pool.ts";

/** Worker processes of one tier at most: about the share of a tier in a small AWS account. */
const maxWorkers = 8;

/** The tier of tasks of which nobody says another: its worker starts with the server. */
const usualTier: Tier = "normal";

/**
 * The workers of the other tiers start one each time that this passes, in milliseconds, or with their first message:
 * the start of a process takes half a second of a processor from the tasks that run meanwhile.
 */
const warmEachMs = 3_000;

/** Invocations of notify at the same time: half of those of a deployment. */
const maxNotifies = 20;

/** Longest wait for running batches when the server stops. */
const stopGraceMs = 2_500;

export interface Consumers {
  /**
   * Replaces the workers by new processes, which load this code, with its environment. Resolves when these have
   * started.
   * @param loaded A process that has loaded the code: it becomes the first worker, and the others start after it.
   */
  renewWorkers(project: Project, loaded?: ChildProcess): Promise<void>;
  /** Replaces the workers by new processes with the same code. */
  restart(): void;
  /** Their parts in a move of the server's clock. */
  players: readonly Player[];
  stop(): Promise<void>;
}

interface ConsumerSettings extends Pick<LocalSettings, "inspectPort" | "containerConcurrency"> {
  submits: Submits;
  /** True while the server's clock is moved. */
  isMoved(): boolean;
}

/**
 * Starts the functions that read queues. Workers run in processes of their own, as they run the user's handlers;
 * redrive and fire run in this process. The settings' `inspectPort` is the debugger port of the first tier's worker;
 * the other tiers have the next ones. Each tier then has one worker.
 */
export function startConsumers(
  store: QueueStore,
  { redrive, fire, notify }: Pick<Functions, "redrive" | "fire" | "notify">,
  project: Project,
  log: (line: string) => void,
  settings: ConsumerSettings,
): Consumers {
  store.releaseAll();
  let present = project;
  const onUndeclared = onceForEach((name) => {
    if (!present.environment.missing.includes(name)) log(undeclaredLine(name));
  });
  const env = () => ({
    ...present.environment.values,
    OFFLOAD_UNDECLARED: present.environment.undeclared.join(),
    [codeVariable]: present.code.file,
  });
  const containers = startContainerWorker(store, settings.containerConcurrency, env);
  const { workerFolder } = project;
  const activity = new Activity();
  const pools = startTiers(store, { env, workerFolder, onExit: log, onUndeclared }, { ...settings, activity });
  const stopWarming = warmAll(pools, settings);
  const startSource = (queue: string, invoke: Target["invoke"]) =>
    startEventSource({
      store,
      queue,
      ...{ target: { free: () => Promise.resolve(), invoke }, activity, isAlone: settings.isMoved },
      onFailure: (error) => log(`Could not process a message of the queue ${queue}: ${String(error)}`),
    });
  const stopRedrive = startSource(redriveQueue, redrive);
  const notifies = new Bounded(maxNotifies);
  const stopNotices = startEventSource({
    store,
    queue: notifyQueue,
    target: { free: () => notifies.free(), invoke: (event) => notifies.run(() => notify(event)) },
    ...{ activity, isAlone: settings.isMoved },
    onFailure: (error) => log(`Could not process notices: ${String(error)}`),
  });
  const stopFirings = startSource(firingsQueue, async (event) => {
    await fire(event);
    return { batchItemFailures: [] };
  });
  const stop = async () => {
    stopWarming();
    const stopped = Promise.all([stopRedrive(), stopFirings(), stopNotices(), ...pools.map(({ stop }) => stop())]);
    await Promise.race([stopped, new Promise((done) => setTimeout(done, stopGraceMs).unref())]);
    await Promise.all([containers.stop(), ...pools.map(({ pool }) => pool.close())]);
  };
  const renewWorkers = async (renewed: Project, loaded?: ChildProcess) => {
    present = renewed;
    containers.renew();
    if (loaded !== undefined) return useLoaded(pools, loaded);
    const started = await Promise.all(pools.map(({ pool }) => pool.renew()));
    if (started.includes(false)) throw new Error("a worker process did not start");
  };
  const players = [playerOf(store, pools, activity), containers.player];
  const restart = () => {
    containers.renew();
    for (const { pool } of pools) pool.restart();
  };
  return { renewWorkers, restart, players, stop };
}

/** The part of the functions that read queues in a move of the server's clock. */
function playerOf(store: QueueStore, pools: readonly TierWorkers[], activity: Activity): Player {
  const queues = [...tiers.map(queueName), redriveQueue, firingsQueue, notifyQueue];
  return {
    nextAt: () => store.nextAt(queues),
    busyWith: () => {
      const [task] = pools.flatMap(({ pool }) => pool.tasks);
      if (task !== undefined) return `a task: ${task}`;
      const queue = queues.find((name) => store.counts(name).visible > 0);
      if (queue !== undefined) return `a message of the queue ${queue}`;
      return activity.isIdle ? undefined : "a function";
    },
  };
}

/** The workers of one tier. */
interface TierWorkers {
  tier: Tier;
  pool: WorkerPool;
  /** Stops receiving, and waits for running batches. */
  stop(): Promise<void>;
}

/** Starts the workers of each tier, and receives their messages. */
function startTiers(
  store: QueueStore,
  options: Pick<PoolOptions, "env" | "workerFolder" | "onExit" | "onUndeclared">,
  { inspectPort, submits, isMoved, activity }: ConsumerSettings & { activity: Activity },
): TierWorkers[] {
  const targetOf = (pool: WorkerPool, tier: Tier): Target => {
    if (inspectPort === undefined) return pool;
    return { free: () => pool.free(), invoke: holdingBatches(store, queueName(tier), (event) => pool.invoke(event)) };
  };
  return tiers.map((tier, index) => {
    const inspected = inspectPort === undefined ? {} : { inspectPort: inspectPort + index };
    const maxProcesses = inspectPort === undefined ? maxWorkers : 1;
    const env = () => ({ ...options.env(), ...toEnv({ tier }) });
    const pool = new WorkerPool({ ...options, env, maxProcesses, ...inspected });
    const stop = startEventSource({
      store,
      queue: queueName(tier),
      target: targetOf(pool, tier),
      incoming: () => submits.open,
      isAlone: isMoved,
      activity,
      onFailure: () => {},
    });
    return { tier, pool, stop };
  });
}

/** Starts the usual tier's worker, and the others' while no task runs. Returns a function that stops it. */
function warmAll(pools: readonly TierWorkers[], { inspectPort, submits }: ConsumerSettings): () => void {
  // A debugger may be attached to any of them.
  const atOnce = ({ tier }: TierWorkers) => tier === usualTier || inspectPort !== undefined;
  for (const { pool } of pools.filter(atOnce)) pool.warm();
  const cold = pools.filter((workers) => !atOnce(workers));
  const timer = setInterval(() => {
    if (cold.length === 0) clearInterval(timer);
    else if (submits.open === 0 && !pools.some(({ pool }) => pool.busy)) cold.shift()?.pool.warm();
  }, warmEachMs).unref();
  return () => clearInterval(timer);
}

/**
 * The process becomes the worker of the tier that tasks have if nobody says so. The code is good, so the other tiers'
 * old workers end at once.
 */
async function useLoaded(pools: readonly TierWorkers[], loaded: ChildProcess): Promise<void> {
  const started = await pools.find(({ tier }) => tier === usualTier)?.pool.renew(loaded);
  if (started !== true) throw new Error("a worker process did not start");
  for (const { tier, pool } of pools) if (tier !== usualTier) pool.restart();
}

const undeclaredLine = (name: string): string =>
  `A handler read process.env.${name}, which is not declared, so it is undefined. Declare it in tasks/environment.ts and ` +
  "set its value in .env, or in the shell.";

/** Calls back once for each value. */
function onceForEach(call: (value: string) => void): (value: string) => void {
  const seen = new Set<string>();
  return (value) => {
    if (seen.has(value)) return;
    seen.add(value);
    call(value);
  };
}
