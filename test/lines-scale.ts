import * as z from "zod";
import { keys, waitingPartitions } from "../src/aws/table.ts";
import { pause, resume } from "../src/core/extras/limits/manage-flow.ts";
import { PortUnavailable } from "../src/core/model/errors.ts";
import type { Sharded, WaitingKey, WaitQueues, WantedToken } from "../src/core/ports/flow.ts";
import type { Clock } from "../src/core/ports/tasks.ts";
import type { TaskType } from "../src/core/task/task.ts";
import { columns } from "../src/machine/columns.ts";
import { pipelineWith } from "./support/memory-pipeline.ts";
import { limits } from "./support/parts/limits.ts";
import { typeOf } from "./support/task-types.ts";
import { workerPool } from "./support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

/*
 * npm run test:lines -- [places|rates|growing|waiting|pause]... [number]...
 * Numbers choose rates or places, such as `rates 0.01 10`, and the submits a second and the seconds of a pause, such as
 * `pause 80 3600`.
 * Prints how fast lines are and what they cost: the real core in memory, with a clock of its own, in which each call of
 * a line takes 10 ms. Some minutes of a processor in all. Calls count as units: an item of 1 KB is written with one,
 * and four of them are read with one. A partition of the table takes a thousand writes a second; further ones fail.
 */

const input = z.object({ n: z.number(), ms: z.number(), key: z.string() });

/** The time of a call of a line, in milliseconds: what DynamoDB takes from a function. */
const callMs = 10;

const writes: Readonly<Record<string, number>> = {
  ...{
    add: 1,
    remove: 1,
    keep: 1,
    acquirePermits: 1,
    renewPermit: 1,
    releasePermit: 1,
    passPermit: 1,
    acquireToken: 1,
    acquireTokens: 1,
  },
  ...{ reserve: 1, release: 1, planCheck: 1, endChecks: 2, shard: 1, unshard: 1 },
};

/** Write units for the list of lines: the first two checks of a line write its entry. */
function listing() {
  const planned = new Map<string, number>();
  return (method: string, [line]: readonly unknown[]): number => {
    if (method === "endChecks") planned.delete(String(line));
    if (method !== "planCheck") return 0;
    const before = planned.get(String(line)) ?? 0;
    planned.set(String(line), before + 1);
    return before < 2 ? 1 : 0;
  };
}

/** Read units of a call. A look at the first tasks reads their messages. */
function readsOf(method: string, given: readonly unknown[]): number {
  if (method === "first") {
    const partitions = waitingPartitions(String(given[0]), given[2] as number[] | undefined).length;
    const each = partitions === 1 ? Number(given[1]) : Number(given[1]) / partitions + 4;
    return partitions * Math.max(1, Math.ceil(each / 4));
  }
  if (method === "states") return (given[0] as unknown[]).length;
  return ["find", "state", "orders", "list"].includes(method) ? 1 : 0;
}

/** Writes that a partition of the table takes in a second. */
const partitionWrites = 1_000;

/** The partition of a write. That of a task's entry has a hash of its id. */
function partitionOf(method: string, [line, task]: readonly unknown[]): string {
  const name = String(line);
  if (method === "add" || method === "remove") return keys.waiting(name, task as WaitingKey & Sharded).pk;
  if (method === "reserve" || method === "release") return keys.reservation(name, task as Sharded).pk;
  return keys.lineState(name).pk;
}

/** Tries of a write that is refused, as the clients of the functions make them. */
const mostTries = 3;

/** The longest pause before the second try of a write, in milliseconds; before the third one it is twice as long. */
const longestPauseMs = 500;

const throttled = Object.assign(new Error("slower"), { name: "ProvisionedThroughputExceededException" });

/** Refuses the writes of a partition above its limit. */
function partitions(clock: Pick<Clock, "now" | "after">) {
  let second = 0;
  let written = new Map<string, number>();
  const found = { refused: 0, most: 0 };
  let tries = 0;
  /** Resolves after a part of the longest pause. The parts of many pauses are spread evenly. */
  const pauseAfter = (attempt: number): Promise<void> => {
    tries += 1;
    const pauseMs = ((tries * 0.618) % 1) * longestPauseMs * 2 ** (attempt - 1);
    return new Promise((resolve) => clock.after(pauseMs, resolve));
  };
  const isRefused = (method: string, given: readonly unknown[], units: number): boolean => {
    const now = Math.floor(clock.now() / 1_000);
    if (now !== second) written = new Map();
    second = now;
    const partition = partitionOf(method, given);
    const sum = (written.get(partition) ?? 0) + units;
    if (sum > partitionWrites) {
      found.refused += 1;
      return true;
    }
    written.set(partition, sum);
    found.most = Math.max(found.most, sum);
    return false;
  };
  const write = async (method: string, given: readonly unknown[], units: number): Promise<void> => {
    if (units === 0) return;
    for (let attempt = 1; isRefused(method, given, units); attempt++) {
      if (attempt === mostTries) throw new PortUnavailable("the table", { cause: throttled });
      await pauseAfter(attempt);
    }
  };
  return { write, found };
}

/** The seconds by which a tier is behind for a message that becomes visible so many seconds after the world's begin. */
type Behind = (seconds: number) => number;

/** A pipeline whose tier is behind, and what its lines cost. */
function setUp(options: Partial<TaskType>, { behind = () => 0, batch = 10 }: { behind?: Behind; batch?: number } = {}) {
  const counts = { writes: 0, reads: 0, messages: 0, checks: 0 };
  const runs: { at: number; endAt: number; n: number }[] = [];
  const handler = async ({ n, ms }: z.output<typeof input>) => {
    runs.push({ at: pipeline.clock.now(), endAt: pipeline.clock.now() + ms, n });
    await new Promise<void>((resolve) => pipeline.clock.after(ms, resolve));
  };
  const type = typeOf(handler, { input, timeoutSeconds: 60, ...options });
  const pipeline = memoryPipeline([type]);
  const { ports, queues, clock } = pipeline;
  const lines = ports.lines;
  const listed = listing();
  /** A start that is not now is asked for by a second write, unless the caller knows. */
  const unitsOfStart = async ([line, want]: readonly unknown[]) => {
    const { nowMs, knownMs = 0 } = want as WantedToken;
    const { nextTokenMs = 0 } = await lines.state(String(line));
    return knownMs < nowMs && nextTokenMs >= nowMs ? 2 : 1;
  };
  const table = partitions(clock);
  ports.lines = new Proxy(lines, {
    get: (target, method: string) => {
      const call = Reflect.get(target, method) as (...given: unknown[]) => Promise<unknown>;
      return async (...given: unknown[]) => {
        const units = method === "acquireToken" ? await unitsOfStart(given) : (writes[method] ?? 0);
        counts.writes += units + listed(method, given);
        counts.reads += readsOf(method, given);
        // The messages of these tasks are in their entries.
        if (method === "withEnvelopes") return call.apply(target, given);
        await new Promise<void>((resolve) => clock.after(callMs, resolve));
        await table.write(method, given, units);
        return call.apply(target, given);
      };
    },
  }) as WaitQueues & typeof lines;
  const put = queues.put.bind(queues);
  const began = clock.now();
  queues.put = (tier, body, { delaySeconds = 0, ...more } = {}) => {
    counts.messages += 1;
    if (body.includes("check_id")) counts.checks += 1;
    put(tier, body, { ...more, delaySeconds: delaySeconds + behind((clock.now() - began) / 1_000 + delaySeconds) });
  };
  const accept = (n: number, ms: number, key = "") => pipeline.accept({ input: { n, ms, key } });
  return {
    ...pipeline,
    type,
    pool: workerPool(pipeline, { batch, apart: true }),
    table: table.found,
    counts,
    runs,
    accept,
  };
}

/** Shows a row when it is there, and the table at the end. */
async function shown(rows: string[][], title: string, made: (() => Promise<string[]>)[]): Promise<void> {
  for (const make of made) {
    const row = await make();
    process.stderr.write(`${row.join("  ")}\n`);
    rows.push(row);
  }
  console.log(`${title}\n${columns(rows)}\n`);
}

const per = (count: number, tasks: number): string => (count / tasks).toFixed(2);
const percent = (part: number): string => `${Math.round(part * 100)} %`;

/** A table starts some thousands of a line's tasks in a second: of more places than that, tasks take ten seconds. */
const secondsOf = (limit: number): number => (limit > 1_000 ? 10 : 1);

/** Tasks of half to one and a half of these seconds, four for each place and sixty at least, all at once. */
async function placesRow(limit: number, behindSeconds: number): Promise<string[]> {
  const { accept, pool, runs, counts, clock } = setUp({ concurrency: { limit } }, { behind: () => behindSeconds });
  const tasks = Math.max(60, limit * 4);
  for (let n = 0; n < tasks; n++) await accept(n, secondsOf(limit) * (500 + ((n * 7_919) % 1_000)));
  const submitted = counts.messages;
  const idealSeconds = (secondsOf(limit) * tasks) / limit;
  const began = clock.now();
  for (let waited = 0; runs.length < tasks && waited < 40; waited++) await pool.pass(30_000, 1_000);
  await pool.pass(3_000);
  const first = Math.min(...runs.map(({ at }) => at));
  const seconds = (Math.max(...runs.map(({ endAt }) => endAt)) - first) / 1_000;
  const events = runs.flatMap(({ at, endAt }) => [
    { at, by: 1 },
    { at: endAt, by: -1 },
  ]);
  events.sort((a, b) => a.at - b.at || a.by - b.by);
  let running = 0;
  let most = 0;
  for (const { by } of events) {
    running += by;
    most = Math.max(most, running);
  }
  return [
    ...[
      `${limit}`,
      `${secondsOf(limit)} s`,
      `${behindSeconds} s`,
      `${runs.length} of ${tasks}`,
      `${((first - began) / 1_000).toFixed(1)} s`,
    ],
    ...[`${seconds.toFixed(1)} s`, percent(idealSeconds / seconds), `${most}`],
    ...[per(counts.writes, tasks), per(counts.reads, tasks), per(counts.messages - submitted, tasks)],
  ];
}

async function places(): Promise<void> {
  const rows = [
    [
      "places",
      "each",
      "behind",
      "tasks",
      "first start",
      "first to last",
      "in use",
      "at once",
      "writes",
      "reads",
      "messages",
    ],
  ];
  const made = chosenOf([3, 100, 1_000, 10_000]).flatMap((limit) =>
    [0, 30, 90].map((behind) => () => placesRow(limit, behind)),
  );
  await shown(rows, "Places (writes, reads and messages for each task)", made);
}

const rateOf = (perSecond: number) =>
  perSecond < 1 ? { limit: 1, perSeconds: 1 / perSecond } : { limit: perSecond, perSeconds: 1 };

/** Submits at a part of the rate for 30 s, for thirty starts of a slow rate, or some thousand of a fast one. */
async function ratesRow(perSecond: number, load: number, behindSeconds: number): Promise<string[]> {
  const { accept, pool, runs, counts } = setUp({ rateLimit: rateOf(perSecond) }, { behind: () => behindSeconds });
  const seconds = perSecond < 1 ? 30 / perSecond : perSecond < 100 ? 30 : Math.max(4, 2_000 / perSecond);
  const tasks = Math.ceil(seconds * perSecond * load);
  const together = Math.ceil(tasks / 100);
  for (let n = 0; n < tasks; n++) {
    await accept(n, 50);
    if (n % together === 0) await pool.pass(Math.round((seconds * 1_000 * together) / tasks), 100);
  }
  const submitted = tasks;
  const waitMs = Math.max(30_000, seconds * 50);
  for (let waited = 0; runs.length < tasks && waited < 40; waited++) await pool.pass(waitMs, 500);
  const times = runs.map(({ at }) => at).sort((a, b) => a - b);
  const took = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1_000;
  return [
    ...[`${perSecond}/s`, percent(load), `${behindSeconds} s`, `${runs.length} of ${tasks}`],
    ...[`${((runs.length - 1) / Math.max(took, 0.001)).toFixed(perSecond < 1 ? 3 : 1)}/s`],
    ...[per(counts.writes, tasks), per(counts.reads, tasks), per(counts.messages - submitted, tasks)],
  ];
}

async function rates(): Promise<void> {
  const rows = [["rate", "load", "behind", "tasks", "starts", "writes", "reads", "messages"]];
  const loads = [
    [0.5, 0],
    [1.5, 0],
    [1.5, 30],
    [1.5, 90],
    [1.5, 300],
  ] as const;
  const made = chosenOf([0.1, 10, 300, 1_000]).flatMap((perSecond) =>
    loads.map(
      ([load, behind]) =>
        () =>
          ratesRow(perSecond, load, behind),
    ),
  );
  await shown(rows, "Rates (writes, reads and messages for each task)", made);
}

/**
 * Tiers that are behind for ten minutes: as much all the time, by half a second more in each, and by as much less. The
 * first task comes after five minutes in the last one.
 */
const backlogs = [
  { name: "30 s", behind: () => 30, seconds: 600 },
  { name: "90 s", behind: () => 90, seconds: 600 },
  { name: "grows", behind: (seconds: number) => Math.min(300, seconds / 2), seconds: 600 },
  { name: "shrinks", behind: (seconds: number) => Math.max(0, 300 - seconds / 2), seconds: 300 },
] as const;

/** Submits a limit's tasks of these times within 20 s, and shows the part of the limit that is used meanwhile. */
async function growingRow(
  { name, behind, seconds }: (typeof backlogs)[number],
  of: string,
  options: Partial<TaskType>,
  perSecond: number,
): Promise<string[]> {
  const isRate = options.rateLimit !== undefined;
  const watchedMs = Math.min(seconds, 20_000 / perSecond) * 1_000;
  const { accept, pool, runs, counts, clock } = setUp(options, { behind });
  const tasks = Math.ceil((1.2 * perSecond * watchedMs) / 1_000);
  const together = Math.ceil(tasks / 500);
  const fromMs = clock.now() + behind(0) * 1_000;
  for (let n = 0; n < tasks; n++) {
    await accept(n, isRate ? 50 : 500 + ((n * 7_919) % 1_000));
    if (n % together === 0) await pool.pass(Math.round((20_000 * together) / tasks), 100);
  }
  const untilMs = fromMs + watchedMs;
  while (clock.now() < untilMs) await pool.pass(Math.min(10_000, untilMs - clock.now()), 500);
  const busyMs = runs.reduce((sum, { at, endAt }) => sum + Math.min(endAt, untilMs) - at, 0);
  const used = isRate ? (runs.length * 1_000) / (perSecond * watchedMs) : busyMs / (perSecond * watchedMs);
  return [
    ...[of, name, `${watchedMs / 1_000} s`, `${runs.length}`, percent(used)],
    ...[per(counts.writes, runs.length), per(counts.reads, runs.length), per(counts.messages - tasks, runs.length)],
  ];
}

async function growing(): Promise<void> {
  const rows = [["limit", "backlog", "watched for", "starts", "used", "writes", "reads", "messages"]];
  const limits = [
    { of: "3 places", options: { concurrency: { limit: 3 } }, perSecond: 3 },
    ...chosenOf([0.1, 10, 300]).map((perSecond) => ({
      ...{ of: `${perSecond}/s`, perSecond, options: { rateLimit: rateOf(perSecond) } },
    })),
  ];
  const made = limits.flatMap(({ of, options, perSecond }) =>
    backlogs.map((one) => () => growingRow(one, of, options, perSecond)),
  );
  await shown(rows, "Ten minutes behind a backlog (writes, reads and messages for each start)", made);
}

/** Tasks that wait behind places which are in use for an hour. */
async function waitingRow(tasks: number, keys: number): Promise<string[]> {
  const key = (one: z.output<typeof input>) => one.key;
  const { accept, pool, counts, runs, lines } = setUp({ concurrency: { key, limit: 1 }, timeoutSeconds: 840 });
  for (let n = 0; n < keys; n++) await accept(-1, 800_000, `k${n % keys}`);
  await pool.pass(2_000, 100);
  for (let n = 0; n < tasks; n++) {
    await accept(n, 10, `k${n % keys}`);
    if (n % 100 === 0) await pool.pass(20, 20);
  }
  await pool.pass(5_000, 500);
  const parked = { ...counts };
  await pool.pass(600_000, 5_000);
  const since = { writes: counts.writes - parked.writes, reads: counts.reads - parked.reads };
  const waiting = (await lines.first("concurrency/test.task/acme/k0", 1)).length;
  return [
    ...[`${tasks}`, `${keys}`, `${runs.length}`, waiting > 0 ? "yes" : "no"],
    ...[per(parked.writes, tasks), per(parked.reads, tasks)],
    ...[`${since.writes}`, `${since.reads}`, `${counts.checks - parked.checks}`],
  ];
}

async function waiting(): Promise<void> {
  const header = ["waiting", "keys", "running", "waits", "writes to wait", "reads to wait"];
  const rows = [[...header, "writes in 10 min", "reads in 10 min", "checks in 10 min"]];
  const made = (
    [
      [1, 1],
      [50_000, 1],
      [1_000, 1_000],
    ] as const
  ).map(
    ([tasks, keys]) =>
      () =>
        waitingRow(tasks, keys),
  );
  await shown(rows, "Tasks that wait behind a place", made);
}

/** The pace at the end of a resume, and the hours that the tasks of a whole hour would take at this pace. */
function hourOf(perSecond: number, goneAt: readonly number[]): string {
  const last = goneAt.slice(-Math.ceil(goneAt.length / 4));
  const pace = ((last.length - 1) * 1_000) / ((last.at(-1) ?? 0) - (last[0] ?? 0));
  const tasks = perSecond * 3_600;
  const hours = (tasks - goneAt.length) / pace / 3_600 + ((goneAt.at(-1) ?? 0) - (goneAt[0] ?? 0)) / 3_600_000;
  return `at the end ${Math.round(pace)} tasks a second; ${tasks} tasks of an hour would take ${hours.toFixed(1)} h`;
}

/** A pause of a tier under submits. The tasks of an hour at 5,000 a second do not fit into memory. */
async function pauseOfTier(): Promise<void> {
  const [perSecond = 5_000, seconds = 60] = chosenOf([]);
  const { accept, pool, counts, runs, table, ports, records, clock } = setUp({}, { batch: 10 });
  // An answer comes when every process knows.
  await Promise.all([pause(ports, { scope: "tier", tier: "normal" }, "olga"), pool.pass(5_000, 500)]);
  let tasks = 0;
  for (let tenth = 0; tenth < seconds * 10; tenth++) {
    for (let n = 0; n < perSecond / 10; n++) await accept(tasks++, 20);
    await pool.pass(100, 100);
  }
  await pool.pass(30_000, 1_000);
  const parked = { ...counts };
  const inPause = { ...table };
  const began = clock.now();
  await Promise.all([resume(ports, { scope: "tier", tier: "normal" }, "normal", "olga"), pool.pass(5_000, 500)]);
  while (runs.length < tasks && clock.now() - began < 7_200_000) await pool.pass(10_000, 250);
  await pool.pass(10_000);
  const failed = records.all().filter(({ status }) => status !== "completed").length;
  const goneAt = runs.map(({ at }) => at).sort((a, b) => a - b);
  console.log(`A pause of a tier for ${seconds} s, ${perSecond} submits a second: ${tasks} tasks`);
  console.log(`not completed ${failed}, runs ${runs.length}, messages of a task ${per(counts.messages, tasks)}`);
  console.log(`messages under the pause ${per(parked.messages, tasks)}`);
  console.log(`most writes of a partition in a second ${inPause.most} and ${table.most}, refused ${table.refused}`);
  console.log(
    `empty ${Math.round(((goneAt.at(-1) ?? 0) - began) / 1_000)} s after the resume; ${hourOf(perSecond, goneAt)}`,
  );
  console.log(`writes ${per(counts.writes, tasks)}, reads ${per(counts.reads, tasks)} for each task\n`);
}

/** The numbers that the arguments choose, or those of a table. */
function chosenOf(others: number[]): number[] {
  const numbers = process.argv.slice(2).map(Number).filter(Number.isFinite);
  return numbers.length === 0 ? others : numbers;
}

const sections = { places, rates, growing, waiting, pause: pauseOfTier };
const chosen = process.argv.slice(2).filter((name) => name in sections);
for (const [name, run] of Object.entries(sections)) if (chosen.length === 0 || chosen.includes(name)) await run();
