import type { Context, SQSEvent } from "aws-lambda";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { Notice } from "../../src/core/ports/notify.ts";
import { toEnv } from "../../src/settings/config.ts";
import { emulatedQueues, emulatedScheduler, emulatedTable } from "../contract/emulators.ts";
import { resources, stage } from "../lib/synthesis.ts";
import { sent } from "../support/counted-clients.ts";
import { endNotice } from "../support/notices.ts";
import { type Answering, Receiver } from "../support/receiver.ts";

vi.mock(import("../../src/aws/clients.ts"), async (importOriginal) => {
  const { countedClients } = await import("../support/counted-clients.ts");
  return countedClients(await importOriginal());
});

const written: string[] = [];
const cleanups: (() => Promise<void>)[] = [];
let receiver: Receiver;
let handle: (...notices: readonly Notice[]) => Promise<unknown>;

beforeAll(async () => {
  receiver = await Receiver.start(0);
  const [table, queues, scheduler] = [await emulatedTable(), await emulatedQueues(), await emulatedScheduler()];
  cleanups.push(table.close, queues.close, scheduler.close, () => receiver.close());
  const settings = {
    table: table.table,
    bucket: "budget",
    queueUrls: queues.queueUrls,
    dlqUrls: queues.dlqUrls,
    notifyUrl: queues.queueUrls.low,
    ...scheduler.config,
    webhookKey: Buffer.alloc(32, 7).toString("base64"),
    callbackHosts: receiver.host,
  };
  // As in a deployment without push and events, where waits of tries are as long as they are.
  Object.assign(process.env, toEnv(settings));
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, "write").mockImplementation((text) => written.push(...String(text).trim().split("\n")) > 0);
  }
  const { handler } = await import("../../lambdas/notify.ts");
  const context = { getRemainingTimeInMillis: () => 30_000 } as Context;
  handle = async (...notices) => {
    const Records = notices.map((notice, index) => ({ messageId: String(index), body: JSON.stringify(notice) }));
    return handler({ Records } as unknown as SQSEvent, context);
  };
});

afterAll(async () => {
  vi.restoreAllMocks();
  for (const close of cleanups.reverse()) await close();
});

beforeEach(() => {
  sent.length = 0;
  written.length = 0;
});

const commands = () => sent.map(({ command }) => command);

/** The notice of an end, whose task has a webhook. */
const withWebhook = (answering: Answering) =>
  endNotice({ callback: { url: receiver.url(answering) }, task: { retained_until: "2100-01-01T00:00:00.000Z" } });

/** Size of the item that was put last, in bytes. */
const itemBytes = () =>
  Buffer.byteLength(JSON.stringify(sent.filter(({ command }) => command === "PutItemCommand").at(-1)?.input.Item));

const reads = ["GetItemCommand", "BatchGetItemCommand", "GetItemCommand"];

test("a webhook that is delivered costs three reads and one write of two units", async () => {
  const notice = withWebhook(() => 204);
  expect(await handle(notice)).toEqual({ batchItemFailures: [] });
  expect(receiver.at(notice.callback?.url ?? "")).toHaveLength(1);
  // The delivery, the marks of a slow host and of its tenant, the version of the secret.
  expect(commands()).toEqual([...reads, "PutItemCommand"]);
  expect(sent.map(({ input }) => input.ConsistentRead === true)).toEqual([true, false, true, false]);
  expect(itemBytes()).toBeGreaterThan(1024);
  expect(itemBytes()).toBeLessThan(2048);
});

test("a try logs one line and one metric, 700 bytes", async () => {
  await handle(withWebhook(() => 204));
  expect(written).toHaveLength(2);
  const bytes = written.reduce((sum, line) => sum + line.length, 0);
  expect(bytes).toBeGreaterThan(600);
  expect(bytes).toBeLessThan(750);
});

test("a try that fails costs one message more, for the next try", async () => {
  const notice = withWebhook(() => 500);
  await handle(notice);
  expect(commands()).toEqual([...reads, "PutItemCommand", "SendMessageBatchCommand"]);
});

test("without a webhook, push and events, an end costs nothing but its message", async () => {
  expect(await handle(endNotice())).toEqual({ batchItemFailures: [] });
  expect(commands()).toEqual([]);
});

test("the function uses only what its role allows in a deployment without push and events", async () => {
  const { statements } = resources(stage("dev").service, "AWS::IAM::Policy")("Notify/Role/DefaultPolicy");
  const allowed = statements.flatMap(({ Action }) => Action).map((action) => action.slice(action.indexOf(":") + 1));
  let failing = true;
  const notice = withWebhook(() => (failing ? 500 : 204));
  await handle(
    notice,
    withWebhook(() => 410),
    endNotice(),
  );
  failing = false;
  await handle({ kind: "try", tenant_id: "acme", task_id: notice.task_id, id: notice.id, number: 2 });
  const used = new Set(commands().map((command) => command.replace(/(Batch)?Command$/, "")));
  expect([...used].sort()).toEqual(["BatchGetItem", "GetItem", "PutItem", "SendMessage"]);
  expect([...used].filter((action) => !allowed.includes(action))).toEqual([]);
});
