import { maxInOne } from "../../core/extras/limits/shards.ts";
import { maxIntervalMs } from "../../core/extras/limits/wait-queue-ports.ts";
import { permitsPerUnit } from "../../core/task/type-limits.ts";
import type { Bottleneck } from "./bottleneck.ts";
import { Durations } from "./durations.ts";
import { hoursPerMonth, type Prices } from "./figures.ts";
import type { Scenario } from "./scenario.ts";
import type { Outcome } from "./simulate.ts";

/**
 * Consistent reads of a task that waits for a place: the tasks before it, the line's state, the next task, and the look
 * of its backup message.
 */
const readsPerPlace = 4;

/** Consistent reads of a task that waits for a start: those of a place, and two for the next start. */
const readsPerStart = 5;

/**
 * Units more of a task that waits in a line with several items of places, and in a line whose tasks wait in several
 * partitions, as `npm run test:lines -- places 3 100 1000` measures them: the task asks further items for a place, its
 * turn is reserved, and the first tasks of a partition are read.
 */
const moreOfItems = { writes: 3, reads: 6 };
const moreOfPartitions = { writes: 3, reads: 16 };

/** Bytes of a task's entry in a line without its message, and of the keys of a message that does not fit there. */
const entryBytes = 250;
const ownKeyBytes = 170;

/**
 * Requests to SQS of a wait: the send of the task's message, and receive, hold and delete of the one with which it
 * came.
 */
const requestsPerWait = 4;

/** Load of tasks that wait in the line of a limit, beside that of their tasks. Each figure is 0 without limits. */
export interface LineLoad {
  /** Tasks that waited. Each has an invocation and a message more. */
  resumed: number;
  writes: number;
  reads: number;
  queueRequests: number;
  /** Worker time, in seconds. */
  seconds: number;
}

/** Tasks with a limit: all of them count as if they had waited, which is the most that they can cost. */
export function lineLoad({ limited, overhead, messageBytes }: Scenario, { traffic }: Outcome): LineLoad {
  const { places, startsPerSecond, share } = limited;
  const isLimited = places !== undefined || startsPerSecond !== undefined;
  const resumed = isLimited ? traffic.created.total * share : 0;
  const units = (bytes: number) => Math.max(1, Math.ceil(bytes / 1024));
  const isApart = messageBytes + entryBytes > 1024;
  const apart = isApart ? units(messageBytes + ownKeyBytes) : 0;
  // The record says that the task waits; its entry is stored, and deleted, and so is a message that does not fit there.
  const waiting = units(overhead.newRecordBytes) + 2 * (1 + apart);
  const placeWrites = places === undefined ? 0 : 2;
  const startWrites = startsPerSecond === undefined ? 0 : 2;
  const reads =
    places === undefined ? readsPerStart : startsPerSecond === undefined ? readsPerPlace : readsPerPlace + 2;
  const more = moreOf(limited);
  return {
    resumed,
    writes: resumed * (waiting + placeWrites + startWrites + more.writes),
    reads: resumed * (reads + more.reads + (isApart ? Math.ceil(messageBytes / 4096) : 0)),
    queueRequests: resumed * requestsPerWait,
    seconds: (resumed * overhead.batchMs) / 1000,
  };
}

function moreOf({ places = 0, startsPerSecond = 0 }: Scenario["limited"]) {
  if (places > maxInOne) return moreOfPartitions;
  if (places > permitsPerUnit) return moreOfItems;
  return { writes: 0, reads: startsPerSecond > maxInOne ? moreOfPartitions.reads : 0 };
}

/** Looks at a key in an hour while its first task waits. */
const looksPerHour = 3_600_000 / maxIntervalMs;

/** Requests to SQS of a look: its message is sent, received and deleted. */
const requestsPerLook = 3;

/** The most first tasks of a line with several items of places that a look reads. */
const tasksPerLook = 16;

/**
 * Cost of the looks at keys whose places are taken for hours, or whose rate has no start for as long, in a month: a
 * message and its invocation, the write that plans the next look, and the reads of places and of the first tasks.
 */
export function blockedKeysCost({ limited, overhead, messageBytes, workerMemoryMb }: Scenario, price: Prices): number {
  const looks = limited.blockedKeys * looksPerHour * hoursPerMonth;
  const items = Math.ceil((limited.places ?? 1) / permitsPerUnit);
  const bytesOfTask = Math.min(entryBytes + messageBytes, 1024);
  const tasks = items === 1 ? 1 : Math.ceil((tasksPerLook * bytesOfTask) / 4096);
  const gbSeconds = (overhead.batchMs / 1000) * (workerMemoryMb / 1024);
  const logBytes = overhead.attemptLogBytes + overhead.batchLogBytes + overhead.invocationLogBytes;
  const perMillion =
    price.tableWrites +
    (items + tasks) * price.tableReads +
    requestsPerLook * price.queueRequests +
    price.lambdaRequests;
  return looks * (perMillion / 1e6 + gbSeconds * price.lambdaGbSeconds + (logBytes * price.logs) / 1e9);
}

/** The limits of the busiest key. Tasks of a key that needs more than it has wait longer and longer. */
export function lineBottlenecks(scenario: Scenario, { traffic }: Outcome): Bottleneck[] {
  const { places, startsPerSecond, share, busiestKeyShare } = scenario.limited;
  const perSecond = traffic.created.sustained * share * busiestKeyShare;
  const at = traffic.created.peak.atSeconds;
  const row = (what: string, allowed: number | undefined, needed: number, unit: string): Bottleneck[] =>
    allowed === undefined
      ? []
      : [
          {
            what,
            allowed,
            needed,
            unit,
            firstAt: needed > allowed ? at : undefined,
            effect: "its tasks wait in a line",
          },
        ];
  return [
    ...row("places of the busiest key", places, perSecond * secondsPerPlace(scenario), "at once"),
    ...row("starts of the busiest key", startsPerSecond, perSecond, "per second"),
  ];
}

/**
 * Average time for which a task has its place: its handler, and the calls around it. The worker that ends a task of a
 * busy line runs the next one, so a place waits for no message.
 */
function secondsPerPlace({ durations, tiers, overhead }: Scenario): number {
  const shares = Object.values(tiers);
  const mean = shares.reduce(
    (sum, tier) => sum + tier.share * new Durations(tier.durations ?? durations).meanSeconds,
    0,
  );
  return mean + overhead.batchMs / 1000;
}
