import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { retry } from "../../../src/core/control/control.ts";
import { submitChild } from "../../../src/core/extras/children/child.ts";
import { isOwnName } from "../../../src/core/model/internal-names.ts";
import { parseEnvelope } from "../../../src/core/model/read-envelope.ts";
import { iso } from "../../../src/core/model/record.ts";
import { changeSchedule, runSchedule } from "../../../src/core/schedules/manage-schedules.ts";
import { knownTypesOf } from "../../../src/core/task/catalog.ts";
import type { TaskContext } from "../../../src/core/task/context.ts";
import { inputVersionOf, upcastInput } from "../../../src/core/task/parsed-input.ts";
import { defineTask, registry, type TaskType, type Upcasts } from "../../../src/core/task/task.ts";
import fc from "../../support/fast-check.ts";
import { operator } from "../../support/identities.ts";
import { type Pipeline, pipelineWith } from "../../support/memory-pipeline.ts";
import { operations } from "../../support/parts/operations.ts";
import { newRecord } from "../../support/records.ts";
import { schedulesPipeline } from "../../support/schedules-pipeline.ts";

const memoryPipeline = pipelineWith(operations);

const fails = () => {
  throw new TypeError("there is no last name");
};

const steps = {
  1: (name: string) => ({ name }),
  2: ({ name }: { name: string }) => ({ first: name.split(" ")[0], last: name.split(" ")[1] ?? "" }),
};

const itself = (input: unknown): unknown => input;
const common = { name: "greet", retry: { jitter: "none" } } as const;

/** Three releases of one type: its input was a name, then an object with it, then its two parts. */
const first = (handler = itself) => defineTask({ ...common, input: z.string(), handler });
const second = (handler = itself) =>
  defineTask({ ...common, input: z.strictObject({ name: z.string() }), version: 2, upcast: { 1: steps[1] }, handler });
const third = (handler = itself, upcast: Upcasts = steps) =>
  defineTask({
    ...common,
    input: z.strictObject({ first: z.string(), last: z.string() }),
    version: 3,
    upcast,
    handler,
  });

/** Another release takes over what the one before has left. */
function deploy({ ports }: Pick<Pipeline, "ports">, ...types: TaskType[]): void {
  const own = [...ports.registry.values()].filter(({ name }) => isOwnName(name));
  refill(ports.registry, registry([...types, ...own]));
  refill(ports.types, knownTypesOf(types));
}

function refill<T>(map: ReadonlyMap<string, T>, fresh: ReadonlyMap<string, T>): void {
  const filled = map as Map<string, T>;
  filled.clear();
  for (const [name, value] of fresh) filled.set(name, value);
}

const ada = { first: "Ada", last: "Lovelace" };

/** What an attempt fails with that an error of this release ends. */
const failure = (error: string, error_kind = "validation") => ({ status: "failed", error, error_kind, attempts: 1 });

describe("an input of an earlier version", () => {
  test.each([
    ["that waits in its queue", {}],
    ["that SQS holds back", { delay_seconds: 600 }],
    ["that the table keeps for its one-off", { delay_seconds: 86_400 }],
  ])("an input %s reaches the handler as one of the present version", async (_, options) => {
    const pipeline = memoryPipeline([first()]);
    const record = await pipeline.accept({ input: "Ada Lovelace", ...options });
    deploy(pipeline, third());
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: ada, attempts: 1 });
  });

  test("an input of a task between two attempts is brought forward for the next", async () => {
    const pipeline = memoryPipeline([first(() => Promise.reject(new Error("not yet")))]);
    const record = await pipeline.accept({ input: "Ada Lovelace" });
    await pipeline.work();
    deploy(pipeline, third());
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: ada, attempts: 2 });
  });

  test("an input of a dead letter is brought forward when it is replayed", async () => {
    const pipeline = memoryPipeline([second(fails)]);
    const record = await pipeline.accept({ input: { name: "Ada Lovelace" }, max_attempts: 1 });
    await pipeline.work();
    deploy(pipeline, third());
    await retry(pipeline.ports, await pipeline.recordOf(record));
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: ada, round: 2 });
  });

  test("the message keeps its input, whatever a step does to it", async () => {
    const upcast = {
      2: (input: { name: string; last?: string }) => {
        input.last = "";
        return { first: input.name, last: "" };
      },
    };
    const pipeline = memoryPipeline([second()]);
    await pipeline.accept({ input: { name: "Ada" } });
    deploy(pipeline, third(fails, upcast));
    await pipeline.work();
    const [message] = pipeline.queues.waiting("normal");
    expect(JSON.parse(message?.body ?? "")).toMatchObject({ input_version: 2, input: { name: "Ada" } });
  });

  test.each([
    [{ 2: steps[2] }, "the input has version 1; this worker expects version 3 and has no step from 1"],
    [{ ...steps, 1: fails }, "the step from version 1 to 2 of the input failed: there is no last name"],
    [{ ...steps, 2: fails }, "the step from version 2 to 3 of the input failed: there is no last name"],
    [
      { ...steps, 2: async () => Promise.reject(new Error("never heard of")) },
      "the step from version 2 to 3 of the input returned a promise",
    ],
    [{ ...steps, 2: () => ({ first: "Ada" }) }, "from version 1, input.last: "],
    [{ ...steps, 2: () => undefined }, "from version 1, input: "],
  ])("an input that cannot be brought forward is dead-lettered as validation, by %j", async (upcast, error) => {
    const handler = vi.fn();
    const pipeline = memoryPipeline([first()]);
    const record = await pipeline.accept({ input: "Ada Lovelace" });
    deploy(pipeline, third(handler, upcast));
    expect(await pipeline.work()).toEqual(["done"]);
    expect(await pipeline.recordOf(record)).toMatchObject(failure(expect.stringContaining(error) as never));
    expect(pipeline.queues.deadLettersOf("normal")).toHaveLength(1);
    expect(handler).not.toHaveBeenCalled();
  });

  test("no version of a sensitive type's input is logged", async () => {
    const greet = (input: unknown, { log }: TaskContext) => log.info(`Hello ${(input as typeof ada).last}`);
    const pipeline = memoryPipeline([first()]);
    await pipeline.accept({ input: "Ada Lovelace" });
    deploy(pipeline, { ...third(), sensitive: true, handler: greet });
    await pipeline.work();
    expect(pipeline.log.lines.map(({ message }) => message)).toContain("Hello [redacted]");
  });

  test("an input that fails leaves the others of its batch alone", async () => {
    const pipeline = memoryPipeline([first()]);
    const records = [];
    for (const input of ["", "Ada Lovelace", "Grace Hopper"]) records.push(await pipeline.accept({ input }));
    const upcast = { ...steps, 1: (name: string) => (name === "" ? fails() : { name }) };
    deploy(pipeline, third(itself, upcast));
    expect(await pipeline.work()).toEqual(["done", "done", "done"]);
    const ended = await Promise.all(records.map(pipeline.recordOf));
    expect(ended.map(({ status }) => status)).toEqual(["failed", "completed", "completed"]);
  });

  test("an input whose type is gone is dead-lettered with the type's name", async () => {
    const pipeline = memoryPipeline([first()]);
    const record = await pipeline.accept({ input: "Ada Lovelace" });
    deploy(pipeline, { ...third(), name: "greet.person" });
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject(failure('no task type is named "greet"', "permanent"));
  });

  test("an input of a renamed type runs where the old name is kept beside the new one", async () => {
    const pipeline = memoryPipeline([first()]);
    const record = await pipeline.accept({ input: "Ada Lovelace" });
    deploy(pipeline, { ...third(), name: "greet.person" }, third());
    await pipeline.work();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: ada });
  });
});

describe("an input of a later version than the worker's", () => {
  test("a later input is tried again, after a minute, and runs once its release is deployed", async () => {
    const pipeline = memoryPipeline([third()]);
    const record = await pipeline.accept({ input: ada });
    const handler = vi.fn();
    deploy(pipeline, first(handler));
    const startMs = pipeline.clock.now();
    expect(await pipeline.work()).toEqual(["done"]);
    const waiting = await pipeline.recordOf(record);
    expect(waiting).toMatchObject({
      status: "pending",
      error: "the input has version 3; this worker knows versions up to 1",
      error_type: "InputTooNew",
      error_kind: "unavailable",
    });
    expect(Date.parse(waiting.due_at) - startMs).toBe(60_000);
    expect(handler).not.toHaveBeenCalled();
    deploy(pipeline, third());
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: ada, attempts: 2 });
  });

  test("a later input becomes a dead letter when its attempts are used up, and runs when it is replayed later", async () => {
    const pipeline = memoryPipeline([third()]);
    const record = await pipeline.accept({ input: ada });
    deploy(pipeline, second());
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "failed", error_type: "InputTooNew", attempts: 5 });
    deploy(pipeline, third());
    await retry(pipeline.ports, await pipeline.recordOf(record));
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: ada });
  });
});

describe("a submit", () => {
  const sent = ({ queues }: Pipeline) =>
    queues.waiting("normal").map(({ body }) => JSON.parse(body) as { input: unknown; input_version?: number });

  test("a submit writes the version into message and record, except for the first version", async () => {
    const pipeline = memoryPipeline([first()]);
    expect(await pipeline.accept({ input: "Ada" })).not.toHaveProperty("input_version");
    deploy(pipeline, third());
    expect(await pipeline.accept({ input: ada })).toMatchObject({ input_version: 3 });
    expect(sent(pipeline).map(({ input_version }) => input_version)).toEqual([undefined, 3]);
  });

  test("a repeat after a deployment returns the first task, with its version", async () => {
    const pipeline = memoryPipeline([second()]);
    const call = { idempotencyKey: "k" };
    const record = await pipeline.accept({ input: { name: "Ada Lovelace" } }, call);
    deploy(pipeline, third());
    expect(await pipeline.accept({ input: { name: "Ada Lovelace" } }, call)).toEqual(record);
    const repeated = { input: { name: "Ada Lovelace" }, input_version: 2 };
    expect(sent(pipeline)).toMatchObject([repeated, repeated]);
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: ada, attempts_total: 1 });
  });

  test("a repeat keeps the meaning of its first submit, although the version changed", async () => {
    const inEuros = defineTask({ name: "pay", input: z.int(), handler: itself });
    const inCents: TaskType = { ...inEuros, version: 2, upcast: { 1: (euros: number) => euros * 100 } };
    const pipeline = memoryPipeline([inEuros]);
    const record = await pipeline.accept({ input: 10 }, { idempotencyKey: "k" });
    const [lost] = pipeline.queues.take("normal", 1, 1);
    pipeline.queues.acknowledge(lost?.receiptHandle ?? "");
    deploy(pipeline, inCents);
    await pipeline.accept({ input: 10 }, { idempotencyKey: "k" });
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: 1000 });
  });

  test("a repeat returns its task although the type is gone", async () => {
    const pipeline = memoryPipeline([first()]);
    const record = await pipeline.accept({ input: "Ada" }, { idempotencyKey: "k" });
    deploy(pipeline);
    expect(await pipeline.accept({ input: "Ada" }, { idempotencyKey: "k" })).toEqual(record);
  });

  test.each([
    ["without a key", "Ada Lovelace", {}],
    ["with a key that nobody used", "Ada Lovelace", { idempotencyKey: "other" }],
    [
      "with another principal's key",
      "Ada Lovelace",
      { idempotencyKey: "k", identity: { ...operator, principal: "x" } },
    ],
  ])("a submit in an earlier shape, %s, is refused", async (_, input, call) => {
    const pipeline = memoryPipeline([first()]);
    await pipeline.accept({ input: "Ada Lovelace" }, { idempotencyKey: "k" });
    deploy(pipeline, third());
    await expect(pipeline.accept({ input }, call)).rejects.toMatchObject({ code: "invalid_input" });
  });

  test("in an earlier shape, with another request's key, is refused for its key", async () => {
    const pipeline = memoryPipeline([first()]);
    await pipeline.accept({ input: "Ada Lovelace" }, { idempotencyKey: "k" });
    deploy(pipeline, third());
    const reused = pipeline.accept({ input: "Grace Hopper" }, { idempotencyKey: "k" });
    await expect(reused).rejects.toMatchObject({ code: "idempotency_key_reused" });
  });

  test("a submit in an earlier shape is refused once its task is gone", async () => {
    const pipeline = memoryPipeline([first()]);
    const record = await pipeline.accept({ input: "Ada" }, { idempotencyKey: "k" });
    deploy(pipeline, third());
    await pipeline.records.change(record, { when: {}, set: { purge_at: Math.floor(pipeline.clock.now() / 1000) } });
    await expect(pipeline.accept({ input: "Ada" }, { idempotencyKey: "k" })).rejects.toMatchObject({
      code: "invalid_input",
    });
  });

  test("a handler that is tried again after a deployment finds its child, whatever its shape now", async () => {
    const pipeline = memoryPipeline([first()]);
    const parent = newRecord();
    const child = (input: unknown) => submitChild(pipeline.ports)(parent, { type: "greet", input, key: "one" }, "one");
    const id = await child("Ada Lovelace");
    deploy(pipeline, third());
    expect(await child(ada)).toBe(id);
    await pipeline.drain();
    const record = await pipeline.recordOf({ tenant_id: parent.tenant_id, task_id: id });
    expect(record).toMatchObject({ status: "completed", result: ada, attempts_total: 1 });
    await expect(child({ ...ada, first: "Grace" })).resolves.toBe(id);
  });

  test("a handler that submits another child of the same version under the same key is refused", async () => {
    const pipeline = memoryPipeline([third()]);
    const parent = newRecord();
    const child = (input: unknown) => submitChild(pipeline.ports)(parent, { type: "greet", input }, "one");
    await child(ada);
    await expect(child({ ...ada, first: "Grace" })).rejects.toThrow(/used with a different request/);
  });
});

describe("a schedule made before a deployment", () => {
  const day = 86_400_000;
  const task = (input: unknown) => ({ type: "greet", input });

  test("the schedule keeps running with its earlier input", async () => {
    const pipeline = schedulesPipeline([first()]);
    const schedule = await pipeline.make({ cron: "0 0 * * *", task: task("Ada Lovelace") });
    deploy(pipeline, third());
    await pipeline.clock.advance(day);
    expect(await pipeline.fireRule(schedule)).toBe("submitted");
    await runSchedule(pipeline.ports, schedule, { identity: operator, correlationId: "c" });
    await pipeline.drain();
    const ended = { status: "completed", result: ada };
    expect(pipeline.tasksOf(schedule)).toMatchObject([ended, ended]);
  });

  test("the schedule keeps its task's version until it gets another task", async () => {
    const pipeline = schedulesPipeline([second()]);
    const schedule = await pipeline.make({ task: task({ name: "Ada Lovelace" }) });
    expect(schedule).toMatchObject({ input_version: 2 });
    deploy(pipeline, third());
    expect(await changeSchedule(pipeline.ports, schedule, { enabled: false })).toMatchObject({ input_version: 2 });
    const changed = await changeSchedule(pipeline.ports, schedule, { enabled: true, task: task(ada) });
    expect(changed).toMatchObject({ input_version: 3 });
    await pipeline.clock.advance(day);
    expect(await pipeline.fireRule(schedule)).toBe("submitted");
    await pipeline.drain();
    expect(pipeline.tasksOf(schedule)).toMatchObject([{ status: "completed", result: ada, input_version: 3 }]);
  });

  test("the schedule is refused, with the reason, by an earlier release than its own", async () => {
    const pipeline = schedulesPipeline([third()]);
    const schedule = await pipeline.make({ task: task(ada) });
    deploy(pipeline, first());
    await pipeline.clock.advance(day);
    expect(await pipeline.fireRule(schedule)).toBe("refused");
    expect((await pipeline.stored(schedule)).last_error).toMatch(/^input: /);
  });
});

describe("messages of other releases", () => {
  /** As the release without versions wrote them, word for word. */
  const golden = [
    '{"schema_version":"1.0","message_id":"0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b12","task_id":"0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11","type":"greet","tenant_id":"acme","requested_by":"olga","correlation_id":"corr-1","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","enqueued_at":"2027-01-01T00:00:00.000Z","max_attempts":5,"input":"Ada Lovelace"}',
    '{"schema_version":"1.0","message_id":"0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b12","task_id":"0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11","type":"greet","tenant_id":"acme","requested_by":"olga","correlation_id":"corr-1","enqueued_at":"2027-01-01T00:00:00.000Z","max_attempts":5,"input":"Ada Lovelace"}',
  ];

  test.each(golden)("a message of the release before runs: %s", async (body) => {
    const pipeline = memoryPipeline([third()]);
    const { clock, queues, records } = pipeline;
    const key = { tenant_id: "acme", task_id: "0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11" };
    await records.create(newRecord({ ...key, type: "greet" }), iso(clock.now()));
    const parsed = parseEnvelope(body);
    if (!parsed.ok) throw new Error(parsed.reason);
    expect(JSON.parse(JSON.stringify(parsed.envelope))).toEqual(JSON.parse(body));
    const message = { tier: "normal", envelope: parsed.envelope, delaySeconds: 0, solo: false, redrives: 0 } as const;
    await queues.send(message);
    await pipeline.work();
    expect(await pipeline.recordOf(key)).toMatchObject({ status: "completed", result: ada });
  });

  /** The schema by which the release without versions reads: what it does not know it leaves out. */
  const before = z.object({
    schema_version: z.string().regex(/^1\.\d+$/),
    message_id: z.string().min(1).max(128),
    task_id: z.uuid(),
    type: z.string().min(1).max(64),
    tenant_id: z.string().min(1).max(128),
    requested_by: z.string().min(1).max(256),
    correlation_id: z.string().min(1).max(128),
    traceparent: z.string().max(128).optional(),
    enqueued_at: z.string().max(40),
    max_attempts: z.int().min(1).max(20),
    input: z.unknown(),
  });

  test("a message of this release can be read by the release before", async () => {
    const pipeline = memoryPipeline([third()]);
    const { task_id } = await pipeline.accept({ input: ada });
    const [message] = pipeline.queues.waiting("normal");
    const read = before.parse(JSON.parse(message?.body ?? ""));
    expect(read).toMatchObject({ task_id, type: "greet", input: ada });
    expect(read).not.toHaveProperty("input_version");
  });

  test("a message that the release before sent again gets its version from the record", async () => {
    const pipeline = memoryPipeline([second()]);
    const record = await pipeline.accept({ input: { name: "Ada Lovelace" } });
    const [{ body = "", receiptHandle = "" } = {}] = pipeline.queues.take("normal", 1, 1);
    pipeline.queues.acknowledge(receiptHandle);
    const envelope = before.parse(JSON.parse(body));
    await pipeline.queues.send({ tier: "normal", envelope, delaySeconds: 0, solo: false, redrives: 0 });
    deploy(pipeline, third());
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: ada });
  });

  test("a message of a first version has the same fields as before there were versions", async () => {
    const pipeline = memoryPipeline([first()]);
    await pipeline.accept({ input: "Ada Lovelace" });
    const [message] = pipeline.queues.waiting("normal");
    const [, without = ""] = golden;
    expect(Object.keys(JSON.parse(message?.body ?? ""))).toEqual(Object.keys(JSON.parse(without)));
  });
});

describe("a version", () => {
  test("the version is the message's, else the record's, else 1", () => {
    expect(inputVersionOf({ input_version: 3 }, { input_version: 2 })).toBe(3);
    expect(inputVersionOf({}, { input_version: 2 })).toBe(2);
    expect(inputVersionOf({}, {})).toBe(1);
  });

  test("an input goes through each step once, in order, from any version", () => {
    const versions = fc
      .integer({ min: 1, max: 30 })
      .chain((version) => fc.tuple(fc.constant(version), fc.integer({ min: 1, max: version })));
    fc.assert(
      fc.property(versions, ([version, from]) => {
        const numbers = Array.from({ length: version - 1 }, (_, index) => index + 1);
        const upcast = Object.fromEntries(numbers.map((step) => [step, (seen: number[]) => [...seen, step]]));
        const type = defineTask({ name: "t", input: z.unknown(), version, upcast, handler: itself });
        expect(upcastInput(type, [], from)).toEqual(numbers.slice(from - 1));
      }),
    );
  });
});
