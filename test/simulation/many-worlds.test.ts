import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { faultsOf, pairs, seeds } from "./seeds.ts";

/**
 * The seeds of the committed code: each change of it tries others, a run can be repeated, and a commit of pages alone
 * tries the same. Without a repository they are always the same.
 */
function firstOfCode(): number {
  try {
    const trees = execFileSync("git", ["rev-parse", "HEAD:src", "HEAD:test/simulation"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      timeout: 120_000,
    });
    const numbers = trees
      .trim()
      .split("\n")
      .map((tree) => Number.parseInt(tree.slice(0, 6), 16));
    return numbers.reduce((sum, number) => sum + number, 1_000_000);
  } catch {
    return 1_000_000;
  }
}

describe("the promises under crashes, failures, repeats and delays", () => {
  test.each([1, 101, 201, 301, 401])("the promises hold in the hundred worlds from seed %i", async (first) => {
    for (const seed of seeds(first, 100)) expect(await faultsOf(seed)).toEqual([]);
  });

  test("the promises hold in three hundred worlds of this code", async () => {
    for (const seed of seeds(firstOfCode(), 300)) expect(await faultsOf(seed)).toEqual([]);
  });

  test("a dead letter does not come back after its 14 days", async () => {
    expect(await faultsOf(201007684)).toEqual([]);
  });

  test("one idempotency key has one task in worlds of submits that share unique keys", async () => {
    for (const seed of [...seeds(1, 150), ...seeds(firstOfCode(), 150)]) {
      expect(await faultsOf(seed, "unique")).toEqual([]);
    }
  });

  test("each accepted input is in exactly one list, with its number", async () => {
    for (const seed of [...seeds(1, 60), ...seeds(firstOfCode(), 60)])
      expect(await faultsOf(seed, "lists")).toEqual([]);
  });

  test("the promises hold in worlds of processes that stand still for longer than their leases", async () => {
    for (const seed of [...seeds(1, 30), ...seeds(firstOfCode(), 70)]) expect(await faultsOf(seed, "late")).toEqual([]);
  });

  test("each receiver of webhooks is told of the ends that it asks for, and of no others", async () => {
    for (const seed of [...seeds(1, 30), ...seeds(firstOfCode(), 70)])
      expect(await faultsOf(seed, "receivers")).toEqual([]);
  });

  test("what fails again after a resume stops itself, and nothing else does", async () => {
    for (const seed of [...seeds(1, 40), ...seeds(firstOfCode(), 60)])
      expect(await faultsOf(seed, "resumes")).toEqual([]);
  });

  test("onFailed runs once a round, and no child or signal counts twice, in worlds of handlers that use everything", async () => {
    for (const seed of [...seeds(1, 60), ...seeds(firstOfCode(), 60)])
      expect(await faultsOf(seed, "handlers")).toEqual([]);
  });

  test("a line goes on with each end of a task in a tier that is minutes behind", async () => {
    for (const seed of [...seeds(1, 40), ...seeds(firstOfCode(), 40)])
      expect(await faultsOf(seed, "behind")).toEqual([]);
  });

  test("the tasks of a key that run in strict order start one after the other's end", async () => {
    for (const seed of [...seeds(1, 20), ...seeds(firstOfCode(), 60)])
      expect(await faultsOf(seed, "strict")).toEqual([]);
  });

  test("what is beside a record is kept as long as the record, in worlds of months", async () => {
    for (const seed of [...seeds(1, 20), ...seeds(firstOfCode(), 10)])
      expect(await faultsOf(seed, "weeks")).toEqual([]);
  });

  test("one idempotency key has one task in small worlds in which few submits meet at few keys", async () => {
    for (const seed of [...seeds(1, 500), ...seeds(firstOfCode(), 1000)]) {
      expect(await faultsOf(seed, "keys")).toEqual([]);
    }
  });

  test.each([6841171, 7002108])("one idempotency key had two tasks in the world of seed %i", async (seed) => {
    expect(await faultsOf(seed)).toEqual([]);
  });

  test.each([
    ["a client submits a dead letter again that the table has lost", 95127, "flow"],
    ["a lost dead letter that came back runs a step", 97008278, "flow"],
    [
      "a parent's worker dies after its wait for children has begun, and the wait lasts for two months",
      20026251,
      undefined,
    ],
    ["a lost task is submitted again whose first submits were made in one millisecond", 82116336, undefined],
    ["code that nobody awaits fails after the table has ended its attempt", 82092894, undefined],
    ["a batch that has just enough time for its longest task reads a line first", 82122401, undefined],
    ["a parent reads its entries again, as the table refused to, in a round of its own", 82190455, undefined],
    ["a batch puts a task into a line, and another message of the batch starts it", 82196323, undefined],
    ["tasks of a rate and of places wait for both", 81036677, "flow"],
    ["two processes count the ends of a parent that was cancelled as it began to wait", 82001618, undefined],
    ["a message starts a task whose worker could not put it into the line of a pause", 82087259, undefined],
    ["a process that stood still adds a task's entry to a line again", 81031743, "flow"],
    ["a process that stood still adds a task with a key and a newer input to a line again", 81043854, "flow"],
    ["a lost dead letter that came back runs a step that never ended", 82132219, undefined],
    ["a lost dead letter that came back is retried, and completes", 82103309, undefined],
    ["a lost dead letter that came back is retried twice at once, and completes", 82142094, undefined],
    ["the call of a signal has read the record before its task waited for children", 82173512, undefined],
    ["a client cancels a task that has just begun to wait for weeks", 82041138, undefined],
    ["a child that never had a message may no longer start, and its parent waits for it", 82191554, undefined],
    ["the table is down for hours, and checks of a line come in the meantime", 40000163, undefined],
    ["a second message of a running task is given up, and has kept its place", 20030092, undefined],
    ["a task on its way into the line of a pause has an entry of an earlier wait there", 20030141, undefined],
    ["a task is moved twice within a second", 420001021, undefined],
    ["the message of the next task of a line cannot be read", 412008822, "flow"],
    ["a task that got a place meets a pause, and comes to its line again within seconds", 414000587, "flow"],
    ["a line whose places are apart has more of them by a newer input, and none is in use yet", 414002739, "flow"],
    ["a process that stood still renews leases as it dies, after the end of their places", 416200764, "flow"],
    ["a tier is paused for days, in which its tasks keep their turns", 446000120, "strict"],
    ["a retry's early message comes after the end of its round, and takes the turn for a moment", 444001030, "strict"],
    ["a write that moves a task comes once more, after another call has moved it back", 422024710, undefined],
    ["a task of a type that no worker knows is started hours before its time", 420008851, undefined],
    ["a task with two messages waits for its turn", 420003658, undefined],
    ["no message of a task lives as long as it waits for its turn", 420001845, undefined],
    ["a worker dies after it has cancelled a task that waits for its turn", 410001512, "flow"],
    [
      "a call that was to let a task go is refused, after another one of its process has passed the task over",
      90000242,
      "flow",
    ],
    ["the write that keeps a place arrives when another attempt runs with the place", 81039739, "flow"],
    ["the check of a line comes before the slow write that notes it", 82174791, undefined],
    ["a task goes before one that has ended, and whose entry could not leave the line", 82035730, undefined],
    ["a task that got a place meets a pause, and gives the place back", 81010538, "flow"],
    ["a task that a pause's end let go waits ten minutes for the only worker of its tier", 910310394, "flow"],
    ["two spare messages of a task wait for its attempts", 97010388, "flow"],
    ["several checks find a pause ended, minutes before the noted one", 243975953, "resumes"],
    ["a signal's process stands still for longer than its task may wait", 126769175, "late"],
    ["an earlier task with the same id had more messages than the present one", 97004875, "flow"],
    ["another request with an idempotency key is accepted while a call joins a task", 1359, "keys"],
    ["a child that has expired starts again in a round without its spawn", 67249644, undefined],
    ["the messages of a discarded task each request a sweep", 862967, "keys"],
    ["an attempt dies before a child's message, and the next one spawns others", 2323, undefined],
    ["a rescue ends a child, and the answer of its write is lost", 2027033, undefined],
    ["the end of an attempt that its own stray error has ended cannot be stored", 424017904, undefined],
    ["the check of a line waits for minutes for the only worker of its tier", 424020849, undefined],
    ["an attempt that timed out goes on while its submits are stored", 2040686, undefined],
    ["two messages of a webhook begin in one millisecond, and the one that failed dies", 2138737, undefined],
    ["a task that was put off for long leaves the line of a paused tier", 2150560, undefined],
    ["an attempt that is cancelled now cannot store its end", 2043217, undefined],
    ["the record of a dead letter that was to be kept for longer is lost", 2004238, undefined],
    ["a dead letter that is kept for longer is retried, and completes", 72, "unique"],
    ["a late submit takes a key again whose task sleeps for weeks", 345661, "keys"],
    ["an idempotency key outlives its task, whose id is another task's by then", 157002219, "unique"],
    ["a sweep looks at five letters of a task", 157005879, "unique"],
    ["a retry stores a round that another one's task keeps for longer by then", 9400055, "steps"],
  ] as const)("%s", async (_, seed, theme) => {
    expect(await faultsOf(seed, theme)).toEqual([]);
  });

  test("the worlds combine each feature with each other one", async () => {
    // Where the other tests did not run.
    for (const seed of seeds(1, 300)) if (pairs.empty.length > 0) await faultsOf(seed, "late");
    expect(pairs.empty).toEqual([]);
  });
});
