import dynalite, { type Store, type Write } from "dynalite/db/index.js";
import { expect, test, vi } from "vitest";
import { runOperation } from "../../src/local/dynamodb/table-operations.ts";
import { TableStore } from "../../src/local/dynamodb/table-store.ts";

const TableName = "tasks";
const item = (at: string) => ({ pk: { S: "a" }, at: { S: at }, kind: { S: "task" } });

/** A table with an index on `kind` and `at`, and a switch that makes it lose all writes, as a kill does. */
async function setUp() {
  const store = dynalite.create({ createTableMs: 0, updateTableMs: 0, deleteTableMs: 0 });
  await store.db.open();
  const key = (AttributeName: string, KeyType: string) => ({ AttributeName, KeyType });
  await runOperation(store, "CreateTable", {
    TableName,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: ["pk", "kind", "at"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
    KeySchema: [key("pk", "HASH")],
    GlobalSecondaryIndexes: [
      {
        IndexName: "times",
        KeySchema: [key("kind", "HASH"), key("at", "RANGE")],
        Projection: { ProjectionType: "ALL" },
      },
    ],
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  const killed = (_: readonly Write[]) => Promise.reject(new Error("killed"));
  const dying: Store = { ...store, db: Object.assign(Object.create(store.db), { batch: killed }) };
  const inIndex = async () => {
    const query = {
      TableName,
      IndexName: "times",
      KeyConditionExpression: "kind = :kind",
      ExpressionAttributeValues: { ":kind": { S: "task" } },
    };
    const { Items } = (await runOperation(store, "Query", query)) as { Items: { at: { S: string } }[] };
    return Items.map(({ at }) => at.S);
  };
  return { store, dying, inIndex };
}

test("a write that does not reach the item leaves no index entry behind", async () => {
  const { store, dying, inIndex } = await setUp();
  await expect(runOperation(dying, "PutItem", { TableName, Item: item("1") })).rejects.toThrow("killed");
  expect(await inIndex()).toEqual([]);
  await runOperation(store, "PutItem", { TableName, Item: item("2") });
  expect(await inIndex()).toEqual(["2"]);
});

test("a change or a delete that does not reach the item leaves the item's index entry", async () => {
  const { store, dying, inIndex } = await setUp();
  await runOperation(store, "PutItem", { TableName, Item: item("1") });
  const Key = { pk: { S: "a" } };
  const change = { TableName, Key, UpdateExpression: "REMOVE kind" };
  await expect(runOperation(dying, "UpdateItem", change)).rejects.toThrow("killed");
  await expect(runOperation(dying, "DeleteItem", { TableName, Key })).rejects.toThrow("killed");
  expect(await inIndex()).toEqual(["1"]);
  await runOperation(store, "UpdateItem", change);
  expect(await inIndex()).toEqual([]);
});

test("a read of an item waits for no other request", async () => {
  const store = await TableStore.open(undefined);
  const key = { pk: { S: "a" } };
  await store.run("CreateTable", {
    TableName,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
  });
  expect(await store.tableNames()).toEqual([TableName]);
  await store.run("PutItem", { TableName, Item: key });
  const order: string[] = [];
  const turn = new Promise<void>((resolve) => {
    setImmediate(() => {
      order.push("turn of the event loop");
      resolve();
    });
  });
  expect(await store.run("GetItem", { TableName, Key: key })).toEqual({ Item: key });
  order.push("answer");
  await turn;
  expect(order).toEqual(["answer", "turn of the event loop"]);
  await store.close();
  await expect(store.run("GetItem", { TableName, Key: key })).rejects.toThrow();
});

test("entries of a query are read at once", async (context) => {
  const create = vi.spyOn(dynalite, "create");
  context.onTestFinished(() => create.mockRestore());
  const store = await TableStore.open(undefined);
  const made = create.mock.results[0]?.value as Store;
  await made.db.batch(["a", "b", "c"].map((key) => ({ type: "put", key, value: key })));
  const values = made.db.values({ gte: "a", lt: "c" });
  const read = vi.spyOn(values, "nextv");
  expect([await values.next(), await values.next()]).toEqual(["a", "b"]);
  expect(read).toHaveBeenCalledTimes(1);
  expect(await values.next()).toBeUndefined();
  await values.close();
  await store.close();
});
