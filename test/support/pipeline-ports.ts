import { randomBytes } from "node:crypto";
import { collect, entries, history, input } from "../../src/core/extras/kept/index.ts";
// Loaded before it is used: time that a test moves does not wait for code.
import "../../src/core/pipeline/work/late-code.ts";
import type { TaskRecord } from "../../src/core/model/record.ts";
import { plainStackOf } from "../../src/core/model/stack.ts";
import { extrasOf } from "../../src/core/pipeline/send/extras.ts";
import { isUsualBody } from "../../src/core/pipeline/submit/usual-body.ts";
import type { Extra } from "../../src/core/ports/extra.ts";
import { noTracing } from "../../src/core/ports/tasks.ts";
import { knownTypesOf } from "../../src/core/task/catalog.ts";
import { registry, type TaskType } from "../../src/core/task/task.ts";
import { disk } from "../../src/machine/disk.ts";
import { follow } from "../../src/machine/follow.ts";
import { FakeClock } from "../../src/memory/clock.ts";
import { MemoryDeliveries } from "../../src/memory/deliveries.ts";
import { MemoryDeployments } from "../../src/memory/deployments.ts";
import { MemoryOpenTasks } from "../../src/memory/open-tasks.ts";
import { MemoryCounters } from "../../src/memory/others.ts";
import { MemoryReceivers } from "../../src/memory/receivers.ts";
import { memoryStores } from "../../src/memory/stores.ts";
import { sameIds } from "./ids.ts";
import { KeptLog, KeptMetrics, KeptWatchdog } from "./kept.ts";
import { Lacks, type PartPorts } from "./parts/lacks.ts";

export interface PipelineOptions {
  /** Default: a number that leaves waits unlengthened. */
  random?: () => number;
  /** Default: 1. */
  timeScale?: number;
}

/** Code that most tests do without: a change of it runs only the tests that give their pipeline the part. */
export interface Part {
  readonly follower?: Extra;
  /** @param ports Those of the whole pipeline, with all its parts. */
  ports?(ports: PipelinePorts, types: readonly TaskType[]): Partial<PartPorts & Pick<PipelinePorts, "registry">>;
}

/** The ports of a pipeline with some parts. Those of all others refuse, so that a test which uses one hears of it. */
export function portsOf(types: readonly TaskType[], options: PipelineOptions, parts: readonly Part[]) {
  const clock = new FakeClock();
  const children: { parent: TaskRecord; child: unknown; key: string }[] = [];
  const stores = memoryStores(clock);
  const lacks = new Lacks(stores);
  const followers = new Map([collect, history, input, entries(stores.steps)].map((extra) => [extra.name, extra]));
  for (const { follower } of parts) if (follower !== undefined) followers.set(follower.name, follower);
  const ports = {
    ...stores,
    ...lacks.ports,
    extras: extrasOf(lacks.inOrder(followers)),
    disk,
    loadFollow: async () => follow,
    counters: new MemoryCounters(),
    log: new KeptLog(),
    metrics: new KeptMetrics(),
    tracing: noTracing,
    stackOf: plainStackOf,
    watchdog: new KeptWatchdog(),
    types: knownTypesOf(types),
    registry: registry(types),
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
    deadLetterQueues: stores.queues,
    depths: stores.queues,
    openTasks: new MemoryOpenTasks(stores.records),
    deliveries: new MemoryDeliveries(),
    receivers: new MemoryReceivers(),
    deployments: new MemoryDeployments(),
  };
  for (const part of parts) Object.assign(ports, part.ports?.(ports, types));
  return { ports, children, lacks };
}

type PipelinePorts = ReturnType<typeof portsOf>["ports"];
