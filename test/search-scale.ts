import { tableClient } from "../src/aws/clients.ts";
import { DynamoTable } from "../src/aws/dynamo-table.ts";
import { DynamoRecords } from "../src/aws/records.ts";
import { localTable } from "../src/settings/config.ts";
import { type Answer, Client } from "./support/http-client.ts";
import { startHere } from "./support/own-process-server.ts";
import { newRecord } from "./support/records.ts";

/*
 * Times of lists and searches among many tasks of one tenant, on the local server: `node --import ./src/installed/register-entries.ts test/search-scale.ts [tasks]`.
 * It ends by itself.
 */

const count = Number(process.argv[2] ?? 50_000);
const offload = await startHere({ OFFLOAD_PROBES: "1" });
const records = new DynamoRecords(new DynamoTable(tableClient(), localTable));
const startMs = Date.now() - count * 1000;
const uuid = (number: number) => `0190c000-0000-7000-8000-${String(number).padStart(12, "0")}`;

const seed = async (number: number) => {
  const created_at = new Date(startMs + number * 1000).toISOString();
  const record = newRecord({
    ...{ tenant_id: "acme", task_id: uuid(number), created_at, updated_at: created_at, type: "probe.echo" },
    ...{ purge_at: Math.ceil(Date.now() / 1000) + 86_400, status: "completed", finished_at: created_at },
    ...(number === 10 && { tags: { order: "order-10" } }),
    ...(number === 11 && { correlation_id: "given-11", correlation_given: true as const }),
    ...(number % 2 === 1 && number > 100 && { tags: { region: "north" } }),
    ...(number === 12 && { status: "failed" as const, error: "the needle broke" }),
  });
  await records.create(record, created_at);
};

try {
  for (let number = 0; number < count; number += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, index) => seed(number + index)));
  }
  console.log(`${count} tasks`);
  let added = count;
  /** A new task, and a change of an old one, beside each answer. */
  const changeTasks = async () => {
    await seed(added++);
    const key = { tenant_id: "acme", task_id: uuid(Math.floor(Math.random() * count)) };
    await records.change(key, { when: {}, set: { updated_at: new Date().toISOString(), progress: 50 } });
  };
  const api = new Client(offload.url, { token: "dev-acme", tenant: "acme", role: "operator" });
  const isComplete = (ids: Set<string>) =>
    Array.from({ length: count }, (_, number) => uuid(number)).every((id) => ids.has(id));
  for (const query of [
    "",
    "q=order-10&",
    "q=given-11&",
    `q=${uuid(13)}&`,
    "q=needle&",
    "q=north&status=failed&",
    "status=failed&",
  ]) {
    const begun = performance.now();
    const times: number[] = [];
    const ids = new Set<string>();
    let all = 0;
    let found: number | undefined;
    for (let cursor: string | null = "", answers = 0; cursor !== null && answers < 1_000; answers++) {
      const from = performance.now();
      const change = changeTasks();
      const answer: Answer = await api.get(`/tasks?${query}limit=100${cursor === "" ? "" : `&cursor=${cursor}`}`);
      await change;
      const page = answer.json<{ tasks: { task_id: string }[]; next_cursor: string | null }>();
      times.push(performance.now() - from);
      if (page.tasks.length > 0) found ??= times.length;
      for (const { task_id } of page.tasks) ids.add(task_id);
      all += page.tasks.length;
      cursor = page.next_cursor;
    }
    const ms = (value: number | undefined) => `${(value ?? 0).toFixed(0)} ms`;
    console.log(
      `${query || "list"}: first answer ${ms(times[0])}, slowest ${ms(Math.max(...times))}, ${times.length} answers in ${ms(performance.now() - begun)}, ` +
        `${all} tasks from answer ${found}, each once: ${ids.size === all}${query === "" ? `, all: ${isComplete(ids)}` : ""}`,
    );
  }
} finally {
  await offload.close();
}
process.exit();
