import type { Counted, Took } from "./contestant-process.ts";
import { type Built, build, type Contestant, contestants, environment, Process } from "./contestants.ts";
import type { Benchmark } from "./measure.ts";
import { batchSize, freshBatch, submitRequest } from "./workload.ts";

/** Operations that write to the table, that read from it, and that SQS charges. */
const operations = {
  writes: ["PutItem", "UpdateItem", "DeleteItem"],
  reads: ["GetItem", "BatchGetItem", "Query"],
  queue: ["SendMessage", "SendMessageBatch", "ChangeMessageVisibility", "ChangeMessageVisibilityBatch"],
} as const;

/** Requests, and the write units that DynamoDB charges for the writes. */
export interface Asked {
  writes: number;
  writeUnits: number;
  reads: number;
  queue: number;
}

/** What a contestant asks of AWS. */
interface Needs {
  /** For each task, whatever the size of its batch. */
  perTask: Asked;
  /** For each batch that a worker gets, whatever its size. */
  perBatch: Asked;
  /** For the first calls of submit and worker, on top of that. */
  perProcess: Asked;
  largestItemBytes: number;
}

/** Calls of each kind that are counted. */
const calls = 20;
const smallBatch = 5;

/** A task needs no read. A process reads the settings of flow control every two seconds, which a slow machine's calls may last. */
const mostReads = 0.05;

/**
 * Counts the requests that a task needs from submit to completion, without those of the event source, which are the same for
 * everybody: receive and delete, once for each batch. Batches of two sizes tell what a task needs from what a batch needs.
 */
export const requests: Benchmark = {
  name: "requests",
  async run({ folder, note }) {
    note("submit and worker");
    const env = environment(folder);
    const [submits, workers] = [build(folder, "submit"), build(folder, "worker")];
    const counted = contestants.map(
      async (contestant, index) =>
        [contestant, await count(submits[index] as Built, workers[index] as Built, env)] as const,
    );
    const needs = Object.fromEntries(await Promise.all(counted)) as Record<Contestant, Needs>;
    const { peer, offload } = needs;
    const inAll = allOf(offload);
    return {
      name: "requests",
      title: `Requests to AWS per task, submit and worker together, with batches of ${batchSize}`,
      columns: [
        "",
        "DynamoDB writes",
        "write units",
        "reads",
        "SQS requests",
        "of these per batch",
        "once per process",
      ],
      rows: contestants.map((contestant) => rowOf(contestant, needs[contestant])),
      goals: [
        { what: "writes per task, against the peer's less 1", value: inAll.writes, atMost: allOf(peer).writes - 1 },
        {
          what: "SQS requests that each task needs, against the peer's less 1",
          value: offload.perTask.queue,
          atMost: peer.perTask.queue - 1,
        },
        { what: "writes per task, against the budget", value: inAll.writes, atMost: 3 },
        { what: "write units per task, against the budget", value: inAll.writeUnits, atMost: 4 },
        { what: "reads per task, against the budget", value: inAll.reads, atMost: mostReads },
        { what: "SQS requests per task, against the budget", value: inAll.queue, atMost: 1.1 },
        { what: "bytes of a new record, against one write unit", value: offload.largestItemBytes, atMost: 1_024 },
      ],
      data: needs,
    };
  },
};

function rowOf(contestant: Contestant, needs: Needs): string[] {
  const { writes, writeUnits, reads, queue } = allOf(needs);
  const perBatch = needs.perBatch.queue / batchSize;
  const { writes: setUpWrites, reads: setUpReads } = needs.perProcess;
  return [
    contestant,
    ...[writes, writeUnits, reads, queue, perBatch].map((value) => value.toFixed(2)),
    `${setUpWrites} writes, ${setUpReads} reads`,
  ];
}

/** A task's part in full batches. */
const allOf = ({ perTask, perBatch }: Needs): Asked => combine((name) => perTask[name] + perBatch[name] / batchSize);

const combine = (value: (name: keyof Asked) => number): Asked => ({
  writes: value("writes"),
  writeUnits: value("writeUnits"),
  reads: value("reads"),
  queue: value("queue"),
});

async function count(submit: Built, worker: Built, env: Record<string, string>): Promise<Needs> {
  const submits = await countCalls(submit, env, [submitRequest]);
  const batches = await countCalls(worker, env, [freshBatch, () => freshBatch(smallBatch)]);
  const [perSubmit] = submits.perCall as [Asked];
  const [full, small] = batches.perCall as [Asked, Asked];
  const perMessage = combine((name) => (full[name] - small[name]) / (batchSize - smallBatch));
  return {
    perTask: combine((name) => perSubmit[name] + perMessage[name]),
    perBatch: combine((name) => full[name] - perMessage[name] * batchSize),
    perProcess: combine((name) => submits.first[name] - perSubmit[name] + batches.first[name] - full[name]),
    largestItemBytes: submits.largestItemBytes,
  };
}

/** What the first call of a process asks for, and then on average each call of some kinds. */
export async function countCalls(
  built: Built,
  env: Record<string, string>,
  makes: readonly (() => unknown)[],
): Promise<{ first: Asked; perCall: Asked[]; largestItemBytes: number }> {
  const process = await Process.start(built, env);
  const counted = async (events: unknown[]): Promise<Asked> => {
    const before = await process.ask<Counted>({ kind: "counts" });
    await process.ask<Took>({ kind: "run-events", events });
    const after = await process.ask<Counted>({ kind: "counts" });
    return askedBetween(before, after, events.length);
  };
  const first = await counted([makes[0]?.()]);
  const perCall: Asked[] = [];
  for (const make of makes) perCall.push(await counted(Array.from({ length: calls }, make)));
  const { largestItemBytes } = await process.ask<Counted>({ kind: "counts" });
  process.stop();
  return { first, perCall, largestItemBytes };
}

function askedBetween(before: Counted, after: Counted, count: number): Asked {
  const sum = (names: readonly string[]) =>
    names.reduce((total, name) => total + (after.requests[name] ?? 0) - (before.requests[name] ?? 0), 0) / count;
  return {
    writes: sum(operations.writes),
    reads: sum(operations.reads),
    queue: sum(operations.queue),
    writeUnits: (after.writeUnits - before.writeUnits) / count,
  };
}
