import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DynamoTable, type Item } from "../../src/aws/dynamo-table.ts";
import { keys, waitingPartitions } from "../../src/aws/table.ts";
import { DynamoWaitQueues } from "../../src/aws/wait-queues.ts";
import type { PlannedCheck, WaitQueues } from "../../src/core/ports/flow.ts";
import { MemoryWaitQueues } from "../../src/memory/wait-queues.ts";
import { bytesOf, unitBytes } from "../../src/util/item-bytes.ts";
import { emulatedTable } from "./emulators.ts";
import { newLine, newPause } from "./line-states.ts";
import { describeLines, kib, newTask, purgeAt, waitOf } from "./lines.ts";

const now = () => 1_800_000_000_000;

describeLines("lines in memory", async () => ({ lines: new MemoryWaitQueues(), close: async () => {} }));

describeLines("lines in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { lines: new DynamoWaitQueues(dynamoTable, now), close };
});

describe("the list of lines in DynamoDB, whose entry is a write of its own", () => {
  /** Lines whose first request of an operation on the list is preceded by `act`, and all keys that are written. */
  async function setUp(operation = "", act: (lines: DynamoWaitQueues) => Promise<void> = () => Promise.resolve()) {
    const { documents, table, dynamoTable, close } = await emulatedTable();
    const lines = new DynamoWaitQueues(dynamoTable, clock.now);
    const written: string[] = [];
    let left = 1;
    const send = async (command: { constructor: { name: string }; input: { Key?: Item } }) => {
      const of = String(command.input.Key?.pk);
      const isOfList = of.startsWith("lines");
      if (command.constructor.name === operation && isOfList && left-- === 1) await act(lines);
      if (/^(Update|Delete|Put)/.test(command.constructor.name)) written.push(isOfList ? "list" : "line");
      return documents.send(command as never);
    };
    const interrupted = new DynamoWaitQueues(new DynamoTable({ send } as never, table), clock.now);
    return { lines, interrupted, written, dynamoTable, close };
  }

  const clock = { nowMs: now(), now: () => clock.nowMs };
  const checkOf = async (lines: WaitQueues, line: string) => (await lines.state(line)).check as PlannedCheck;
  const planNext = async (lines: WaitQueues, line: string, id: string) => {
    const seen = await checkOf(lines, line);
    expect(await lines.planCheck(line, { id, atMs: seen.atMs + 60_000 }, seen)).toBe(true);
  };
  const first = { id: "a", atMs: now() };

  test("a line whose process died before it was listed is listed with the next check", async () => {
    const { lines, interrupted, close } = await setUp("UpdateCommand", () => Promise.reject(new Error("killed")));
    const line = newLine();
    await expect(interrupted.planCheck(line, first, undefined)).rejects.toThrow("killed");
    expect(await lines.list(line, 1)).toEqual([]);
    await planNext(lines, line, "b");
    expect(await lines.list(line, 1)).toEqual([line]);
    await close();
  });

  test("a process that died before the second check was noted leaves the entry to the next ones", async () => {
    const { lines, interrupted, close } = await setUp("UpdateCommand", () => Promise.reject(new Error("killed")));
    const line = newLine();
    await lines.planCheck(line, first, undefined);
    await expect(planNext(interrupted, line, "b")).rejects.toThrow("killed");
    for (const id of ["c", "d", "e"]) await planNext(lines, line, id);
    expect(await lines.list(line, 1)).toEqual([line]);
    await lines.endChecks(line, "e");
    expect(await lines.list(line, 1)).toEqual([]);
    await close();
  });

  test("the first two checks of a line write its entry, and later ones do so once a day", async () => {
    const { interrupted, written, lines, close } = await setUp();
    const line = newLine();
    await interrupted.planCheck(line, first, undefined);
    await planNext(interrupted, line, "second");
    expect(written).toEqual(["line", "list", "list", "line"]);
    written.length = 0;
    for (let day = 0; day < 20; day++) {
      for (let n = 0; n < 5; n++) await planNext(interrupted, line, `check ${n} of day ${day}`);
      clock.nowMs += 86_400_000;
      const seen = await checkOf(lines, line);
      await interrupted.planCheck(line, { id: `day ${day}`, atMs: clock.nowMs }, seen);
    }
    expect(written.filter((of) => of === "list").length).toBeLessThanOrEqual(20);
    await lines.endChecks(line, "day 19");
    expect(await lines.list(line, 1)).toEqual([]);
    clock.nowMs = now();
    await close();
  });

  test("a line of a pause or a breaker writes no entry", async () => {
    const { interrupted, written, close } = await setUp();
    for (const line of ["pause/type/a.b", "breaker/a.b/acme"]) {
      await interrupted.planCheck(line, first, undefined);
      await planNext(interrupted, line, "b");
      await interrupted.endChecks(line, "b");
    }
    expect(new Set(written)).toEqual(new Set(["line"]));
    await close();
  });

  test("the lines of a type are in several partitions, and share none with another type", async () => {
    const { dynamoTable, lines, close } = await setUp();
    const [line, other] = [newLine(), newLine()];
    const names = Array.from({ length: 40 }, (_, key) => `${line}${key}`);
    for (const name of [...names, other]) await lines.planCheck(name, first, undefined);
    const of = (name: string) => keys.lineEntry(name).pk;
    expect(new Set(names.map(of)).size).toBe(4);
    expect(names.map(of)).not.toContain(of(other));
    for (const name of names) expect(await dynamoTable.get(keys.lineEntry(name))).toBeDefined();
    expect(await lines.list(line, 100)).toEqual([...names].sort());
    await close();
  });

  test("a line that an earlier release listed stays listed, once, and leaves the list", async () => {
    const { dynamoTable, lines, close } = await setUp();
    const [goesOn, ends] = [newLine(), newLine()];
    for (const line of [goesOn, ends]) {
      await dynamoTable.put({ ...keys.lineState(line), check_id: "a", check_at_ms: now() });
      await dynamoTable.put({ ...keys.earlierLineEntry(line), check_id: "a" });
      expect(await lines.list(line, 10)).toEqual([line]);
    }
    await planNext(lines, goesOn, "b");
    expect(await lines.list(goesOn, 10)).toEqual([goesOn]);
    expect(await dynamoTable.get(keys.earlierLineEntry(goesOn))).toBeUndefined();
    await lines.endChecks(goesOn, "b");
    await lines.endChecks(ends, "a");
    for (const line of [goesOn, ends]) expect(await lines.list(line, 10)).toEqual([]);
    await close();
  });

  test("a line whose process died before it left the list leaves it when the check is repeated", async () => {
    const { lines, interrupted, close } = await setUp("DeleteCommand", () => Promise.reject(new Error("killed")));
    const line = newLine();
    await lines.planCheck(line, first, undefined);
    await expect(interrupted.endChecks(line, "a")).rejects.toThrow("killed");
    await lines.endChecks(line, "a");
    expect(await lines.list(line, 1)).toEqual([]);
    await close();
  });

  test("a check that is planned while another ends keeps its line in the list", async () => {
    const line = newLine();
    const { lines, interrupted, close } = await setUp("DeleteCommand", (others) =>
      others.planCheck(line, { id: "b", atMs: now() + 1 }, undefined).then(() => {}),
    );
    await lines.planCheck(line, first, undefined);
    await interrupted.endChecks(line, "a");
    expect(await lines.list(line, 1)).toEqual([line]);
    expect(await checkOf(lines, line)).toMatchObject({ id: "b", atMs: now() + 1 });
    await close();
  });

  test("an entry that is written late, when the line was listed anew, changes nothing", async () => {
    const line = newLine();
    const { lines, interrupted, close } = await setUp("UpdateCommand", async (others) => {
      await others.endChecks(line, "a");
      await others.planCheck(line, { id: "b", atMs: now() + 1 }, undefined);
    });
    await interrupted.planCheck(line, first, undefined);
    await lines.endChecks(line, "b");
    expect(await lines.list(line, 1)).toEqual([]);
    await close();
  });
});

describe("the messages of a line in DynamoDB", () => {
  let table: Awaited<ReturnType<typeof emulatedTable>>;
  let lines: DynamoWaitQueues;
  beforeAll(async () => {
    table = await emulatedTable();
    lines = new DynamoWaitQueues(table.dynamoTable, now);
  });
  afterAll(() => table.close());

  /** The items of a partition. */
  const itemsOf = (pk: string): Promise<Item[]> =>
    table.dynamoTable.all({ KeyConditionExpression: "pk = :pk", ExpressionAttributeValues: { ":pk": pk } });
  const inLine = (line: string) => itemsOf(keys.lineState(line).pk);
  const ofTask = (task: ReturnType<typeof newTask>) => itemsOf(keys.waitingEnvelope("", task).pk);

  test.each([0.25, 1, 2, 20])("an entry with a message of %d KiB needs one write unit", async (size) => {
    const line = newLine();
    const task = newTask({ input: kib(size), sinceMs: now(), slotMs: now() + 1, tryUntilMs: now() + 2 });
    await lines.add(line, task, purgeAt);
    const [entry] = await inLine(line);
    expect(bytesOf(entry)).toBeLessThanOrEqual(unitBytes);
    expect(await ofTask(task)).toHaveLength(size < 1 ? 0 : 1);
    expect((await ofTask(task)).every(({ purge_at }) => purge_at === purgeAt)).toBe(true);
  });

  test("the state of a line in strict order is kept for as long as a task can have the turn, whatever is written", async () => {
    const line = newLine();
    const [a, b] = ["a", "b"].map((task) => ({ task, untilMs: now() + 1, turn: true as const }));
    if (a === undefined || b === undefined) throw new Error("two tasks");
    const purgeDays = async () => (Number((await inLine(line))[0]?.purge_at) - now() / 1000) / 86_400;
    expect(await lines.acquirePermits(line, ["a"], a.untilMs, 1, true)).toBe(true);
    expect(await purgeDays()).toBe(500);
    await lines.planCheck(line, { id: "check", atMs: now() }, undefined);
    expect(await purgeDays()).toBe(500);
    expect(await lines.renewPermit(line, a, a.untilMs + 1)).toBe(true);
    expect(await lines.passPermit(line, { ...a, untilMs: a.untilMs + 1 }, b, 1)).toBeDefined();
    await lines.endChecks(line, "check");
    expect(await purgeDays()).toBe(500);
    await lines.releasePermit(line, "b", b.untilMs);
    expect(await purgeDays()).toBe(7);
    await lines.acquirePermits(line, ["c"], now(), 1);
    expect(await purgeDays()).toBe(7);
  });

  test("a message is kept as long as its entry, and leaves the table with it", async () => {
    const line = newLine();
    const task = newTask({ input: kib(2) });
    await lines.add(line, task, purgeAt);
    await lines.keep(line, waitOf(task), purgeAt + 1);
    await lines.keep(line, { ...waitOf(task), id: "another" }, purgeAt + 2);
    for (const items of [await inLine(line), await ofTask(task)])
      expect(items.map(({ purge_at }) => purge_at)).toEqual([purgeAt + 1]);
    await lines.remove(line, waitOf(task));
    expect([...(await inLine(line)), ...(await ofTask(task))]).toEqual([]);
  });

  test("a wait that follows another one has its own message, which the end of that one leaves", async () => {
    const line = newLine();
    const task = newTask({ input: kib(2) });
    const again = { ...task, id: "again", envelope: { ...task.envelope, input: kib(3) } };
    await lines.add(line, task, purgeAt);
    const [late] = await inLine(line);
    await lines.add(line, again, purgeAt);
    await lines.remove(line, waitOf(task));
    expect(await lines.find(line, waitOf(task))).toEqual(again);
    // A late try of the first wait has the message of the second.
    await table.dynamoTable.put(late as Item);
    expect(await lines.find(line, waitOf(task))).toEqual({ ...again, id: task.id });
    await lines.add(line, again, purgeAt);
    await lines.remove(line, waitOf(again));
    expect([...(await inLine(line)), ...(await ofTask(task))]).toEqual([]);
  });

  test("a task that waits in two lines has a message in each", async () => {
    const [one, other] = [newLine(), newLine()];
    const task = newTask({ input: kib(2) });
    for (const line of [one, other]) await lines.add(line, task, purgeAt);
    await lines.remove(one, waitOf(task));
    expect(await lines.find(other, waitOf(task))).toEqual(task);
  });

  test("a late try that adds an entry whose wait is over has no message, and can be removed", async () => {
    const line = newLine();
    const task = newTask({ input: kib(2) });
    await lines.add(line, task, purgeAt);
    const [late] = await inLine(line);
    await lines.remove(line, waitOf(task));
    await table.dynamoTable.put(late as Item);
    const [found] = await lines.first(line, 1);
    expect(found).toMatchObject({ id: task.id, taskId: task.taskId, tenantId: "acme" });
    expect(await lines.withEnvelopes(line, found === undefined ? [] : [found])).toEqual([]);
    expect(await lines.find(line, waitOf(task))).toBeUndefined();
    await lines.remove(line, waitOf(task));
    expect(await lines.first(line, 1)).toEqual([]);
  });

  test("the tasks of a pause are spread over sixteen partitions, those of a limit are in one", async () => {
    const [pause, limit] = [newPause(), newLine()];
    const tasks = Array.from({ length: 320 }, () => newTask());
    for (const line of [pause, limit]) await Promise.all(tasks.map((task) => lines.add(line, task, purgeAt)));
    const counts = await Promise.all(waitingPartitions(pause).map(async (pk) => (await itemsOf(pk)).length));
    expect(counts).toHaveLength(16);
    expect(Math.max(...counts)).toBeLessThan(50);
    expect(await inLine(limit)).toHaveLength(320);
  });

  test("the tasks that an earlier release has put into the line of a pause are in one partition, and in its order", async () => {
    const line = newPause();
    const tasks = Array.from({ length: 40 }, (_, second) => newTask({ second }));
    const [pk] = waitingPartitions(line);
    for (const [second, { envelope, taskId, tenantId, ...rest }] of tasks.entries()) {
      const { sk } = keys.waiting(line, { createdAt: rest.createdAt, taskId });
      const text = JSON.stringify(envelope);
      if (second % 2 === 0) await table.dynamoTable.put({ pk, sk, ...rest, envelope: text, purge_at: purgeAt });
      else await lines.add(line, { envelope, taskId, tenantId, ...rest }, purgeAt);
    }
    expect(await lines.first(line, 100)).toEqual(tasks);
    expect(await lines.first(line, 10)).toEqual(tasks.slice(0, 10));
    for (const task of tasks) {
      expect(await lines.find(line, waitOf(task))).toEqual(task);
      await lines.keep(line, waitOf(task), purgeAt + 1);
      await lines.remove(line, waitOf(task));
    }
    expect(await lines.first(line, 1)).toEqual([]);
  });

  test("an entry of an earlier release has its message in it, whatever its size", async () => {
    const line = newLine();
    const task = newTask({ input: kib(20) });
    const { envelope, taskId, tenantId: _, ...rest } = task;
    const key = keys.waiting(line, { createdAt: task.createdAt, taskId });
    await table.dynamoTable.put({ ...key, ...rest, envelope: JSON.stringify(envelope), purge_at: purgeAt });
    expect(await lines.first(line, 1)).toEqual([task]);
    expect(await lines.find(line, waitOf(task))).toEqual(task);
    await lines.remove(line, waitOf(task));
    expect(await inLine(line)).toEqual([]);
  });
});
