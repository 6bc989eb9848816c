import { nodeSize } from "../../core/model/family-node.ts";
import { type Arrivals, type Requests, requestOf } from "./arrivals.ts";
import { limits } from "./figures.ts";
import { EventHeap } from "./heap.ts";
import type { Scenario } from "./scenario.ts";
import type { Outcome } from "./simulate.ts";
import { writeUnits } from "./write-units.ts";

/** Write units of a node above the leaves: with 100 places it has about 2 KB. */
const upperNodeWrites = 2;

/** Time of a parent's attempt in which it spawns its children, in seconds. */
export const spawnSecondsOf = ({ children, overhead }: Scenario): number =>
  (children.perTask * overhead.spawnMs) / 1000;

/**
 * Write units that a child costs more than another task: its place in the leaf, and its part of page, leaf and node
 * above.
 */
export function writesPerChild({ children: { perTask } }: Scenario): number {
  if (perTask === 0) return 0;
  const leaves = Math.ceil(perTask / nodeSize);
  const above = leaves === 1 ? 0 : (leaves + Math.ceil(leaves / nodeSize)) * upperNodeWrites;
  return 1 + (2 * leaves + above) / perTask;
}

/** Load of all families beside that of their tasks. Each is 0 for tasks without children. */
export interface FamilyLoad {
  /** Attempts that aggregate. Each has an invocation and a message. */
  closings: number;
  /** Worker time to spawn, and to read the results. */
  seconds: number;
  writes: number;
  reads: number;
  /** Bytes of the children's log lines of their spawn. */
  logBytes: number;
}

export function familyLoad(scenario: Scenario, { traffic }: Outcome): FamilyLoad {
  const { children, overhead, messageBytes } = scenario;
  const closings = children.perTask === 0 ? 0 : traffic.submits.total;
  const spawned = traffic.created.total - traffic.submits.total;
  const units = (bytes: number) => Math.max(1, Math.ceil(bytes / 1024));
  // The note that it spawns, its stored message, the end of its wait, and the claim and the end of the second attempt.
  const parentWrites =
    units(overhead.newRecordBytes) +
    units(messageBytes) +
    units(overhead.settledRecordBytes) +
    writeUnits(scenario).attemptWrites;
  return {
    closings,
    seconds: (spawned * (overhead.spawnMs + overhead.resultMs)) / 1000 + (closings * overhead.batchMs) / 1000,
    writes: spawned * writesPerChild(scenario) + closings * parentWrites,
    // An eventually consistent read of each child, and consistent ones of each page and each leaf.
    reads: spawned * (0.5 + 2 / nodeSize),
    logBytes: spawned * overhead.batchTaskLogBytes + closings * overhead.attemptLogBytes,
  };
}

/**
 * Adds the children of each task to the arrivals: at the pace of their parent's handler, in calls of up to ten
 * messages.
 */
export function withChildren(parents: Arrivals, scenario: Scenario): Arrivals {
  const { perTask, tier } = scenario.children;
  if (perTask === 0) return parents;
  const spawnSeconds = Math.min(spawnSecondsOf(scenario), limits.attemptSeconds.value) / perTask;
  const spawning = new EventHeap();
  const spawn = (now: number, open: number) => {
    if (open > 0) spawning.push(now + Math.min(open, limits.sendBatch.value) * spawnSeconds, 0, open);
  };
  let parent = requestOf(parents);
  let present: Requests = parent;
  return {
    next() {
      if (parent.time <= spawning.time) {
        present = parent;
        if (present.time === Number.POSITIVE_INFINITY) return present.time;
        for (let task = 0; task < present.tasks; task++) spawn(present.time, perTask);
        parent = requestOf(parents);
      } else {
        const { time, value: open } = spawning;
        spawning.pop();
        const tasks = Math.min(open, limits.sendBatch.value);
        spawn(time, open - tasks);
        present = { time, tier, tasks, spawned: true };
      }
      return present.time;
    },
    get tier() {
      return present.tier;
    },
    get tasks() {
      return present.tasks;
    },
    get spawned() {
      return present.spawned;
    },
  };
}
