import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DynamoTable, type Item } from "../../src/aws/dynamo-table.ts";
import { bytesOf, unitBytes } from "../../src/aws/item-bytes.ts";
import { DynamoLines } from "../../src/aws/lines.ts";
import { keys } from "../../src/aws/table.ts";
import { MemoryLines } from "../../src/memory/lines.ts";
import { emulatedTable } from "./emulators.ts";
import { newLine } from "./line-states.ts";
import { describeLines, kib, newTask, purgeAt, waitOf } from "./lines.ts";

const now = () => 1_800_000_000_000;

describeLines("lines in memory", async () => ({ lines: new MemoryLines(), close: async () => {} }));

describeLines("lines in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { lines: new DynamoLines(dynamoTable, now), close };
});

describe("the list of lines in DynamoDB, whose entry is a second write", () => {
  /** Lines whose first request of an operation is preceded by `act`. */
  async function setUp(operation: string, act: (lines: DynamoLines) => Promise<void>) {
    const { documents, table, dynamoTable, close } = await emulatedTable();
    const lines = new DynamoLines(dynamoTable, now);
    let left = 1;
    const send = async (command: { constructor: { name: string } }) => {
      if (command.constructor.name === operation && left-- === 1) await act(lines);
      return documents.send(command as never);
    };
    return { lines, interrupted: new DynamoLines(new DynamoTable({ send } as never, table), now), close };
  }

  test("a line whose process died before it was listed is listed with the next check", async () => {
    const { lines, interrupted, close } = await setUp("PutCommand", () => Promise.reject(new Error("killed")));
    const line = newLine();
    await expect(interrupted.planCheck(line, { id: "a", atMs: 1 }, undefined)).rejects.toThrow("killed");
    expect(await lines.list(line, 1)).toEqual([]);
    await lines.planCheck(line, { id: "b", atMs: 2 }, "a");
    expect(await lines.list(line, 1)).toEqual([line]);
    await close();
  });

  test("a line whose process died before it left the list leaves it when the check is repeated", async () => {
    const { lines, interrupted, close } = await setUp("DeleteCommand", () => Promise.reject(new Error("killed")));
    const line = newLine();
    await lines.planCheck(line, { id: "a", atMs: 1 }, undefined);
    await expect(interrupted.endChecks(line, "a")).rejects.toThrow("killed");
    await lines.endChecks(line, "a");
    expect(await lines.list(line, 1)).toEqual([]);
    await close();
  });

  test("a check that is planned while another ends keeps its line in the list", async () => {
    const line = newLine();
    const { lines, interrupted, close } = await setUp("DeleteCommand", (others) =>
      others.planCheck(line, { id: "b", atMs: 2 }, undefined).then(() => {}),
    );
    await lines.planCheck(line, { id: "a", atMs: 1 }, undefined);
    await interrupted.endChecks(line, "a");
    expect(await lines.list(line, 1)).toEqual([line]);
    expect((await lines.state(line)).check).toEqual({ id: "b", atMs: 2 });
    await close();
  });
});

describe("the messages of a line in DynamoDB", () => {
  let table: Awaited<ReturnType<typeof emulatedTable>>;
  let lines: DynamoLines;
  beforeAll(async () => {
    table = await emulatedTable();
    lines = new DynamoLines(table.dynamoTable, now);
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
