import { setTimeout as sleep } from "node:timers/promises";
import { tableClient } from "../src/aws/clients.ts";
import { DynamoTable, type Item } from "../src/aws/dynamo-table.ts";
import { DynamoRecords } from "../src/aws/records.ts";
import { localTable } from "../src/settings/config.ts";
import { itemBytesOf } from "../src/util/item-bytes.ts";
import { chromium } from "./support/browser.ts";
import { ConsoleBrowser } from "./support/console.ts";
import { Client } from "./support/http-client.ts";
import { startHere } from "./support/own-process-server.ts";
import { newRecord } from "./support/records.ts";

/*
 * Growth with the number of tasks that a tenant keeps, on a local server: the list of failed tasks, the last task of a
 * batch, the console's start: `npm run test:growth [tasks] [more tasks]`. It ends by itself.
 */

/** One task in so many has failed, and is a dead letter. */
const failedEvery = 100;

/** Reads of the table, as DynamoDB charges them for eventually consistent reads. */
const read = { requests: 0, units: 0 };

const { page, getBatch, get } = DynamoTable.prototype;
const unitsOf = (bytes: number): number => Math.max(1, Math.ceil(bytes / 4096)) / 2;
const count = (units: number): void => {
  read.requests += 1;
  read.units += units;
};
Object.assign(DynamoTable.prototype, {
  async page(this: DynamoTable, ...asked: Parameters<typeof page>) {
    const found = await page.apply(this, asked);
    count(unitsOf(found.items.reduce((sum, item) => sum + itemBytesOf(item), 0)));
    return found;
  },
  async getBatch(this: DynamoTable, ...asked: Parameters<typeof getBatch>) {
    const { found, rest } = await getBatch.apply(this, asked);
    count(found.reduce((sum, item) => sum + unitsOf(itemBytesOf(item)), 0));
    return { found, rest };
  },
  async get(this: DynamoTable, ...asked: Parameters<typeof get>) {
    const found: Item | undefined = await get.apply(this, asked);
    count(unitsOf(found === undefined ? 0 : itemBytesOf(found)));
    return found;
  },
});

interface Cost {
  ms: number;
  requests: number;
  units: number;
}

/** The median time of some calls, and what the last one reads. */
async function costOf(call: () => Promise<unknown>, times = 9): Promise<Cost> {
  const taken: number[] = [];
  for (let time = 0; time < times; time++) {
    Object.assign(read, { requests: 0, units: 0 });
    const from = performance.now();
    await call();
    taken.push(performance.now() - from);
  }
  const ms = taken.sort((a, b) => a - b)[Math.floor(times / 2)] ?? 0;
  return { ms, ...read };
}

const shown = ({ ms, requests, units }: Cost): string =>
  `${ms.toFixed(0)} ms, ${requests} requests, ${units.toFixed(0)} read units`;

const uuid = (number: number): string => `0190c000-0000-7000-8000-${String(number).padStart(12, "0")}`;

const sizes = process.argv.slice(2).map(Number);
const offload = await startHere({ OFFLOAD_PROBES: "1", OFFLOAD_LOG: "off" });
const records = new DynamoRecords(new DynamoTable(tableClient(), localTable));
const startMs = Date.now() - 86_400_000;

async function seed(number: number): Promise<void> {
  const created_at = new Date(startMs + number * 100).toISOString();
  const failed = {
    status: "failed" as const,
    error: "no",
    error_kind: "permanent" as const,
    dead_letter_at: created_at,
  };
  const record = newRecord({
    ...{ tenant_id: "acme", task_id: uuid(number), created_at, updated_at: created_at, type: "probe.echo" },
    ...{ purge_at: Math.ceil(Date.now() / 1000) + 86_400, status: "completed", finished_at: created_at },
    ...(number % failedEvery === 0 && failed),
  });
  await records.create(record, created_at);
}

const api = new Client(offload.url, { token: "dev-acme", tenant: "acme", role: "operator" });

/** Answers and what they read until all failed tasks were seen. */
async function everyFailed(path: string): Promise<string> {
  Object.assign(read, { requests: 0, units: 0 });
  const from = performance.now();
  let [answers, found] = [0, 0];
  for (let cursor: string | null = ""; cursor !== null; answers++) {
    const answer = await api.get(`${path}limit=100${cursor === "" ? "" : `&cursor=${cursor}`}`);
    const { next_cursor, ...lists } = answer.json<{ next_cursor: string | null }>();
    found += Object.values(lists as Record<string, unknown[]>)[0]?.length ?? 0;
    cursor = next_cursor;
  }
  return `${found} tasks in ${answers} answers, ${shown({ ms: performance.now() - from, ...read })}`;
}

/** A batch of 500 in milliseconds: until its answer, and until its last task has started. */
async function batch(): Promise<string> {
  const tasks = Array.from({ length: 500 }, (_, value) => ({
    type: "probe.echo",
    input: { value },
    delay_seconds: 600,
  }));
  const { ms } = await costOf(() => api.post("/tasks/batch", { tasks }), 5);
  return `${ms.toFixed(0)} ms until the answer`;
}

/** Requests of the console when it is opened. */
async function consoleStart(browser: ConsoleBrowser): Promise<string> {
  const tab = await browser.open("dev-acme");
  await tab.waitForLoadState("networkidle");
  const bodies: Promise<number>[] = [];
  const asked: string[] = [];
  tab.on("response", (response) => {
    const path = new URL(response.url()).pathname;
    if (path.startsWith("/console")) return;
    asked.push(path);
    bodies.push(
      response.body().then(
        ({ length }) => length,
        () => 0,
      ),
    );
  });
  Object.assign(read, { requests: 0, units: 0 });
  const from = performance.now();
  await tab.reload();
  await tab.waitForLoadState("networkidle");
  const ms = performance.now() - from;
  const bytes = (await Promise.all(bodies)).reduce((sum, length) => sum + length, 0);
  await tab.close();
  return `${asked.length} requests, ${(bytes / 1024).toFixed(1)} KiB; of the table ${shown({ ms, ...read })} (${asked.join(" ")})`;
}

const browser = chromium === undefined ? undefined : await ConsoleBrowser.start(offload.url);
try {
  let seeded = 0;
  for (const tasks of sizes.length > 0 ? sizes : [1_000, 100_000]) {
    for (; seeded < tasks; seeded += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, index) => seed(seeded + index)));
    }
    await sleep(2_000);
    console.log(`${tasks} tasks, one in ${failedEvery} failed`);
    console.log(`  the newest tasks: ${shown(await costOf(() => api.get("/tasks?limit=100")))}`);
    console.log(`  status=failed, an answer: ${shown(await costOf(() => api.get("/tasks?status=failed&limit=100")))}`);
    console.log(`  dead letters, an answer: ${shown(await costOf(() => api.get("/dead-letters?limit=100")))}`);
    console.log(`  status=failed, all: ${await everyFailed("/tasks?status=failed&")}`);
    console.log(`  dead letters, all: ${await everyFailed("/dead-letters?")}`);
    console.log(`  a batch of 500: ${await batch()}`);
    if (browser !== undefined) console.log(`  the console's start: ${await consoleStart(browser)}`);
  }
} finally {
  await browser?.close();
  await offload.close();
}
process.exit();
