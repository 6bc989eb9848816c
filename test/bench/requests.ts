import type { Counted, Took } from "./contestant-process.ts";
import { build, type Contestant, contestants, environment, type Kind, Process } from "./contestants.ts";
import type { Benchmark } from "./measure.ts";
import { batchSize } from "./workload.ts";

/** Operations that write to the table, and that SQS charges. */
const writes = ["PutItem", "UpdateItem", "DeleteItem"];
const queueRequests = ["SendMessage", "ChangeMessageVisibility", "ChangeMessageVisibilityBatch"];

interface PerTask {
  writes: number;
  reads: number;
  queue: number;
}

/**
 * Counts the requests that a task needs from submit to completion, without those of the event source, which are the same for
 * everybody: receive and delete, once for each batch.
 */
export const requests: Benchmark = {
  name: "requests",
  async run({ folder, note }) {
    const perTask: Record<string, PerTask> = {};
    for (const contestant of contestants) perTask[contestant] = { writes: 0, reads: 0, queue: 0 };
    let bytes: number[] = [];
    for (const [kind, tasks] of [
      ["submit", 1],
      ["worker", batchSize],
    ] as const) {
      note(kind);
      const counted = await countAll(folder, kind);
      for (const contestant of contestants) {
        const { before, after, calls } = counted[contestant];
        const sum = (names: readonly string[]) =>
          names.reduce((total, name) => total + (after.requests[name] ?? 0) - (before.requests[name] ?? 0), 0) /
          calls /
          tasks;
        const own = perTask[contestant] as PerTask;
        own.writes += sum(writes);
        own.reads += sum(["GetItem", "Query"]);
        own.queue += sum(queueRequests);
        if (contestant === "offload" && kind === "submit") bytes = after.itemBytes;
      }
    }
    const { peer, offload } = perTask as Record<Contestant, PerTask>;
    return {
      name: "requests",
      title: "Requests to AWS per task, submit and worker together",
      columns: ["", "DynamoDB writes", "reads", "SQS requests"],
      rows: contestants.map((contestant) => {
        const { writes, reads, queue } = perTask[contestant] as PerTask;
        return [contestant, writes.toFixed(2), reads.toFixed(2), queue.toFixed(2)];
      }),
      goals: [
        { what: "writes per task, against the peer's less 1", value: offload.writes, atMost: peer.writes - 1 },
        { what: "SQS requests per task, against the peer's less 1", value: offload.queue, atMost: peer.queue - 1 },
        { what: "writes per task, against the budget", value: offload.writes, atMost: 3 },
        { what: "reads per task, against the budget", value: offload.reads, atMost: 0 },
        { what: "SQS requests per task, against the budget", value: offload.queue, atMost: 1.1 },
        { what: "bytes of a new record, against one write unit", value: Math.max(...bytes), atMost: 1_024 },
      ],
      data: perTask,
    };
  },
};

async function countAll(folder: string, kind: Kind) {
  const env = environment(folder);
  const calls = 20;
  const entries = build(folder, kind).map(async (built) => {
    const process = await Process.start(built, env);
    // The first call may read what later ones know.
    await process.ask<Took>({ kind: "run", calls: 2 });
    const before = await process.ask<Counted>({ kind: "counts" });
    await process.ask<Took>({ kind: "run", calls });
    const after = await process.ask<Counted>({ kind: "counts" });
    process.stop();
    return [built.contestant, { before, after, calls }] as const;
  });
  return Object.fromEntries(await Promise.all(entries)) as Record<
    Contestant,
    { before: Counted; after: Counted; calls: number }
  >;
}
