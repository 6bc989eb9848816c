import { randomBytes } from "node:crypto";
import { operationTypes } from "../../src/core/control/run-operation.ts";
import { rejoinChild, spawnChild } from "../../src/core/extras/children/child.ts";
// Loaded before it is used: time that a test moves does not wait for code.
import "../../src/core/control/cancel-others.ts";
import "../../src/core/control/run-operation.ts";
import "../../src/core/pipeline/work/late-code.ts";
import { supersede } from "../../src/core/control/cancel-others.ts";
import { FlowBook } from "../../src/core/extras/limits/flow-book.ts";
import { limiter, loadLimits } from "../../src/core/extras/limits/index.ts";
import { followers } from "../../src/core/extras/list.ts";
import { submitUnique } from "../../src/core/extras/unique/submit-unique.ts";
import type { Envelope } from "../../src/core/model/envelope.ts";
import { iso, type TaskKey, type TaskRecord } from "../../src/core/model/record.ts";
import { plainStackOf } from "../../src/core/model/stack.ts";
import { type Tier, tiers } from "../../src/core/model/words.ts";
import { submit } from "../../src/core/pipeline/submit/submit.ts";
import type { SubmitCall } from "../../src/core/pipeline/submit/submit-ports.ts";
import { isUsualBody } from "../../src/core/pipeline/submit/usual-body.ts";
import { redriveBatch } from "../../src/core/pipeline/work/redrive.ts";
import { workBatch } from "../../src/core/pipeline/work/work.ts";
import type { Verdict } from "../../src/core/ports/queues.ts";
import { noTracing } from "../../src/core/ports/tasks.ts";
import { lookAtLines } from "../../src/core/schedules/deployed.ts";
import { fireTask } from "../../src/core/schedules/fire-task.ts";
import { handlerSchedules } from "../../src/core/schedules/handler-schedules.ts";
import { reconcile } from "../../src/core/schedules/reconcile.ts";
import { knownTypesOf } from "../../src/core/task/catalog.ts";
import { internalOptions } from "../../src/core/task/internal-types.ts";
import { registry, type TaskType } from "../../src/core/task/task.ts";
import { disk } from "../../src/machine/disk.ts";
import { follow } from "../../src/machine/follow.ts";
import { FakeClock } from "../../src/memory/clock.ts";
import { MemoryDeliveries } from "../../src/memory/deliveries.ts";
import { MemoryDeployments } from "../../src/memory/deployments.ts";
import { MemoryOpenTasks } from "../../src/memory/open-tasks.ts";
import { MemoryCounters } from "../../src/memory/others.ts";
import { MemoryReceivers } from "../../src/memory/receivers.ts";
import { memoryStores, nextMoment } from "../../src/memory/stores.ts";
import type { ObjectRole } from "../../src/settings/object-rights.ts";
import { operator } from "./identities.ts";
import { sameIds } from "./ids.ts";
import { inRole } from "./in-role.ts";
import { KeptLog, KeptMetrics, KeptWatchdog } from "./kept.ts";
import { echo } from "./task-types.ts";

await loadLimits();

export interface PipelineOptions {
  /** Default: a number that leaves waits unlengthened. */
  random?: () => number;
  /** Default: 1. */
  timeScale?: number;
}

/** How long SQS hides a message that its worker does not hold, in seconds. */
export const queueVisibilitySeconds = 5400;

/** What a worker has left at its start, in seconds. */
export const workerSeconds = 900;

const roleOfWorker = (tier: Tier): ObjectRole =>
  tier === internalOptions.sweep.priority ? "internalWorker" : "worker";

/** A whole pipeline in memory, with a clock of its own: submit, work, redrive and fire as the functions wire them. */
export function memoryPipeline(types: readonly TaskType[] = [echo], options: PipelineOptions = {}) {
  const clock = new FakeClock();
  const children: { parent: TaskRecord; child: unknown; key: string }[] = [];
  const log = new KeptLog();
  const stored = memoryStores(clock);
  const stores = { ...stored, extras: followers(stored.steps) };
  const own = {
    ...stores,
    flow: new FlowBook({ ...stores, log }),
    limiter,
    submitUnique,
    supersede: (record: TaskRecord, envelope?: Envelope): Promise<TaskRecord> =>
      supersede(inRole("submit", own), record, envelope),
    disk,
    loadFollow: async () => follow,
    counters: new MemoryCounters(),
    log,
    metrics: new KeptMetrics(),
    tracing: noTracing,
    stackOf: plainStackOf,
    watchdog: new KeptWatchdog(),
    types: knownTypesOf(types),
    isUsualBody,
    newId: sameIds("pipeline"),
    random: options.random ?? (() => 0),
    timeScale: options.timeScale ?? 1,
    links: stores.signalLinks,
    signalUrls: { links: stores.signalLinks, randomBytes, apiUrl: "https://api.example.com" },
    submitChild: async (parent: TaskRecord, child: unknown, key: string) => {
      children.push({ parent, child, key });
      return `child-${children.length}`;
    },
  };
  const deliveries = new MemoryDeliveries();
  const receivers = new MemoryReceivers();
  const letters = { deadLetterQueues: own.queues, depths: own.queues, deliveries, receivers };
  const ports = {
    ...own,
    deliveries,
    receivers,
    registry: registry([...types, ...operationTypes({ ...own, ...letters })]),
    createChild: spawnChild(own),
    rejoinChild: rejoinChild(own),
    handlerSchedules: handlerSchedules(own),
    deployments: new MemoryDeployments(),
    lookAtLines: (deadlineMs: number) =>
      lookAtLines({ ...own, openTasks: new MemoryOpenTasks(own.records) }, deadlineMs),
    reconcile: async (deadlineMs: number) => {
      await reconcile({ ...own, depths: own.queues, openTasks: new MemoryOpenTasks(own.records) }, deadlineMs);
    },
  };
  const [first] = types;

  /** Submits a task of the first type, unless the body says otherwise. */
  const accept = async (body: Record<string, unknown> = {}, call: Partial<SubmitCall> = {}): Promise<TaskRecord> => {
    const given = { type: first?.name, input: first === echo ? { value: null } : null, ...body };
    const made: SubmitCall = { identity: operator, body: given, correlationId: "corr-1", ...call };
    return (await submit(inRole("submit", ports), made)).record;
  };

  /** Lets a worker take what is visible in a tier, and acknowledges what it is done with. */
  const work = async (tier: Tier = "normal", seconds = workerSeconds): Promise<Verdict[]> => {
    const deliveries = ports.queues.take(tier, 10, queueVisibilitySeconds);
    const verdicts = await withDueTimers(
      workBatch(inRole(roleOfWorker(tier), ports), deliveries, clock.now() + seconds * 1000),
    );
    for (const [index, { receiptHandle }] of deliveries.entries()) {
      if (verdicts[index] === "done") ports.queues.acknowledge(receiptHandle);
    }
    return verdicts;
  };

  /** Runs the timers that are due now until the work ends, or waits for something else. */
  const withDueTimers = async <T>(working: Promise<T>): Promise<T> => {
    let ended = false;
    const end = working.finally(() => {
      ended = true;
    });
    do await clock.advance(0);
    while (!ended && (clock.nextTimer() ?? Number.POSITIVE_INFINITY) <= clock.now());
    return end;
  };

  /** Gives what is visible in a tier to redrive, as after too many receives. */
  const redrive = async (tier: Tier = "normal"): Promise<Verdict[]> => {
    const deliveries = ports.queues.take(tier, 10, 60);
    const verdicts = await redriveBatch(inRole("redrive", ports), deliveries);
    for (const [index, { receiptHandle }] of deliveries.entries()) {
      if (verdicts[index] === "done") ports.queues.acknowledge(receiptHandle);
    }
    return verdicts;
  };

  /** Fires the one-offs that are due. */
  const fire = async (): Promise<string[]> => {
    const due = ports.oneOffs.takeDue(iso(clock.now()));
    return Promise.all(
      due.map(async (payload) => {
        if (payload.kind === "task") return fireTask(inRole("fire", ports), payload);
        await ports.notices.send([payload.notice]);
        return "sent";
      }),
    );
  };

  const nextEvent = () => nextMoment(stores);

  /** Works until nothing is left to do, moving time on to whatever comes next. */
  const drain = async (): Promise<void> => {
    for (let steps = 0; steps < 500; steps++) {
      const next = nextEvent();
      if (next === undefined) return;
      await clock.advance(Math.max(0, next - clock.now()));
      await fire();
      for (const tier of tiers) await work(tier);
    }
    throw new Error("the pipeline never came to rest");
  };

  const recordOf = async (key: TaskKey): Promise<TaskRecord> => {
    const record = await ports.records.get(key);
    if (record === undefined) throw new Error(`there is no task ${key.task_id}`);
    return record;
  };

  return { ...ports, ports, children, accept, work, redrive, fire, drain, nextEvent, recordOf };
}

export type Pipeline = ReturnType<typeof memoryPipeline>;
