import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { APIGatewayProxyEventV2, Context } from "aws-lambda";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { DynamoCatalog } from "../../src/aws/catalog-store.ts";
import { settingsAgeMs } from "../../src/core/ports/flow.ts";
import { toCatalog } from "../../src/core/task/to-catalog.ts";
import { toEnv } from "../../src/settings/config.ts";
import { readScenario } from "../../src/tools/plan/scenario.ts";
import { emulatedQueues, emulatedScheduler, emulatedTable, receiveRecords } from "../contract/emulators.ts";
import { flowReads, sent } from "../support/counted-clients.ts";
import { taskTypes } from "../support/own-types.ts";

vi.mock(import("../../src/aws/clients.ts"), async (importOriginal) => {
  const { countedClients } = await import("../support/counted-clients.ts");
  return countedClients(await importOriginal());
});

const startedAtMs = Date.now();

/** The lines that functions write to their log. */
const written: string[] = [];

const folder = mkdtempSync(join(tmpdir(), "offload-budget-"));
const cleanups: (() => Promise<void>)[] = [];
let receive: () => ReturnType<typeof receiveRecords>;
let submitted: (value: unknown, headers?: object) => Promise<string>;
let submittedAs: (type: string, input: object, more?: object) => Promise<string>;
let submittedTogether: (values: readonly unknown[], headers?: object) => Promise<string[]>;
let submittedDirectly: (value: unknown, options?: object) => Promise<string>;
let signalled: (taskId: string, name: string, body: object) => Promise<void>;
let moved: (taskId: string, priority: string) => Promise<void>;
let work: () => Promise<void>;
let poll: (taskId: string, query?: string) => Promise<Record<string, unknown>>;

/** A request as the gateway hands it to a function, from an operator. */
function eventOf(method: string, path: string, body?: object, headers: object = {}): APIGatewayProxyEventV2 {
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath: path,
    rawQueryString: "",
    headers: { host: "localhost", "content-type": "application/json", ...headers },
    isBase64Encoded: false,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    requestContext: {
      http: { method, path, protocol: "HTTP/1.1", sourceIp: "127.0.0.1", userAgent: "test" },
      authorizer: { lambda: { tenant_id: "acme", principal: "olga", role: "operator" } },
    },
  } as unknown as APIGatewayProxyEventV2;
}

beforeAll(async () => {
  const [table, queues, scheduler] = [await emulatedTable(), await emulatedQueues(), await emulatedScheduler()];
  cleanups.push(table.close, queues.close, scheduler.close);
  const catalogFile = join(folder, "catalog.json");
  const types = await taskTypes();
  writeFileSync(catalogFile, JSON.stringify(toCatalog(types)));
  const schedulesFile = join(folder, "schedules.json");
  writeFileSync(schedulesFile, "[]");
  const { queueUrls, dlqUrls } = queues;
  const settings = {
    table: table.table,
    bucket: "budget",
    queueUrls,
    dlqUrls,
    catalogFile,
    schedulesFile,
    // For control, which serves webhooks and schedules as well.
    firingsUrl: queueUrls.low,
    webhookKey: Buffer.alloc(32, 7).toString("base64"),
    probes: "1",
    tier: "normal",
    ...scheduler.config,
  };
  process.env.POWERTOOLS_SERVICE_NAME = "Offload-prod";
  Object.assign(process.env, toEnv({ ...settings, waits: "10", cursorKey: "k".repeat(32) }));
  vi.spyOn(process.stdout, "write").mockImplementation((text) => written.push(...String(text).trim().split("\n")) > 0);
  // The deployed functions themselves, which read their settings when they load.
  const [submit, worker, status, control] = await Promise.all([
    import("../../lambdas/submit.ts"),
    import("../../lambdas/worker.ts"),
    import("../../lambdas/status.ts"),
    import("../../lambdas/control.ts"),
  ]);
  const workOn = await worker.createWorker(types);
  const context = { getRemainingTimeInMillis: () => 900_000 } as Context;
  receive = () => receiveRecords(queues.client, queueUrls.normal, 3_600);
  submitted = async (value, headers) => {
    const body = { type: "probe.echo", input: { value } };
    const answer = await submit.handler(eventOf("POST", "/tasks", body, headers) as never, context as never);
    expect(answer).toMatchObject({ statusCode: 202 });
    return JSON.parse((answer as { body: string }).body).task_id;
  };
  submittedAs = async (type, input, more) => {
    const answer = await submit.handler(eventOf("POST", "/tasks", { type, input, ...more }) as never, context as never);
    return JSON.parse((answer as { body: string }).body).task_id;
  };
  submittedTogether = async (values, headers) => {
    const body = { tasks: values.map((value) => ({ type: "probe.echo", input: { value } })) };
    const answer = await submit.handler(eventOf("POST", "/tasks/batch", body, headers) as never, context as never);
    expect(answer).toMatchObject({ statusCode: 202 });
    const { tasks } = JSON.parse((answer as { body: string }).body) as { tasks: { task_id: string }[] };
    return tasks.map(({ task_id }) => task_id);
  };
  await new DynamoCatalog(table.dynamoTable).save(readFileSync(catalogFile, "utf8"));
  const direct = (await import("../../src/direct/index.ts")).createDirectClient({ tenant: "acme", principal: "olga" });
  submittedDirectly = async (value, options) => (await direct.submit("probe.echo", { value }, options)).task_id;
  signalled = async (taskId, name, body) => {
    const event = eventOf("POST", `/tasks/${taskId}/signals/${name}`, body);
    expect(await control.handler(event as never, context as never)).toMatchObject({ statusCode: 202 });
  };
  moved = async (taskId, priority) => {
    const event = eventOf("POST", `/tasks/${taskId}/priority`, { priority });
    expect(await control.handler(event as never, context as never)).toMatchObject({ statusCode: 200 });
  };
  work = async () => {
    const Records = await receive();
    sent.length = 0;
    expect(await workOn({ Records }, context)).toEqual({ batchItemFailures: [] });
  };
  poll = async (taskId, query = "") => {
    const event = { ...eventOf("GET", `/tasks/${taskId}`), rawQueryString: query };
    const answer = await status.handler(event as never, context as never);
    return JSON.parse((answer as { body: string }).body);
  };
  // What happens once in a process, such as making its tenant known, is not counted.
  await submitted("first");
  await submittedDirectly("first");
  await work();
});

afterAll(async () => {
  vi.restoreAllMocks();
  for (const close of cleanups.reverse()) await close();
  rmSync(folder, { recursive: true });
});

beforeEach(() => {
  sent.length = 0;
  written.length = 0;
});

/** Lines of the log proper, and of metrics among it. */
const logged = () => {
  const [metrics, lines] = [true, false].map((wanted) => written.filter((line) => line.includes('"_aws"') === wanted));
  return { lines: lines?.length, metrics: metrics?.length, bytes: written.reduce((sum, line) => sum + line.length, 0) };
};

/** The planner has the bytes that are written, rounded up. */
function expectPlanned(bytes: number, planned: number): void {
  expect(bytes).toBeLessThanOrEqual(planned);
  expect(bytes).toBeGreaterThan(0.95 * planned);
}

const commands = () => sent.map(({ command }) => command);

/** How often each command was sent. */
const counts = () =>
  Object.fromEntries(
    Object.entries(Object.groupBy(commands(), (name) => name)).map(([name, of]) => [name, of?.length]),
  );

describe("the budget of a task with neither retries nor extras", () => {
  test("a submit sends one put and one message, and reads nothing", async () => {
    await submitted(1);
    expect(commands()).toEqual(["PutItemCommand", "SendMessageCommand"]);
    await work();
  });

  test("a change of its tier costs one read, one update and one message, its entry in the audit two writes, and the old message one update and one read", async () => {
    const id = await submitted(1);
    sent.length = 0;
    await moved(id, "high");
    expect(commands().slice(1, -1)).toEqual(["GetItemCommand", "UpdateItemCommand", "SendMessageCommand"]);
    expect([commands()[0], commands().at(-1)]).toEqual(["PutItemCommand", "UpdateItemCommand"]);
    await work();
    expect(counts()).toEqual({
      ChangeMessageVisibilityBatchCommand: 1,
      UpdateItemCommand: 1,
      GetItemCommand: 1,
      SendMessageCommand: 1,
    });
    expect(await poll(id)).toMatchObject({ status: "pending", priority: "high" });
  });

  test("an idempotency key or a large input costs a submit nothing more", async () => {
    await submitted("x".repeat(40_000), { "idempotency-key": "key-1" });
    expect(commands()).toEqual(["PutItemCommand", "SendMessageCommand"]);
    await work();
  });

  test("each tag, and a correlation id of the client, costs a submit one write unit, before the record", async () => {
    await submittedAs("probe.echo", { value: 1 }, { tags: { order: "4711", region: "north" } });
    expect(commands()).toEqual([...Array(3).fill("PutItemCommand"), "SendMessageCommand"]);
    const keys = () =>
      sent.flatMap(({ input }) => (input.Item === undefined ? [] : [(input.Item as { pk: { S: string } }).pk.S]));
    expect(keys().map((pk) => pk.split("#")[0])).toEqual(["term", "term", "task"]);
    expect(Math.max(...sent.slice(0, 2).map(({ input }) => JSON.stringify(input.Item).length))).toBeLessThan(1024);
    sent.length = 0;
    await submitted(1, { "x-correlation-id": "night-1" });
    expect(keys().map((pk) => pk.split("#")[0])).toEqual(["term", "task"]);
    await work();
  });

  const unique = { unique: { key: "budget", mode: "replace" }, delay_seconds: 600 };

  test("a unique submit writes three items and reads one; one that joins a task writes two and reads two", async () => {
    await submittedAs("probe.echo", { value: 1 }, unique);
    expect(commands()).toEqual([
      "GetItemCommand",
      "PutItemCommand",
      "PutItemCommand",
      "SendMessageCommand",
      "UpdateItemCommand",
    ]);
    sent.length = 0;
    await submittedAs("probe.echo", { value: 2 }, { unique: { key: "budget", mode: "replace" } });
    const joined = ["GetItemCommand", "GetItemCommand", "PutItemCommand", "UpdateItemCommand"];
    expect(commands()).toEqual(joined);
    sent.length = 0;
    // A later start: the key is kept for longer.
    await submittedAs("probe.echo", { value: 2 }, { ...unique, delay_seconds: 700 });
    expect(commands()).toEqual([...joined, "UpdateItemCommand"]);
    sent.length = 0;
    await submittedAs("probe.echo", { value: 3 }, { unique: { key: "budget" } });
    expect(commands()).toEqual(["GetItemCommand", "GetItemCommand"]);
  });

  test("a worker writes two updates for each task, reads nothing, and holds a whole batch with one request", async () => {
    const ids = await Promise.all(Array.from({ length: 10 }, (_, index) => submitted(index)));
    await work();
    expect(counts()).toEqual({ UpdateItemCommand: 20, ChangeMessageVisibilityBatchCommand: 1 });
    for (const [index, id] of ids.entries())
      expect(await poll(id)).toMatchObject({ result: { value: index }, attempts: 1 });
  });

  test("a batch of one costs the worker as much for its task", async () => {
    await submitted(1);
    await work();
    expect(counts()).toEqual({ UpdateItemCommand: 2, ChangeMessageVisibilityBatchCommand: 1 });
  });

  test("submit and attempt log one line each, a submit writes one line of metrics, as does a batch of one type", async () => {
    for (let value = 0; value < 10; value++) await submitted(value);
    const submits = logged();
    expect(submits).toMatchObject({ lines: 10, metrics: 10 });
    written.length = 0;
    await work();
    const batch = logged();
    expect(batch).toMatchObject({ lines: 10, metrics: 1 });
    const { attemptLogBytes, batchLogBytes, submitLogBytes } = readScenario({}).overhead;
    expectPlanned(submits.bytes / 10, submitLogBytes);
    expectPlanned(batch.bytes / 10, attemptLogBytes + batchLogBytes / 10);
    await submitted(1);
    written.length = 0;
    await work();
    expectPlanned(logged().bytes, attemptLogBytes + batchLogBytes);
  });

  test("a status poll is one eventually consistent get, before the end and after it", async () => {
    const id = await submitted(1);
    for (const status of ["pending", "completed"]) {
      sent.length = 0;
      expect(await poll(id)).toMatchObject({ status });
      expect(commands()).toEqual(["GetItemCommand"]);
      expect(sent[0]?.input.ConsistentRead ?? false).toBe(false);
      await work();
    }
  });

  test("a poll that waits reads the record every half second, and takes and gives back one place", async () => {
    const id = await submitted(1);
    sent.length = 0;
    expect(await poll(id, "wait=2")).toMatchObject({ status: "pending" });
    const { BatchGetItemCommand: reads = 0, ...others } = counts();
    expect(others).toEqual({ GetItemCommand: 2, UpdateItemCommand: 2 });
    // Three during the wait, a fourth that may fall on its end, and one more if the machine was too busy for these.
    expect(reads).toBeLessThanOrEqual(5);
    await work();
    sent.length = 0;
    expect(await poll(id, "wait=2")).toMatchObject({ status: "completed" });
    expect(commands()).toEqual(["GetItemCommand"]);
  });

  test("a record stays below one write unit of 1 KB, its keys included", async () => {
    await submitted(1);
    expect(Buffer.byteLength(JSON.stringify(sent[0]?.input.Item))).toBeLessThan(1024);
    await work();
  });
});

describe("the budget of a batch of submits", () => {
  const values = Array.from({ length: 20 }, (_, value) => value);

  /** Messages wait 20 ms for others, so that a machine that stands still makes some calls more than two. */
  const expectBatchBudget = ({
    PutItemCommand: puts,
    SendMessageBatchCommand: sends,
    ...others
  }: ReturnType<typeof counts>) => {
    expect({ puts, others }).toEqual({ puts: 20, others: {} });
    expect(sends).toBeLessThanOrEqual(10);
  };

  test("a batch of 20 sends 20 puts, and its messages several to a call, and reads nothing", async () => {
    const ids = await submittedTogether(values);
    const requests = counts();
    const sizes = sent.flatMap(({ input: { Entries } }) => (Array.isArray(Entries) ? [Entries.length] : []));
    await work();
    await work();
    expectBatchBudget(requests);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(20);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(10);
    for (const [value, id] of ids.entries()) expect(await poll(id)).toMatchObject({ result: { value } });
  });

  test("an idempotency key costs a batch nothing more", async () => {
    await submittedTogether(values, { "idempotency-key": `batch-${Date.now()}` });
    const requests = counts();
    await work();
    await work();
    expectBatchBudget(requests);
  });

  test("a batch logs one line for each task, and one metric", async () => {
    await submittedTogether(values);
    const { lines, metrics, bytes } = logged();
    expect({ lines, metrics }).toEqual({ lines: 20, metrics: 1 });
    // One line of metrics for a hundred tasks is less than this one for twenty.
    expectPlanned(bytes / 20, readScenario({}).overhead.batchTaskLogBytes + 10);
    await work();
    await work();
  });
});

describe("the budget of a direct submit", () => {
  /** The requests, with the items and messages as far as they do not differ from task to task. */
  const requests = () =>
    sent.map(({ command, input: { Item, MessageGroupId } }) => ({
      command,
      item: Object.keys(Item ?? {}).sort(),
      MessageGroupId,
    }));

  test("a direct submit sends the requests that the function submit sends", async () => {
    await submitted(1);
    const overHttp = requests();
    sent.length = 0;
    await submittedDirectly(1);
    expect(requests()).toEqual(overHttp);
    expect(commands()).toEqual(["PutItemCommand", "SendMessageCommand"]);
    await work();
  });

  test("an idempotency key or a large input costs a direct submit nothing more", async () => {
    await submittedDirectly("x".repeat(40_000), { idempotencyKey: "key-direct" });
    expect(commands()).toEqual(["PutItemCommand", "SendMessageCommand"]);
    await work();
  });

  test("a direct submit logs one line and one metric", async () => {
    await submittedDirectly(1);
    expect(logged()).toMatchObject({ lines: 1, metrics: 1 });
    await work();
  });
});

describe("the budget of a task of 5 steps", () => {
  const steps = 5;
  const storedSteps = Array.from({ length: steps }, (_, index) => `step:count ${index + 1}`);

  /** The requests, with the names of the entries that they store. The steps of this type each count once, which is its own request. */
  const requests = () =>
    sent.flatMap(({ command, input }) => {
      const { Item, Key = Item } = input as { Item?: Key; Key?: Key };
      if (Key?.pk.S.startsWith("counter#")) return [];
      const [, entry] = /^step#[^#]+#(.*)$/.exec(Key?.sk.S ?? "") ?? [];
      return [entry ?? command.replace(/Command$/, "")];
    });
  type Key = Record<"pk" | "sk", { S: string }>;

  /** Bytes of the largest entry, of those that were stored. */
  const largestEntry = () =>
    Math.max(
      ...sent.flatMap(({ command, input: { Item } }) =>
        command === "PutItemCommand" ? [Buffer.byteLength(JSON.stringify(Item))] : [],
      ),
    );

  test("each step costs one write unit, and nothing is read", async () => {
    const id = await submittedAs("probe.steps", { steps });
    await work();
    expect(requests()).toEqual(["ChangeMessageVisibilityBatch", "UpdateItem", ...storedSteps, "UpdateItem"]);
    expect(largestEntry()).toBeLessThan(1024);
    expect(await poll(id)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("a sleep costs three writes, one query and one message, and is not an attempt", {
    timeout: 30_000,
  }, async () => {
    const id = await submittedAs("probe.steps", { steps: 2, sleep_seconds: 1 });
    await work();
    expect(requests()).toEqual([
      ...["ChangeMessageVisibilityBatch", "UpdateItem", "step:count 1", "sleep:1", "UpdateItem", "SendMessage"],
    ]);
    expect(await poll(id)).toMatchObject({ status: "pending", waiting_for: { kind: "sleep" } });
    do await work();
    while (sent.length === 0);
    expect(requests()).toEqual(["ChangeMessageVisibilityBatch", "UpdateItem", "Query", "step:count 2", "UpdateItem"]);
    const query = sent.find(({ command }) => command === "QueryCommand");
    expect(query?.input.ConsistentRead).toBe(true);
    expect(await poll(id)).toMatchObject({ status: "completed", attempts: 1 });
  });
});

describe("the budget of a wait for a signal", () => {
  test("a wait costs two puts and its attempt; a signal costs a put, an update, two reads and a message", async () => {
    const id = await submittedAs("probe.wait", { name: "go", timeout_seconds: 600 });
    await work();
    expect(counts()).toEqual({
      ...{ ChangeMessageVisibilityBatchCommand: 1, UpdateItemCommand: 2, PutItemCommand: 2, SendMessageCommand: 1 },
    });
    sent.length = 0;
    await signalled(id, "go", { by: "ada" });
    // The record and its message are read, and the schedule of a long wait is deleted.
    expect(counts()).toEqual({
      ...{
        GetItemCommand: 2,
        PutItemCommand: 1,
        UpdateItemCommand: 1,
        SendMessageCommand: 1,
        DeleteScheduleCommand: 1,
      },
    });
    await work();
    expect(counts()).toEqual({ ChangeMessageVisibilityBatchCommand: 1, UpdateItemCommand: 2, QueryCommand: 1 });
    expect(await poll(id)).toMatchObject({ status: "completed", result: { signal: { by: "ada" } } });
  });
});

describe("the budget of a family", () => {
  const children = 250;
  const leaves = Math.ceil(children / 100);

  /** The keys that were written, with the number of times. */
  const writes = (by: string) =>
    Object.values(
      Object.groupBy(
        sent.filter(({ command }) => command === by).map(({ input: { Key, Item = Key } }) => keyText(Item)),
        (key) => key,
      ),
    ).map((of) => of?.length ?? 0);
  const keyText = (item: unknown) => {
    const { pk, sk } = item as Record<"pk" | "sk", unknown>;
    return JSON.stringify([pk, sk]);
  };

  test("a child costs its own task's requests and one write more; no item is written more often than it has places", async () => {
    const id = await submittedAs("probe.fanout", { children });
    await work();
    const spawning = counts();
    // A put for each child and each page, and the parent's envelope.
    expect(spawning.PutItemCommand).toBe(children + leaves + 1);
    // Ten messages to a call, apart from stragglers.
    expect(spawning.SendMessageBatchCommand).toBeLessThanOrEqual(children / 5);
    // The parent's claim, note and wait; a seal of each leaf and of the root.
    expect(spawning.UpdateItemCommand).toBe(3 + leaves + 1);
    // None for each child. An attempt that takes long asks again and again if it is cancelled, and reads the limits anew.
    expect(spawning.GetItemCommand ?? 0).toBeLessThanOrEqual(children / 10);
    const ends: typeof sent = [];
    // A poll that comes too soon is refused, and its problem has a status of its own.
    let end = await poll(id);
    while (end.status !== "pending" && end.status !== "completed") {
      await work();
      ends.push(...sent);
      end = await poll(id);
    }
    sent.splice(0, sent.length, ...ends);
    // Each child's claim, settle and end; each full leaf; the parent's change to its closing attempt, and that attempt if it ran.
    const closing = end.status === "completed" ? 3 : 1;
    expect(counts().UpdateItemCommand).toBe(3 * children + leaves + closing);
    expect(counts().PutItemCommand ?? 0).toBe(0);
    expect(Math.max(...writes("UpdateItemCommand"))).toBeLessThanOrEqual(100 + 2);
    while (end.status !== "completed") {
      await work();
      end = await poll(id);
    }
    expect(end).toMatchObject({ result: { total: children, completed: children } });
  });
});

test("a worker reads pauses and limits with one consistent query every two seconds at most, however many tasks it starts", async () => {
  await Promise.all(Array.from({ length: 10 }, (_, index) => submitted(index)));
  await work();
  const reads = flowReads.length;
  expect(reads).toBeGreaterThan(0);
  expect(reads).toBeLessThanOrEqual(1 + Math.floor((Date.now() - startedAtMs) / settingsAgeMs));
  for (const { ConsistentRead, TableName: _, ...query } of flowReads) {
    expect(ConsistentRead).toBe(true);
    expect(query).toEqual({
      KeyConditionExpression: "pk = :pk",
      ExpressionAttributeValues: { ":pk": { S: "flow" } },
      ScanIndexForward: false,
      Limit: 500,
    });
  }
});
