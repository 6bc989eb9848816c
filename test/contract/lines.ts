import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allShards, shardOf } from "../../src/core/extras/limits/place-book.ts";
import { type Envelope, largestEnvelopeBytes } from "../../src/core/model/envelope.ts";
import type { Wait, WaitingTask, WaitQueues } from "../../src/core/ports/flow.ts";
import { describeChecks, describePlaces, describeStarts, newLine, newPause, untilMs } from "./line-states.ts";

/** An implementation of `WaitQueues`. */
export interface LinesUnderTest {
  lines: WaitQueues;
  close(): Promise<void>;
}

export const purgeAt = 2_000_000_000;

const secondsIn = (seconds: number): string => new Date(Date.UTC(2027, 0, 1) + seconds * 1000).toISOString();

/** A new task in a line. */
export function newTask({
  second = 0,
  input,
  task_id = randomUUID(),
  ...more
}: Partial<WaitingTask> & { second?: number; input?: unknown; task_id?: string } = {}): WaitingTask {
  const createdAt = secondsIn(second);
  const envelope: Envelope = {
    ...{ schema_version: "1.0", message_id: randomUUID(), task_id, type: "a.b", tenant_id: "acme" },
    ...{ requested_by: "ada", correlation_id: "c", enqueued_at: createdAt, max_attempts: 3, input },
  };
  return { id: randomUUID(), tier: "normal", createdAt, taskId: task_id, tenantId: "acme", envelope, ...more };
}

const idOf = ({ taskId }: Wait): string => taskId;
export const waitOf = ({ id, createdAt, taskId }: Wait): Wait => ({ id, createdAt, taskId });

export const kib = (count: number): string => "x".repeat(count * 1024);

/** Twenty-five messages of 47 KiB: more than DynamoDB returns at once. */
const largeTasks = (): WaitingTask[] =>
  Array.from({ length: 25 }, (_, second) => newTask({ second, input: "x".repeat(largestEnvelopeBytes - 1024) }));

/** The promises of lines, for every implementation. */
export function describeLines(name: string, make: () => Promise<LinesUnderTest>): void {
  describe(name, () => {
    let under: LinesUnderTest;
    let lines: WaitQueues;
    beforeAll(async () => {
      under = await make();
      lines = under.lines;
    });
    afterAll(() => under.close());

    const addAll = async (line: string, tasks: readonly WaitingTask[]) => {
      for (const task of tasks) await lines.add(line, task, purgeAt);
    };
    const tasksIn = async (line: string, limit = 100) => lines.withEnvelopes(line, await lines.first(line, limit));
    const idsIn = async (line: string, limit = 100) => (await lines.first(line, limit)).map(idOf);

    describe.each([
      { kind: "a limit", newLine },
      { kind: "a pause", newLine: newPause },
      { kind: "a breaker", newLine: () => `breaker/t-${randomUUID()}/acme` },
    ])("the line of $kind", ({ newLine }) => {
      const waiting: Waiting = { lines: () => lines, addAll, idsIn, tasksIn, newLine };
      describeWaiting(waiting);
      describeMessages(waiting);
    });
    describePlaces(() => lines);
    describeStarts(() => lines);
    describeChecks(() => lines);

    test("a task is found by its names, and kept as long as it waits", async () => {
      const line = newLine();
      const task = newTask({ second: 1, input: { n: 1 } });
      await addAll(line, [newTask({ second: 0 }), task]);
      expect(await lines.find(line, waitOf(task))).toEqual(task);
      await lines.keep(line, waitOf(task), purgeAt + 1);
      await lines.keep(line, { ...waitOf(task), id: "another" }, purgeAt + 2);
      await lines.remove(line, waitOf(task));
      await lines.keep(line, waitOf(task), purgeAt + 1);
      expect(await lines.find(line, waitOf(task))).toBeUndefined();
      expect(await idsIn(line)).toHaveLength(1);
    });

    test("the tasks of a limit wait in the shards that the caller says, and each is found", async () => {
      const line = newLine();
      const task = (second: number, shard?: number) => newTask({ second, ...(shard !== undefined && { shard }) });
      // Its own shard is none of the others.
      const ids = Array.from({ length: 200 }, () => randomUUID());
      const own = newTask({ second: 3, task_id: String(ids.find((id) => ![7, 15].includes(shardOf(id)))) });
      const tasks = [task(0, 7), task(1), task(2, 15), { ...own, shard: shardOf(own.taskId) }];
      await addAll(line, tasks.toReversed());
      expect(await lines.first(line, 10)).toEqual([tasks[1]]);
      expect(await lines.first(line, 10, [15, 7])).toEqual([tasks[0], tasks[2]]);
      expect(await lines.first(line, 3, allShards)).toEqual(tasks.slice(0, 3));
      expect(await lines.orders(line, 2, undefined, allShards)).toHaveLength(2);
      expect(await lines.orders(line, 10)).toHaveLength(1);
      // Who does not know the shard finds a task in its own one.
      expect(await lines.find(line, waitOf(own))).toEqual(tasks[3]);
      await lines.keep(line, waitOf(own), purgeAt + 1);
      await lines.remove(line, waitOf(own));
      for (const one of tasks.slice(0, 3)) await lines.remove(line, one);
      expect(await lines.first(line, 10, allShards)).toEqual([]);
    });

    test("a task that waits in two shards is told once", async () => {
      const line = newLine();
      const early = newTask();
      const late = { ...early, id: "late", shard: shardOf(early.taskId) };
      await addAll(line, [early, late]);
      expect(await lines.first(line, 10, allShards)).toEqual([late]);
      await lines.remove(line, late);
      expect(await lines.first(line, 10, allShards)).toEqual([early]);
    });

    test("the messages of tasks in shards are theirs", async () => {
      const line = newLine();
      const task = newTask({ input: kib(2), shard: 4 });
      await lines.add(line, task, purgeAt);
      const first = await lines.first(line, 1, [4]);
      expect(await lines.withEnvelopes(line, first)).toEqual([task]);
    });

    test("lines never mix, whatever their names", async () => {
      const start = `concurrency/t-${randomUUID()}/acme`;
      const ends = ["", "/", "/a", "/a/b", "/a#waiting#", "/a#state", "/ä 東京 🎈", "/A", "#", "/a "];
      const names = ends.map((end) => `${start}${end}`);
      for (const [second, line] of names.entries()) {
        await lines.add(line, newTask({ second }), purgeAt);
        await lines.acquirePermits(line, [`task ${second}`], untilMs + second, 1);
        await lines.acquireTokens(line, undefined, second);
        await lines.planCheck(line, { id: `check ${second}`, atMs: second }, undefined);
      }
      for (const [second, line] of names.entries()) {
        expect((await lines.first(line, 10)).map(({ createdAt }) => createdAt)).toEqual([secondsIn(second)]);
        expect(await lines.state(line)).toMatchObject({
          permits: new Map([[`task ${second}`, untilMs + second]]),
          nextTokenMs: second,
          check: { id: `check ${second}`, atMs: second },
        });
      }
      expect(await lines.list(start, 100)).toEqual([...names].sort());
    });

    test("a line may have the longest name that a type, a tenant and a key can make", async () => {
      const line = `concurrency/${randomUUID()}${"t".repeat(28)}/${"x".repeat(64)}/${"東".repeat(256)}`;
      await lines.add(line, newTask(), purgeAt);
      await lines.planCheck(line, { id: "a", atMs: 1 }, undefined);
      expect(await lines.list(line, 1)).toEqual([line]);
      expect(await idsIn(line)).toHaveLength(1);
    });
  });
}

interface Waiting {
  newLine(): string;
  lines(): WaitQueues;
  addAll(line: string, tasks: readonly WaitingTask[]): Promise<void>;
  idsIn(line: string, limit?: number): Promise<string[]>;
  tasksIn(line: string, limit?: number): Promise<WaitingTask[]>;
}

function describeWaiting({ lines, addAll, idsIn, tasksIn, newLine }: Waiting): void {
  describe("waiting tasks", () => {
    test("a line without tasks has none, and its state is empty", async () => {
      const line = newLine();
      expect(await lines().first(line, 10)).toEqual([]);
      expect(await lines().state(line)).toEqual({ permits: new Map() });
    });

    test("tasks wait in the order of their submits, then of their ids, whenever they came", async () => {
      const line = newLine();
      const [b, a] = [newTask({ second: 2, task_id: "b" }), newTask({ second: 2, task_id: "a" })];
      const [late, early] = [newTask({ second: 3 }), newTask({ second: 1 })];
      await addAll(line, [b, late, a, early]);
      const inOrder = [early, a, b, late].map(idOf);
      expect(await idsIn(line)).toEqual(inOrder);
      expect(await idsIn(line, 2)).toEqual(inOrder.slice(0, 2));
      expect(await idsIn(line, 4)).toEqual(inOrder);
    });

    test("a task is returned as it was added", async () => {
      const line = newLine();
      const [plain, full] = [
        newTask(),
        newTask({
          ...{ second: 1, runsOn: "container", sinceMs: 1_800_000_000_000 },
          ...{ slotMs: 1_800_000_000_123, tryUntilMs: 1_800_000_000_456 },
        }),
      ];
      await addAll(line, [plain, full]);
      expect(await tasksIn(line)).toEqual([plain, full]);
    });

    test("a task that is added twice waits once, in its turn, as it was added last", async () => {
      const line = newLine();
      const [first, second] = [newTask({ second: 1, slotMs: 5 }), newTask({ second: 2 })];
      const { slotMs: _, ...again } = { ...first, id: randomUUID(), tier: "low" as const };
      await addAll(line, [first, second, again]);
      expect(await tasksIn(line)).toEqual([again, second]);
    });

    test("a task leaves its line once; another wait of it does not", async () => {
      const line = newLine();
      const [task, other] = [newTask(), newTask({ second: 1 })];
      const again = { ...task, id: randomUUID() };
      await addAll(line, [task, other, again]);
      await lines().remove(line, waitOf(task));
      expect(await idsIn(line)).toEqual([idOf(task), idOf(other)]);
      await lines().remove(line, waitOf(again));
      await lines().remove(line, waitOf(again));
      await lines().remove(newLine(), waitOf(other));
      expect(await idsIn(line)).toEqual([idOf(other)]);
    });

    test("some hundred tasks are returned in order, from each end that a caller may ask for", async () => {
      const line = newLine();
      const tasks = Array.from({ length: 230 }, (_, second) => newTask({ second }));
      await Promise.all(tasks.map((task) => lines().add(line, task, purgeAt)));
      const ids = tasks.map(idOf);
      for (const limit of [1, 5, 100, 101, 229, 230, 1_000])
        expect(await idsIn(line, limit)).toEqual(ids.slice(0, limit));
      const orders = tasks.map((task) => `${task.createdAt}#${idOf(task)}`);
      expect(await lines().orders(line, 101)).toEqual(orders.slice(0, 101));
      expect(await lines().orders(line, 101, orders[99])).toEqual(orders.slice(100, 201));
    });

    test("many tasks with the largest messages are returned, whole and in order", async () => {
      const line = newLine();
      const tasks = largeTasks();
      await addAll(line, tasks);
      expect(await tasksIn(line)).toEqual(tasks);
      expect(await idsIn(line, 24)).toEqual(tasks.slice(0, 24).map(idOf));
    });

    test("the orders of the first tasks, and of those after one, are those of the line", async () => {
      const line = newLine();
      const tasks = Array.from({ length: 12 }, (_, second) => newTask({ second }));
      await addAll(line, tasks);
      const all = tasks.map((task) => `${task.createdAt}#${idOf(task)}`);
      expect(await lines().orders(line, 100)).toEqual(all);
      expect(await lines().orders(line, 3)).toEqual(all.slice(0, 3));
      expect(await lines().orders(line, 2, all[4])).toEqual(all.slice(5, 7));
      expect(await lines().orders(line, 100, all[10])).toEqual(all.slice(11));
      expect(await lines().orders(line, 100, all[11])).toEqual([]);
      // The state has no order.
      await lines().acquirePermits(line, ["a"], untilMs, 1);
      expect(await lines().orders(line, 100)).toEqual(all);
      expect(await lines().orders(newLine(), 100)).toEqual([]);
    });

    test("a task that no longer waits is followed by those that were submitted after it", async () => {
      const line = newLine();
      const tasks = [newTask(), newTask({ second: 1 }), newTask({ second: 2 })];
      await addAll(line, tasks);
      const orders = await lines().orders(line, 10);
      expect(await lines().orders(line, 10, `${secondsIn(1.5)}#a`)).toEqual(orders.slice(2));
    });

    test("the orders are all found also when the messages are large", async () => {
      const line = newLine();
      const tasks = largeTasks();
      await addAll(line, tasks);
      expect(await lines().orders(line, 100)).toEqual(tasks.map((task) => `${task.createdAt}#${idOf(task)}`));
      expect(await lines().orders(line, 24)).toHaveLength(24);
    });
  });
}

/** Messages of both kinds: small ones, which fit beside their entries, and larger ones. */
function describeMessages({ lines, addAll, idsIn, tasksIn, newLine }: Waiting): void {
  describe("messages of waiting tasks", () => {
    test("a message keeps every character, and members that this release does not know", async () => {
      const line = newLine();
      const task = newTask({
        input: { text: "\u0000\u001f\"\\'\u2028 ä 東京 🎈 \ud800 \ufffe\uffff", "": null, deep: [[{}]], n: 1e-7 },
      });
      const later = {
        ...task,
        envelope: JSON.parse(`{"__proto__": {"x": 1}, ${JSON.stringify(task.envelope).slice(1)}`),
      };
      Object.assign(later.envelope, { later_member: [""] });
      const large = {
        ...later,
        id: randomUUID(),
        taskId: randomUUID(),
        envelope: { ...later.envelope, large: kib(2) },
      };
      await addAll(line, [later, large]);
      for (const task of [later, large]) {
        const found = (await tasksIn(line)).find(({ id }) => id === task.id);
        expect(JSON.stringify(found?.envelope)).toBe(JSON.stringify(task.envelope));
      }
    });

    test.each([0, 1, 2, 20])("a task with a message of %i KiB is found and returned with it", async (size) => {
      const line = newLine();
      const task = newTask({ input: kib(size) });
      await addAll(line, [task, newTask({ second: 1 })]);
      expect((await tasksIn(line))[0]).toEqual(task);
      const [first] = await lines().first(line, 1);
      // The caller may have given it a start.
      const started = { ...(first ?? task), slotMs: 1_800_000_000_789 };
      expect(await lines().withEnvelopes(line, [started])).toEqual([{ ...task, slotMs: started.slotMs }]);
      expect(await lines().find(line, waitOf(task))).toEqual(task);
    });

    test.each([0, 2])("a task with a message of %i KiB whose wait is over has none", async (size) => {
      const line = newLine();
      const [over, next] = [newTask({ input: kib(size) }), newTask({ second: 1, input: kib(2) })];
      await addAll(line, [over, next]);
      const seen = await lines().first(line, 10);
      await lines().remove(line, waitOf(over));
      expect((await lines().withEnvelopes(line, seen)).map(idOf).slice(size === 0 ? -1 : 0)).toEqual([idOf(next)]);
      expect(await lines().find(line, waitOf(over))).toBeUndefined();
      expect(await lines().withEnvelopes(line, [])).toEqual([]);
    });

    test.each([
      [0, 2],
      [2, 0],
      [2, 3],
    ])("a task that waits anew, with %i and then %i KiB, has its new message", async (before, after) => {
      const line = newLine();
      const task = newTask({ input: kib(before) });
      const again = { ...task, id: randomUUID(), envelope: { ...task.envelope, input: kib(after) } };
      await addAll(line, [task, again]);
      await lines().remove(line, waitOf(task));
      expect(await tasksIn(line)).toEqual([again]);
      await lines().keep(line, waitOf(again), purgeAt + 1);
      await lines().remove(line, waitOf(again));
      expect(await idsIn(line)).toEqual([]);
    });
  });
}
