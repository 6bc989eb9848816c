import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  ResourceNotFoundException,
  ScanCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import dynalite, { type LevelIterator } from "dynalite/db/index.js";
import { afterEach, expect, test, vi } from "vitest";
import { purge, startPurge } from "../../src/local/dynamodb/purge.ts";
import { startTable } from "../../src/local/dynamodb/table.ts";
import { TableStore } from "../../src/local/dynamodb/table-store.ts";
import { FakeClock } from "./fake-clock.ts";

const TableName = "tasks";
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function setUp(stateDir?: string, kept = "") {
  const { url, close, giveRoomBack } = await startTable({ port: 0, stateDir, kept });
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new DynamoDBClient({ endpoint: url, region: "us-east-1", credentials, maxAttempts: 1 });
  cleanups.push(close, () => client.destroy());
  const put = (pk: string, more: Record<string, { S: string } | { N: string }> = {}) =>
    client.send(new PutItemCommand({ TableName, Item: { pk: { S: pk }, sk: { S: "record" }, ...more } }));
  const keys = async () => {
    const { Items = [] } = await client.send(new ScanCommand({ TableName }));
    return Items.map(({ pk }) => pk?.S).sort();
  };
  return { url, close, giveRoomBack, client, put, keys };
}

const key = (AttributeName: string, KeyType: "HASH" | "RANGE") => ({ AttributeName, KeyType });
const definition = {
  TableName,
  KeySchema: [key("pk", "HASH"), key("sk", "RANGE")],
  AttributeDefinitions: ["pk", "sk"].map((AttributeName) => ({ AttributeName, AttributeType: "S" as const })),
  BillingMode: "PAY_PER_REQUEST" as const,
};

async function createTable(client: DynamoDBClient) {
  await client.send(new CreateTableCommand(definition));
  await waitUntilTableExists({ client, maxWaitTime: 10, minDelay: 0.02, maxDelay: 0.1 }, { TableName });
}

test("a new table is usable soon, and forgotten without a state directory", async () => {
  const first = await setUp();
  await createTable(first.client);
  await first.put("a");
  expect(await first.keys()).toEqual(["a"]);
  await first.close();
  const second = await setUp();
  await expect(second.keys()).rejects.toThrow(ResourceNotFoundException);
});

test("a table exists again after a restart", async () => {
  const stateDir = mkdtempSync(join(tmpdir(), "offload-"));
  const first = await setUp(stateDir);
  await createTable(first.client);
  await first.put("a", { n: { N: "1" } });
  await first.close();
  const second = await setUp(stateDir);
  const Key = { pk: { S: "a" }, sk: { S: "record" } };
  expect((await second.client.send(new GetItemCommand({ TableName, Key }))).Item).toEqual({ ...Key, n: { N: "1" } });
});

test("the server's own table is protected against deletion, as one with DynamoDB's protection", async () => {
  const { client, put, keys } = await setUp(undefined, TableName);
  await createTable(client);
  await put("a");
  const refused = { name: "ValidationException", message: expect.stringContaining("protected against deletion") };
  await expect(client.send(new DeleteTableCommand({ TableName }))).rejects.toMatchObject(refused);
  expect(await keys()).toEqual(["a"]);
  await client.send(new CreateTableCommand({ ...definition, TableName: "other" }));
  await client.send(new DeleteTableCommand({ TableName: "other" }));
});

test("a directory in use, and a port in use, are refused", async () => {
  const stateDir = mkdtempSync(join(tmpdir(), "offload-"));
  const { close } = await setUp(stateDir);
  await expect(startTable({ port: 0, stateDir })).rejects.toThrow(/in use by another server/);
  await close();
  const taken = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => taken.once("listening", resolve));
  const { port } = taken.address() as { port: number };
  await expect(startTable({ port, stateDir })).rejects.toMatchObject({ code: "EADDRINUSE" });
  taken.close();
});

test("a client that dies within its request does no harm", async () => {
  const { url, client, put, keys } = await setUp();
  await createTable(client);
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  await new Promise<void>((resolve) => {
    socket.write("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{", () => resolve());
  });
  socket.resetAndDestroy();
  await put("a");
  expect(await keys()).toEqual(["a"]);
});

test("purging deletes items past their time, page by page, and nothing else", async () => {
  const { url, client, put, keys } = await setUp();
  await createTable(client);
  const now = Date.parse("2027-01-01T00:00:00Z");
  const past = { purge_at: { N: String(now / 1000 - 1) }, filler: { S: "x".repeat(50_000) } };
  await Promise.all(Array.from({ length: 60 }, (_, index) => put(`past-${index}`, past)));
  await put("now", { purge_at: { N: String(now / 1000) } });
  await put("text", { purge_at: { S: "1" } });
  await put("none");
  expect(await purge({ url, table: TableName }, now)).toBe(60);
  expect(await keys()).toEqual(["none", "now", "text"]);
});

test("a large purge gives its room on the disk back while the server runs", async () => {
  const stateDir = mkdtempSync(join(tmpdir(), "offload-table-"));
  const { url, client, put, giveRoomBack } = await setUp(stateDir);
  await createTable(client);
  const past = { purge_at: { N: "1" }, filler: { S: "x".repeat(20_000) } };
  for (let start = 0; start < 600; start += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, index) => put(`past-${start + index}`, past)));
  }
  const sizeMb = () =>
    readdirSync(join(stateDir, "table")).reduce((sum, name) => {
      // LevelDB deletes files meanwhile.
      const stat = statSync(join(stateDir, "table", name), { throwIfNoEntry: false });
      return sum + (stat?.size ?? 0) / 1e6;
    }, 0);
  const before = sizeMb();
  const clock = new FakeClock();
  cleanups.push(startPurge({ url, table: TableName, clock, giveRoomBack }).stop);
  const purged = async () => {
    await clock.advance(60);
    expect(sizeMb()).toBeLessThan(before / 4);
  };
  await vi.waitFor(purged, { timeout: 300_000 });
});

test("purging happens once a minute, also after it failed", async () => {
  const { url, client, put, keys } = await setUp();
  const clock = new FakeClock();
  cleanups.push(startPurge({ url, table: TableName, clock }).stop);
  await clock.advance(60);
  await createTable(client);
  await put("past", { purge_at: { N: "1" } });
  expect(await keys()).toEqual(["past"]);
  const purged = async () => {
    await clock.advance(60);
    expect(await keys()).toEqual([]);
  };
  await vi.waitFor(purged, { timeout: 300_000 });
});

test("a read leaves nothing open in the store, whether it read all or stopped at its limit", async () => {
  const opened: LevelIterator[] = [];
  const { create } = dynalite;
  const spy = vi.spyOn(dynalite, "create").mockImplementation((options) => {
    const store = create(options);
    const { values } = store.db;
    store.db.values = (range) => {
      const iterator = values.call(store.db, range);
      opened.push(iterator);
      return iterator;
    };
    return store;
  });
  cleanups.push(() => spy.mockRestore());
  const { client, put, keys } = await setUp();
  await createTable(client);
  for (const pk of ["a", "b", "c"]) await put(pk);
  await client.send(new ScanCommand({ TableName, Limit: 1 }));
  expect(await keys()).toEqual(["a", "b", "c"]);
  expect(opened).toHaveLength(2);
  const state = (iterator: LevelIterator) =>
    iterator.next().then(
      () => "open",
      (error: { code: string }) => error.code,
    );
  for (const iterator of opened) await expect.poll(() => state(iterator)).toBe("LEVEL_ITERATOR_NOT_OPEN");
});

test("a read whose store was closed meanwhile fails, and nothing is thrown where nobody catches it", async () => {
  const { create } = dynalite;
  const notOpen = Object.assign(new Error("Database is not open"), { code: "LEVEL_DATABASE_NOT_OPEN" });
  const spy = vi.spyOn(dynalite, "create").mockImplementation((options) => {
    const store = create(options);
    store.db.values = () => {
      throw notOpen;
    };
    return store;
  });
  cleanups.push(() => spy.mockRestore());
  const store = await TableStore.open(undefined);
  cleanups.push(() => store.close());
  await store.run("CreateTable", definition);
  const scan = () => store.run("Scan", { TableName }).catch((error: unknown) => error);
  await expect.poll(scan).toBe(notOpen);
});

test("a server's table in memory keeps texts, as the class of dynalite's database was changed before dynalite loaded", () => {
  const script = `
    import { createRequire } from "node:module";
    await import(${JSON.stringify(import.meta.resolve("../../src/local/dynamodb/table.ts"))});
    const own = createRequire(${JSON.stringify(import.meta.url)});
    const memory = createRequire(own.resolve("dynalite/db/index.js"))("memory-level");
    console.log(own("dynalite/db/index.js").create({}).db instanceof memory.MemoryLevel);`;
  expect(String(execFileSync(process.execPath, ["--input-type=module", "-e", script], { timeout: 20_000 }))).toBe(
    "true\n",
  );
});
