import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { CloudWatchLogsClient, FilterLogEventsCommand } from "../../src/aws/lean/client-cloudwatch-logs.ts";
import { createLog } from "../../src/aws/log.ts";
import { CloudWatchTaskLogs } from "../../src/aws/task-logs.ts";
import { LogFile } from "../../src/local/cloudwatch/log-file.ts";

const task = { tenant_id: "acme", task_id: "0192-a", tier: "high" } as const;
const groups = { submit: "Submit", critical: "C", high: "H", normal: "N", low: "L" } as const;

test("FilterLogEvents is asked for one task, one group and one span, and its lines of JSON are read", async () => {
  const asked: unknown[] = [];
  const line = { level: "WARN", message: "slow", timestamp: "2027-01-01T00:00:01.000Z", service: "worker", attempt: 2 };
  // A service that does not know the filter returns other lines, too.
  const foreign = [{ task_id: "0192-b" }, { tenant_id: "globex" }].map((other) => ({ ...line, ...task, ...other }));
  const texts = [
    ...[{ ...line, ...task, rows: 5 }, ...foreign].map((each) => JSON.stringify(each)),
    "START RequestId: 1",
  ];
  const events = texts.map((message) => ({ message }));
  const client = {
    send: async ({ input }: FilterLogEventsCommand) => {
      asked.push(input);
      return { events, nextToken: "more" };
    },
  } as Pick<CloudWatchLogsClient, "send"> as CloudWatchLogsClient;
  const logs = new CloudWatchTaskLogs(client, groups);
  expect(logs.sources).toEqual(["submit", "worker"]);
  const page = await logs.page(task, { source: "worker", fromMs: 1, untilMs: 2 }, { limit: 7, from: "token" });
  expect(asked).toEqual([
    {
      logGroupName: "H",
      filterPattern: '{ ($.task_id = "0192-a") && ($.tenant_id = "acme") }',
      ...{ startTime: 1, endTime: 2, limit: 7, nextToken: "token" },
    },
  ]);
  expect(page.items).toHaveLength(1);
  expect(page).toMatchObject({
    items: [{ at: line.timestamp, level: "warn", message: "slow", attempt: 2, fields: { tier: "high", rows: 5 } }],
    next: "more",
  });
});

function logFile() {
  const folder = mkdtempSync(join(tmpdir(), "offload-log-"));
  const file = new LogFile(join(folder, "log.jsonl"));
  onTestFinished(() => {
    file.close();
    rmSync(folder, { recursive: true });
  });
  return file;
}

test("the local server's file has the lines of tasks, which are found by task, function and time", async () => {
  const file = logFile();
  const log = createLog("worker", { OFFLOAD_LOG: "text", OFFLOAD_LOG_FILE: file.path });
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  const own = log.with({ task_id: task.task_id, tenant_id: task.tenant_id });
  own.info("one", { rows: 1 });
  own.debug("two", { circle });
  log.info("of no task");
  log.info("of another", { task_id: "0192-b", tenant_id: "acme" });
  log.info("of another tenant", { task_id: task.task_id, tenant_id: "globex" });
  appendFileSync(file.path, `{"task_id":"${task.task_id}", cut off`);
  const pattern = { filterPattern: `{ ($.task_id = "${task.task_id}") && ($.tenant_id = "acme") }` };
  const textsOf = async (request: object) => {
    const { events, nextToken } = await file.filter({ logGroupName: "worker", ...pattern, ...request });
    return [events.map(({ message }) => (JSON.parse(message) as { message: string }).message), nextToken];
  };
  expect(await textsOf({})).toEqual([["one", "two"], undefined]);
  expect(await textsOf({ limit: 1 })).toEqual([["one"], "1"]);
  expect(await textsOf({ limit: 1, nextToken: "1" })).toEqual([["two"], undefined]);
  expect(await textsOf({ startTime: Date.now() + 1_000 })).toEqual([[], undefined]);
  expect(await textsOf({ logGroupName: "submit" })).toEqual([[], undefined]);
});
