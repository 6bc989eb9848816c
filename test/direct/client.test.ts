import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, expectTypeOf, test, vi } from "vitest";
import * as z from "zod";
import { submitApi } from "../../src/api/http/submit.ts";
import { createClient } from "../../src/client/index.ts";
import { createGate } from "../../src/core/limits/gate.ts";
import { parseLimits } from "../../src/core/limits/parse-limits.ts";
import { PortUnavailable } from "../../src/core/model/errors.ts";
import { noTracing } from "../../src/core/ports/tasks.ts";
import { parseCatalog } from "../../src/core/task/catalog.ts";
import { knownTypes } from "../../src/core/task/known-types.ts";
import { defineTask, type TaskType } from "../../src/core/task/task.ts";
import { toCatalog } from "../../src/core/task/to-catalog.ts";
import { DirectClient, type DirectPorts, type DirectSubmitOptions } from "../../src/direct/client.ts";
import { currentTypes } from "../../src/direct/current-types.ts";
import { CallTimeout, type OffloadError, ProblemError } from "../../src/direct/index.ts";
import { MemoryLimits } from "../../src/memory/limits.ts";
import { MemoryUsage } from "../../src/memory/usage.ts";
import { pipelineWith } from "../support/memory-pipeline.ts";
import { unique } from "../support/parts/unique.ts";
import { requestTo } from "../support/request-to.ts";

const memoryPipeline = pipelineWith(unique);

const mailSend = defineTask({
  name: "mail.send",
  input: z.strictObject({ to: z.email(), at: z.unknown().optional(), copies: z.number().default(1) }),
  handler: async ({ to }) => ({ to }),
});
const roomBook = defineTask({ name: "room.book", input: z.object({ room: z.string() }), handler: () => 7 });
type Tasks = { mailSend: typeof mailSend; roomBook: typeof roomBook };

const catalogOf = (...types: TaskType[]) => JSON.stringify(toCatalog(types));

/** A pipeline in memory, to which tasks are submitted directly. `limits` are those of the settings. */
function setUp(limits = "") {
  const pipeline = memoryPipeline([mailSend, roomBook] as TaskType[]);
  const { clock, log, records, queues } = pipeline;
  const gate = createGate(
    { clock, log, records, usage: new MemoryUsage(), limits: new MemoryLimits(), depths: queues },
    parseLimits(limits),
  );
  const load = vi.fn(async (): Promise<string | undefined> => catalogOf(mailSend as TaskType, roomBook as TaskType));
  const flush = vi.fn();
  const noted: string[] = [];
  const ports: DirectPorts = {
    ...pipeline.ports,
    gate,
    noteTenant: async (tenant) => void noted.push(tenant),
    newCorrelationId: () => randomUUID(),
    types: currentTypes({ load }, clock),
    flush,
    tracing: async () => noTracing,
  };
  const client = new DirectClient<Tasks>({ tenantId: "acme", principal: "olga" }, ports);
  return { ...pipeline, ports, client, load, flush, noted };
}

/** The same client without types, for inputs that do not compile. */
const untyped = ({ ports }: ReturnType<typeof setUp>) =>
  new DirectClient({ tenantId: "acme", principal: "olga" }, ports);

let app: ReturnType<typeof setUp>;
beforeEach(() => {
  app = setUp();
});

const mail = { to: "ada@example.com" };

test("a task that was submitted directly runs, with the caller's names and the client's answer", async () => {
  const task = await app.client.submit("mail.send", mail, { tags: { order: "7" }, correlationId: "corr-7" });
  const [record] = app.records.all();
  expect(task).toEqual({
    task_id: record?.task_id,
    status: "pending",
    poll_url: `/tasks/${record?.task_id}`,
    created_at: record?.created_at,
  });
  await app.drain();
  expect(await app.recordOf({ tenant_id: "acme", task_id: task.task_id })).toMatchObject({
    ...{ status: "completed", result: mail, requested_by: "olga", correlation_id: "corr-7", tags: { order: "7" } },
  });
  expect(app.noted).toEqual(["acme"]);
  expect(app.log.lines.some(({ message }) => message.includes("submitted"))).toBe(true);
  expect(app.metrics.sum("submitted")).toBe(1);
  expect(app.flush).toHaveBeenCalledTimes(1);
});

test("a direct submit can be unique", async () => {
  const unique = { key: "k", mode: "replace" } as const;
  const first = await app.client.submit("mail.send", mail, { unique, delaySeconds: 5 });
  const second = await app.client.submit("mail.send", { ...mail, copies: 2 }, { unique });
  expect(second.task_id).toBe(first.task_id);
  await expect(app.client.submit("mail.send", mail, { unique: { key: "k", mode: "reject" } })).rejects.toMatchObject({
    code: "conflict",
    taskId: first.task_id,
  });
});

test("the options and results have the types of the HTTP client", () => {
  const { client } = app;
  const check = () => [
    client.submit("mail.send", { to: "ada@example.com" }, { priority: "low", runAt: new Date(), delaySeconds: 1 }),
    // @ts-expect-error There is no such type.
    client.submit("mail.sent", { to: "ada@example.com" }),
    // @ts-expect-error This is another type's input.
    client.submit("room.book", { to: "ada@example.com" }),
    // @ts-expect-error There is no such tier.
    client.submit("room.book", { room: "1" }, { priority: "urgent" }),
  ];
  const http = createClient<Tasks>({ url: "http://127.0.0.1:1", key: "a-key" });
  const result = async () => http.result(await client.submit("room.book", { room: "1" }));
  expectTypeOf(result).returns.resolves.toEqualTypeOf<number>();
  expect(check).toBeTypeOf("function");
});

describe("a direct submit and a submit over HTTP have the same end", () => {
  type Case = [what: string, type: string, input: unknown, options?: DirectSubmitOptions];
  const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);
  const cases: Case[] = [
    ["a plain task", "mail.send", mail],
    ["dates, and values without a JSON form", "mail.send", { ...mail, at: [new Date(0), undefined, Number.NaN] }],
    ["all options", "mail.send", mail, { priority: "high", maxAttempts: 2, retentionSeconds: 60, expiresInSeconds: 9 }],
    ["a delay of SQS", "mail.send", mail, { delaySeconds: 60 }],
    ["a delay of EventBridge Scheduler", "mail.send", mail, { runAt: new Date("2040-01-01T00:00:00Z") }],
    ["an unknown type", "mail.sent", mail],
    ["a type without a name", "", mail],
    ["an input that the schema refuses", "mail.send", { to: "nobody", other: 1 }],
    ["a missing input", "mail.send", undefined],
    ["two times", "mail.send", mail, { delaySeconds: 1, runAt: "2040-01-01T00:00:00Z" }],
    ["a delay that is too long", "mail.send", mail, { delaySeconds: 31_536_001 }],
    ["a tag that is not allowed", "mail.send", mail, { tags: { "A B": "1" } }],
    ["an option that does not exist", "mail.send", mail, { sooner: true } as object],
    ["an idempotency key that is not allowed", "mail.send", mail, { idempotencyKey: "x".repeat(256) }],
    ["a correlation id that is not allowed", "mail.send", mail, { correlationId: "a b" }],
    ["a message that is too large", "mail.send", { ...mail, at: "x".repeat(60_000) }],
    ["a body that is too large", "mail.send", { ...mail, at: "x".repeat(1_100_000) }],
    ["a body above the tenant's limit", "mail.send", { ...mail, at: "x".repeat(3_000) }],
    ["an input that is nested too deep", "mail.send", { ...mail, at: deep(70) }],
    ["a field named __proto__", "mail.send", JSON.parse('{"to":"ada@example.com","at":{"__proto__":1}}')],
    ["a large number that keeps its digits", "mail.send", { ...mail, at: Number("12345678901234567890") }],
  ];
  const limits = JSON.stringify({ default: { request_bytes: 2_000 } });

  /** A submit over HTTP, with the client, to a pipeline of its own. */
  function overHttp() {
    const own = setUp(limits);
    // As the deployed function: by the catalogue.
    const types = knownTypes(parseCatalog(catalogOf(mailSend as TaskType, roomBook as TaskType)));
    const api = submitApi({ ...own.ports, types, tracing: noTracing });
    const lambda = { tenant_id: "acme", principal: "olga", role: "operator" };
    const client = createClient({
      ...{ url: "http://localhost", key: "key", maxTries: 1 },
      fetch: async (url, init) => requestTo(api, url, init, lambda),
    });
    return { own, client };
  }

  const endOf = async (own: ReturnType<typeof setUp>, submitted: Promise<unknown>) => {
    const answer = await submitted.then(
      (task) => ({ status: (task as { status: string }).status }),
      ({ name, code, status, detail, errors, retryAfterSeconds }) =>
        ({ name, code, status, detail, errors, retryAfterSeconds }) as object,
    );
    // Ids are random, and an HTTP client always makes a key.
    const records = own.records.all().map(({ task_id: _, correlation_id: __, ...record }) => record);
    const messages = own.queues.waiting("normal").map(({ body }) => {
      const { message_id: _, task_id: __, correlation_id: ___, ...message } = JSON.parse(body);
      return message;
    });
    return { answer, records, messages, later: own.oneOffs.all().size };
  };

  test.each(cases)("%s", async (what, type, input, options) => {
    const own = setUp(limits);
    const http = overHttp();
    const direct = await endOf(own, untyped(own).submit(type, input, options));
    expect(direct).toEqual(await endOf(http.own, http.client.submit(type, input, options)));
    const accepted = /^(a plain|dates|all options|a delay of|a correlation|a large number)/.test(what);
    expect(direct.records).toHaveLength(accepted ? 1 : 0);
  });
});

describe("idempotency keys", () => {
  test("a repeat with the same key returns the first task and sends nothing new to a task that has started", async () => {
    const first = await app.client.submit("mail.send", mail, { idempotencyKey: "key-1" });
    await app.work();
    const second = await app.client.submit("mail.send", mail, { idempotencyKey: "key-1" });
    expect(second).toMatchObject({ task_id: first.task_id, status: "completed" });
    expect(app.records.all()).toHaveLength(1);
  });

  test("the same key with another request is refused", async () => {
    const { task_id: taskId } = await app.client.submit("mail.send", mail, { idempotencyKey: "key-1" });
    const other = app.client.submit("mail.send", { to: "bob@example.com" }, { idempotencyKey: "key-1" });
    await expect(other).rejects.toMatchObject({ code: "idempotency_key_reused", status: 422, taskId });
  });

  test("the same key of the same principal means the same task over HTTP", async () => {
    const direct = await app.client.submit("mail.send", mail, { idempotencyKey: "key-1" });
    const accepted = await app.accept({ type: "mail.send", input: mail }, { idempotencyKey: "key-1" });
    expect(accepted.task_id).toBe(direct.task_id);
  });

  test("without a key, two submits are two tasks", async () => {
    await Promise.all([app.client.submit("mail.send", mail), app.client.submit("mail.send", mail)]);
    expect(app.records.all()).toHaveLength(2);
  });
});

describe("the catalogue", () => {
  test("is read once a minute, also by submits at the same time", async () => {
    await Promise.all(Array.from({ length: 5 }, () => app.client.submit("mail.send", mail)));
    await app.clock.advance(59_000);
    await app.client.submit("mail.send", mail);
    expect(app.load).toHaveBeenCalledTimes(1);
    await app.clock.advance(1_000);
    await app.client.submit("mail.send", mail);
    expect(app.load).toHaveBeenCalledTimes(2);
  });

  test("a type that a deployment removed is refused after a minute", async () => {
    await app.client.submit("room.book", { room: "1" });
    app.load.mockResolvedValue(catalogOf(mailSend as TaskType));
    await app.clock.advance(60_000);
    await expect(app.client.submit("room.book", { room: "1" })).rejects.toMatchObject({ code: "unknown_task_type" });
    expect(app.records.all()).toHaveLength(1);
  });

  test("a new version of a type applies to a caller with older code", async () => {
    const stricter = defineTask({ name: "room.book", input: z.object({ room: z.string().min(2) }), handler: () => 1 });
    app.load.mockResolvedValue(catalogOf(stricter as TaskType));
    await expect(app.client.submit("room.book", { room: "1" })).rejects.toMatchObject({
      code: "invalid_input",
      errors: [{ path: "/input/room" }],
    });
  });

  test.each([
    ["not published", async () => undefined],
    ["not readable now", async () => Promise.reject(new PortUnavailable("the table"))],
  ])("nothing is accepted while it is %s", async (_, load) => {
    app.load.mockImplementationOnce(load);
    const refused = app.client.submit("mail.send", mail);
    await expect(refused).rejects.toMatchObject({ name: "ProblemError", code: "unavailable", status: 503 });
    expect(app.records.all()).toEqual([]);
    await app.client.submit("mail.send", mail);
    expect(app.records.all()).toHaveLength(1);
  });

  test("an old catalogue is not used when it cannot be read again", async () => {
    await app.client.submit("mail.send", mail);
    await app.clock.advance(60_000);
    app.load.mockRejectedValueOnce(new PortUnavailable("the table"));
    await expect(app.client.submit("mail.send", mail)).rejects.toMatchObject({ code: "unavailable" });
  });
});

describe("limits and outages", () => {
  test("the tenant's rate refuses a submit, with the time to wait", async () => {
    const own = setUp(JSON.stringify({ default: { submits_per_second: 0.1, burst: 1 } }));
    await own.client.submit("mail.send", mail);
    const error = await own.client.submit("mail.send", mail).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(ProblemError);
    expect(error).toMatchObject({ code: "rate_limited", status: 429, retryAfterSeconds: 10, tries: 1 });
    expect(own.records.all()).toHaveLength(1);
  });

  test("a tenant's tasks in progress count, whoever submits them", async () => {
    const own = setUp(JSON.stringify({ default: { tasks_in_progress: 1 } }));
    await own.client.submit("mail.send", mail);
    await expect(own.client.submit("mail.send", mail)).rejects.toMatchObject({ code: "quota_exceeded" });
    await own.client.forTenant("globex").submit("mail.send", mail);
    expect(own.records.all().map(({ tenant_id }) => tenant_id)).toEqual(["acme", "globex"]);
  });

  test("while the queue is down nothing is accepted, the cause is in the error, and no record stays", async () => {
    const cause = new PortUnavailable("the queue");
    vi.spyOn(app.queues, "send").mockRejectedValueOnce(cause);
    const error = await app.client.submit("mail.send", mail).catch((error: OffloadError) => error);
    expect(error).toMatchObject({ code: "unavailable", retryAfterSeconds: 5, cause });
    await app.drain();
    const [record] = app.records.all();
    expect((record?.purge_at ?? 0) * 1000).toBeLessThanOrEqual(app.clock.now());
  });

  test("an error that no repeat can cure is thrown unchanged", async () => {
    const denied = Object.assign(new Error("not authorized to perform: dynamodb:PutItem"), { name: "AccessDenied" });
    vi.spyOn(app.records, "create").mockRejectedValueOnce(denied);
    await expect(app.client.submit("mail.send", mail)).rejects.toBe(denied);
    expect(app.flush).toHaveBeenCalledTimes(1);
  });
});

describe("the end of a call", () => {
  test("a call ends with its time limit, while its submit goes on", async () => {
    let open = () => {};
    app.load.mockImplementationOnce(async () => {
      await new Promise<void>((resolve) => {
        open = resolve;
      });
      return catalogOf(mailSend as TaskType);
    });
    await expect(app.client.submit("mail.send", mail, { timeoutMs: 20 })).rejects.toBeInstanceOf(CallTimeout);
    open();
    await vi.waitFor(() => expect(app.records.all()).toHaveLength(1), { timeout: 300_000 });
  });

  test("an aborted signal submits nothing and throws its reason", async () => {
    const reason = new Error("the request is gone");
    const signal = AbortSignal.abort(reason);
    await expect(app.client.submit("mail.send", mail, { signal })).rejects.toBe(reason);
    expect(app.records.all()).toEqual([]);
  });
});

describe("traces", () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

  test("the caller's trace goes on to the task", async () => {
    await app.client.submit("mail.send", mail, { traceparent });
    expect(app.records.all()).toMatchObject([{ traceparent }]);
  });

  test("a trace context that is not valid is ignored", async () => {
    await app.client.submit("mail.send", mail, { traceparent: "00-1-2-3" });
    expect(app.records.all()[0]).not.toHaveProperty("traceparent");
  });
});

describe("names", () => {
  test.each(["", "a b", "a#b", "x".repeat(65)])("the tenant %j is refused", (tenantId) => {
    expect(() => new DirectClient({ tenantId, principal: "p" }, app.ports)).toThrow("tenant: expected 1 to 64");
    expect(() => app.client.forTenant(tenantId)).toThrow("tenant: expected 1 to 64");
  });

  test.each(["", "a b", "ä", "x".repeat(256)])("the principal %j is refused", (principal) => {
    expect(() => new DirectClient({ tenantId: "acme", principal }, app.ports)).toThrow("principal: expected 1 to 255");
  });
});
