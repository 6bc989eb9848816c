import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { runNow } from "../../../../src/core/control/run-now.ts";
import { leaseSeconds } from "../../../../src/core/model/change.ts";
import { PermanentError, PortUnavailable, RetryAfter } from "../../../../src/core/model/errors.ts";
import { parseDeadLetter } from "../../../../src/core/model/read-envelope.ts";
import { iso, type TaskRecord } from "../../../../src/core/model/record.ts";
import { reserveSeconds } from "../../../../src/core/pipeline/work/batch-plan.ts";
import { graceMs } from "../../../../src/core/pipeline/work/run-claimed.ts";
import { workBatch } from "../../../../src/core/pipeline/work/work.ts";
import type { Clock } from "../../../../src/core/ports/tasks.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { gate } from "../../../support/gate.ts";
import { type Pipeline, pipelineWith, queueVisibilitySeconds } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { notices } from "../../../support/parts/notices.ts";
import { envelopeOf, newRecord } from "../../../support/records.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(limits, notices);

const down = () => new PortUnavailable("the table");

/** A pipeline of one type; its handler returns its input. */
const setUp = (handler: TaskType["handler"] = (input) => input, more: Partial<TaskType> = {}) =>
  memoryPipeline([typeOf(handler, more)]);

/** The clock of a process that was suspended or has died: none of its timers ever comes. */
const stopped = (clock: Clock): Clock => ({ now: () => clock.now(), after: () => () => {} });

/** Lets a worker take a message and die over it: it neither settles nor acknowledges. Gives whether it got to an end first. */
async function workAndDie({ ports, queues, clock }: Pipeline): Promise<boolean> {
  const deliveries = queues.take("normal", 1, queueVisibilitySeconds);
  const working = workBatch({ ...ports, clock: stopped(clock) }, deliveries, Number.POSITIVE_INFINITY);
  const turns = async () => {
    for (let turn = 0; turn < 5; turn++) await clock.advance(0);
    return undefined;
  };
  const verdicts = await Promise.race([working, turns()]);
  if (verdicts?.[0] === "done") queues.acknowledge(deliveries[0]?.receiptHandle ?? "");
  return verdicts !== undefined;
}

/** A pipeline with a task whose worker died in its first attempt; later ones return. */
async function crashed() {
  const pipeline = setUp((_, task) => (task.attemptOverall === 1 ? new Promise<never>(() => {}) : "survived"), {
    timeoutSeconds: 10,
  });
  const record = await pipeline.accept();
  await workAndDie(pipeline);
  return { ...pipeline, record };
}

describe("a task without retries or extras", () => {
  test("a task goes from its message to its result", async () => {
    const { accept, work, recordOf, queues, clock } = setUp();
    const record = await accept({ input: { a: 1 } });
    expect(await work()).toEqual(["done"]);
    expect(await recordOf(record)).toMatchObject({
      status: "completed",
      result: { a: 1 },
      attempts: 1,
      attempts_total: 1,
      started_at: iso(clock.now()),
      history: [{ number: 1, outcome: "completed" }],
    });
    expect(queues.waiting("normal")).toEqual([]);
  });

  test("ten tasks take two changes of each record, no read and one hold", async () => {
    const pipeline = setUp();
    for (let count = 0; count < 10; count++) await pipeline.accept();
    const change = vi.spyOn(pipeline.records, "change");
    const hold = vi.spyOn(pipeline.queues, "hold");
    const others = [
      vi.spyOn(pipeline.records, "get"),
      vi.spyOn(pipeline.records, "create"),
      vi.spyOn(pipeline.records, "savePart"),
      vi.spyOn(pipeline.records, "loadPart"),
      vi.spyOn(pipeline.queues, "send"),
      vi.spyOn(pipeline.oneOffs, "create"),
      vi.spyOn(pipeline.once, "begin"),
    ];
    expect(await pipeline.work()).toEqual(new Array(10).fill("done"));
    expect(change).toHaveBeenCalledTimes(20);
    expect(hold).toHaveBeenCalledTimes(1);
    expect(hold.mock.calls[0]?.[1]).toHaveLength(10);
    for (const other of others) expect(other).not.toHaveBeenCalled();
  });

  test("a claim is one change, with a lease for the type's time-out", async () => {
    const { accept, work, records, clock } = setUp(undefined, { timeoutSeconds: 10 });
    await accept({ expires_in_seconds: 60 });
    const change = vi.spyOn(records, "change");
    await work();
    const now = iso(clock.now());
    expect(change.mock.calls[0]?.[1]).toEqual({
      when: {
        status: { is: "pending" },
        priority: { is: "normal" },
        type: { is: "test.task" },
        due_at: { atMost: now },
        start_by: { above: now, orAbsent: true },
        purge_at: { above: clock.now() / 1000 },
        created_at: { atMost: iso(clock.now() + 30_000) },
        error_kind: { not: "crashed" },
        line: { absent: true },
      },
      set: {
        status: "processing",
        started_at: now,
        updated_at: now,
        lease_until: iso(clock.now() + leaseSeconds(10) * 1000),
        lease_token: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
      add: { attempts: 1, attempts_total: 1 },
      remove: ["start_by", "progress", "waiting_for", "line", "kept_input", "retrying_in", "place_bucket"],
    });
  });

  test("a message stays hidden a little longer than its lease, each by its own type", async () => {
    const quick = typeOf(() => 1, { name: "quick", timeoutSeconds: 10 });
    const slow = typeOf(() => 2, { name: "slow", timeoutSeconds: 840 });
    const { accept, queues, work } = memoryPipeline([quick, slow]);
    for (const type of ["quick", "slow", "gone"]) await accept({ type }).catch(() => undefined);
    queues.put("normal", JSON.stringify(envelopeOf(newRecord({ type: "gone" }))));
    const hold = vi.spyOn(queues, "hold");
    await work();
    expect(hold.mock.calls[0]?.[1].map(({ seconds }) => seconds)).toEqual([35, 125, leaseSeconds(30) + 5]);
  });

  test("log lines carry the task's ids, and nothing of its input or result", async () => {
    const { accept, work, log, clock } = setUp(
      (_input, task) => {
        task.log.info("half way");
        return "s3cret result";
      },
      { timeoutSeconds: 10 },
    );
    const record = await accept({ input: { password: "s3cret input" } });
    await work();
    const ids = {
      task_id: record.task_id,
      tenant_id: "acme",
      type: "test.task",
      tier: "normal",
      correlation_id: "corr-1",
    };
    const lines = log.lines.map(({ level, message }) => `${level}: ${message}`);
    expect(lines).toEqual([
      "info: task submitted",
      "debug: attempt started",
      "info: half way",
      "info: attempt settled",
    ]);
    for (const { fields } of log.lines) expect(fields).toMatchObject(ids);
    for (const { fields } of log.lines.slice(1)) expect(fields).toMatchObject({ attempt: 1 });
    expect(log.lines[3]?.fields).toMatchObject({
      outcome: "completed",
      status: "completed",
      duration_ms: 0,
      queue_wait_ms: 0,
    });
    expect(JSON.stringify(log.lines)).not.toContain("s3cret");
    expect(clock.nextTimer()).toBeUndefined();
  });
});

describe("a task that fails", () => {
  test("a task that fails comes back after each wait until it succeeds, with every attempt in its history", async () => {
    let attempts = 0;
    const { accept, drain, recordOf } = setUp(() => {
      attempts += 1;
      if (attempts < 4) throw new Error(`failure ${attempts}`);
      return "at last";
    });
    const record = await accept();
    await drain();
    const ended = await recordOf(record);
    expect(ended).toMatchObject({ status: "completed", attempts: 4, result: "at last" });
    expect(ended).not.toHaveProperty("error");
    expect(ended.history.map(({ number, outcome, error }) => [number, outcome, error])).toEqual([
      [1, "retried", "failure 1"],
      [2, "retried", "failure 2"],
      [3, "retried", "failure 3"],
      [4, "completed", undefined],
    ]);
    const waits = ended.history.slice(1).map(({ started_at }, index) => {
      return (Date.parse(started_at) - Date.parse(ended.history[index]?.finished_at ?? "")) / 1000;
    });
    expect(waits).toEqual([30, 120, 480]);
  });

  test("a task is a dead letter after its last attempt, and its handler is not called again", async () => {
    const handler = vi.fn(() => Promise.reject(new Error("no")));
    const { accept, drain, recordOf, queues } = setUp(handler);
    const record = await accept({ max_attempts: 3 });
    await drain();
    expect(await recordOf(record)).toMatchObject({ status: "failed", attempts: 3, error_kind: "transient" });
    expect(handler).toHaveBeenCalledTimes(3);
    expect(queues.deadLettersOf("normal")).toHaveLength(1);
  });

  test("a task waits by a one-off where SQS cannot hold it, and starts to the second", async () => {
    let attempts = 0;
    const { accept, drain, recordOf } = setUp(() => {
      attempts += 1;
      if (attempts === 1) throw new RetryAfter(5_000);
    });
    const record = await accept();
    await drain();
    const { history, status } = await recordOf(record);
    expect(status).toBe("completed");
    expect(history[1]?.started_at).toBe(history[0]?.next_attempt_at);
  });

  test("a task whose type is unknown waits for a worker that knows it, and is a dead letter after that", async () => {
    const { accept, ports, queues, recordOf, clock, log } = setUp();
    const record = await accept();
    const look = async () => {
      const deliveries = queues.take("normal", 1, 60);
      await workBatch({ ...ports, registry: new Map() }, deliveries, Number.POSITIVE_INFINITY);
      return recordOf(record);
    };
    const why = { error: expect.stringContaining("no worker knows the task's type yet"), error_kind: "unavailable" };
    expect(await look()).toMatchObject({ status: "pending", attempts: 0, history: [], ...why });
    // The line is of the task's own log, which operators see.
    expect(log.lines.find(({ message }) => message.startsWith("no worker knows the task's type"))).toMatchObject({
      level: "warn",
      fields: { task_id: record.task_id, tenant_id: record.tenant_id, type: "test.task", wait_seconds: 2 },
    });
    await clock.advance(2_000);
    expect(await look()).toMatchObject({ status: "pending", attempts: 0, history: [] });
    await clock.advance(graceMs);
    expect(await look()).toMatchObject({
      status: "failed",
      error: 'no task type is named "test.task"',
      error_kind: "permanent",
    });
  });

  test("a task of an unknown type that was started before its time is not looked at again and again until that time", async () => {
    const { accept, ports, queues, recordOf, clock } = setUp();
    const record = await accept({ input: { n: 1 }, delay_seconds: 86_400 });
    await clock.advance(600_000);
    await runNow(ports, await recordOf(record));
    await workBatch({ ...ports, registry: new Map() }, queues.take("normal", 1, 60), Number.POSITIVE_INFINITY);
    expect(await recordOf(record)).toMatchObject({ status: "failed", attempts_total: 1 });
  });

  test("a task whose type a worker knows in time completes without an error", async () => {
    const { accept, ports, queues, recordOf, clock, work } = setUp(() => 7);
    const record = await accept();
    await workBatch({ ...ports, registry: new Map() }, queues.take("normal", 1, 60), Number.POSITIVE_INFINITY);
    await clock.advance(2_000);
    await work();
    const after = await recordOf(record);
    expect(after).toMatchObject({ status: "completed", attempts: 1 });
    for (const field of ["error", "error_type", "error_kind"]) expect(after).not.toHaveProperty(field);
  });

  test("a task whose input the schema refuses is a dead letter immediately", async () => {
    const { accept, ports, queues, recordOf, type } = { ...setUp(), type: typeOf(() => 1, { input: z.string() }) };
    const record = await accept({ input: 7 });
    const registry = new Map([[type.name, type]]);
    const deliveries = queues.take("normal", 1, 60);
    expect(await workBatch({ ...ports, registry }, deliveries, Number.POSITIVE_INFINITY)).toEqual(["done"]);
    expect(await recordOf(record)).toMatchObject({ status: "failed", error_kind: "validation", attempts: 1 });
  });
});

describe("a message whose task is not waiting", () => {
  test("a message whose task has ended is dropped", async () => {
    const { accept, work, queues, recordOf, drain } = setUp();
    const record = await accept();
    const [{ body } = { body: "" }] = queues.waiting("normal");
    await drain();
    const before = await recordOf(record);
    queues.put("normal", body);
    expect(await work()).toEqual(["done"]);
    expect(await recordOf(record)).toEqual(before);
  });

  test("a message of a failed task sends the dead letter that is missing", async () => {
    const { accept, work, queues, recordOf, clock } = setUp(() => Promise.reject(new PermanentError("no")));
    const record = await accept({}, {});
    const deadLetter = vi.spyOn(queues, "deadLetter").mockRejectedValue(new PortUnavailable("the queue"));
    const working = work();
    await clock.advance(60_000);
    expect(await working).toEqual(["again"]);
    deadLetter.mockRestore();
    expect(await recordOf(record)).toMatchObject({ status: "failed" });
    expect(queues.deadLettersOf("normal")).toEqual([]);
    await clock.advance(10_000_000);
    expect(await work()).toEqual(["done"]);
    expect(queues.deadLettersOf("normal").map(({ body }) => parseDeadLetter(body))).toMatchObject([
      { original_message: { task_id: record.task_id }, failure_kind: "permanent" },
    ]);
    expect(await recordOf(record)).toMatchObject({ attempts: 1, buried_at: expect.any(String) });
  });

  test("a message of an unknown task is dropped", async () => {
    const { work, queues, log } = setUp();
    queues.put("normal", JSON.stringify(envelopeOf(newRecord())));
    expect(await work()).toEqual(["done"]);
    expect(log.lines).toMatchObject([{ level: "warn", fields: { outcome: "skipped_unknown" } }]);
  });

  test("a forged message for another type's handler is dropped, and the task continues", async () => {
    let calls = 0;
    const other = typeOf(() => calls++, { name: "other" });
    const { accept, queues, work, recordOf } = memoryPipeline([typeOf(() => "own"), other]);
    const record = await accept();
    queues.put("low", JSON.stringify({ ...envelopeOf(record), type: "other" }));
    expect(await work("low")).toEqual(["done"]);
    expect(calls).toBe(0);
    await work();
    expect(await recordOf(record)).toMatchObject({ status: "completed", result: "own" });
  });

  test("a message of a task past its purge time is dropped without an attempt", async () => {
    const handler = vi.fn();
    const { accept, work, records, clock } = setUp(handler);
    const record = await accept();
    await records.change(record, { when: {}, set: { purge_at: clock.now() / 1000 } });
    expect(await work()).toEqual(["done"]);
    expect(handler).not.toHaveBeenCalled();
  });

  test("a message with another tenant than its task's is not worked on", async () => {
    const handler = vi.fn();
    const { accept, work, queues, recordOf } = setUp(handler);
    const record = await accept();
    queues.take("normal", 1, 60);
    queues.put("normal", JSON.stringify({ ...envelopeOf(record), tenant_id: "globex" }));
    expect(await work()).toEqual(["done"]);
    expect(handler).not.toHaveBeenCalled();
    expect(await recordOf(record)).toMatchObject({ status: "pending", attempts: 0 });
  });
});

describe("twins", () => {
  test("twins of one message make one attempt", async () => {
    const handler = vi.fn(() => "once");
    const { accept, work, queues, recordOf } = setUp(handler);
    const record = await accept();
    const [{ body } = { body: "" }] = queues.waiting("normal");
    for (let count = 0; count < 4; count++) queues.put("normal", body);
    const verdicts = await work();
    expect(handler).toHaveBeenCalledTimes(1);
    expect(verdicts.filter((verdict) => verdict === "done").length).toBeGreaterThanOrEqual(1);
    expect(await recordOf(record)).toMatchObject({ status: "completed", attempts: 1, attempts_total: 1 });
  });

  test("twins that come while the attempt runs wait for the end of its lease", async () => {
    const open = gate<string>();
    const handler = vi.fn(() => open.opened);
    const { accept, work, queues, recordOf, clock } = setUp(handler, { timeoutSeconds: 10 });
    const record = await accept();
    const [{ body } = { body: "" }] = queues.waiting("normal");
    const first = work();
    await clock.advance(1_000);
    queues.put("normal", body);
    expect(await work()).toEqual(["again"]);
    const lease = Date.parse((await recordOf(record)).lease_until ?? "");
    const [twin] = queues.waiting("normal").toSorted((a, b) => b.visibleAt - a.visibleAt);
    expect(queues.waiting("normal").some(({ visibleAt }) => visibleAt > lease && visibleAt <= lease + 1_000)).toBe(
      true,
    );
    expect(twin?.visibleAt).toBeLessThanOrEqual(lease + 5_000);
    open.open("done");
    expect(await first).toEqual(["done"]);
    await clock.advance(60_000);
    expect(await work()).toEqual(["done"]);
    expect(handler).toHaveBeenCalledTimes(1);
    expect(queues.waiting("normal")).toEqual([]);
  });
});

describe("an early message", () => {
  test("waits hidden until its task is due, and no message is sent for it", async () => {
    const handler = vi.fn();
    const { accept, work, queues, recordOf, clock } = setUp(handler);
    const record = await accept({ delay_seconds: 600 });
    queues.put("normal", JSON.stringify(envelopeOf(record)), { redrives: 2 });
    expect(await work()).toEqual(["again"]);
    expect(handler).not.toHaveBeenCalled();
    expect(await recordOf(record)).toMatchObject({ attempts: 0 });
    const due = Date.parse(record.due_at);
    expect(queues.waiting("normal").map(({ visibleAt }) => visibleAt)).toEqual([due, due + 1_000]);
    await clock.advance(601_000);
    expect((await work()).includes("done")).toBe(true);
    expect(handler).toHaveBeenCalledTimes(1);
  });

  test("an early message of a task that is due much later goes back to its one-off", async () => {
    const { accept, work, queues, oneOffs } = setUp();
    const record = await accept({ delay_seconds: 86_400 });
    queues.put("normal", JSON.stringify(envelopeOf(record)));
    expect(await work()).toEqual(["done"]);
    expect(queues.waiting("normal")).toEqual([]);
    expect(oneOffs.all().size).toBe(1);
  });
});

describe("a task that must start in time", () => {
  test("a task that did not start in time expires, and its handler is never called", async () => {
    const handler = vi.fn();
    const { accept, work, recordOf, clock } = setUp(handler);
    const record = await accept({ expires_in_seconds: 60, retention_seconds: 100 });
    await clock.advance(60_000);
    expect(await work()).toEqual(["done"]);
    const now = iso(clock.now());
    expect(await recordOf(record)).toMatchObject({
      status: "expired",
      updated_at: now,
      finished_at: now,
      retained_until: iso(clock.now() + 100_000),
      attempts: 0,
      history: [],
    });
    expect(handler).not.toHaveBeenCalled();
  });

  test.each([
    [1, "done", "expired"],
    [2, "done", "expired"],
    [3, "again", "pending"],
  ])(
    "when the retention changes %i times while a task expires, its message is %s and the task is %s",
    async (changes, verdict, status) => {
      const { accept, work, recordOf, records, clock } = setUp();
      const record = await accept({ expires_in_seconds: 60, retention_seconds: 100 });
      await clock.advance(60_000);
      const change = records.change.bind(records);
      let left = changes;
      records.change = async (key, given) => {
        if (given.set?.status === "expired" && left > 0) {
          left -= 1;
          await change(key, { when: {}, set: { retention_seconds: 1_000 - left } });
        }
        return change(key, given);
      };
      expect(await work()).toEqual([verdict]);
      expect(await recordOf(record)).toMatchObject({ status, retention_seconds: 1_000 });
      if (status === "expired")
        expect(await recordOf(record)).toMatchObject({ retained_until: iso(clock.now() + 1_000_000) });
    },
  );

  test("a message of a task that starts in another worker while it expires is acknowledged", async () => {
    const { accept, work, recordOf, records, clock } = setUp();
    const record = await accept({ expires_in_seconds: 60 });
    await clock.advance(60_000);
    const change = records.change.bind(records);
    records.change = async (key, given) => {
      if (given.set?.status === "expired")
        await change(key, { when: {}, set: { status: "processing" }, add: { attempts: 1, attempts_total: 1 } });
      return change(key, given);
    };
    expect(await work()).toEqual(["done"]);
    expect(await recordOf(record)).toMatchObject({ status: "processing" });
  });

  test("a task may start up to the last moment", async () => {
    const { accept, work, recordOf, clock } = setUp();
    const record = await accept({ expires_in_seconds: 60 });
    await clock.advance(59_999);
    await work();
    expect(await recordOf(record)).toMatchObject({ status: "completed" });
  });

  test("a task does not expire any more once it has started", async () => {
    let attempts = 0;
    const { accept, drain, recordOf } = setUp(() => {
      attempts += 1;
      if (attempts < 3) throw new Error("no");
    });
    const record = await accept({ expires_in_seconds: 1 });
    await drain();
    expect(await recordOf(record)).toMatchObject({ status: "completed", attempts: 3 });
  });
});

describe("a worker that died", () => {
  test("a dead worker is noticed when its lease has ended, and the task is tried again after a wait, alone", async () => {
    const { work, recordOf, record, queues, clock } = await crashed();
    expect(await recordOf(record)).toMatchObject({ status: "processing", attempts: 1 });
    await clock.advance(34_999);
    expect(await work()).toEqual([]);
    await clock.advance(1);
    expect(await work()).toEqual(["done"]);
    expect(await recordOf(record)).toMatchObject({
      status: "pending",
      error_kind: "crashed",
      due_at: iso(clock.now() + 30_000),
      history: [{ number: 1, outcome: "crashed", error_kind: "crashed" }],
    });
    expect(queues.waiting("normal")).toMatchObject([{ solo: true }]);
    await clock.advance(30_000);
    expect(await work()).toEqual(["done"]);
    expect(await recordOf(record)).toMatchObject({
      status: "completed",
      result: "survived",
      attempts: 2,
      history: [{ outcome: "crashed" }, { outcome: "completed" }],
    });
  });

  test("attempts of dead workers count, so that a task that kills every worker ends", async () => {
    const pipeline = setUp(() => new Promise<never>(() => {}), { timeoutSeconds: 10 });
    const { accept, clock, nextEvent, fire, recordOf, queues } = pipeline;
    const record = await accept({ max_attempts: 5 });
    let deaths = 0;
    for (let next = nextEvent(); next !== undefined; next = nextEvent()) {
      await clock.advance(Math.max(0, next - clock.now()));
      await fire();
      if (!(await workAndDie(pipeline))) deaths += 1;
    }
    const ended = await recordOf(record);
    expect(ended).toMatchObject({ status: "failed", attempts: 5, error_kind: "crashed" });
    expect(ended.history.map(({ outcome }) => outcome)).toEqual(new Array(5).fill("crashed"));
    expect(deaths).toBe(5);
    expect(queues.deadLettersOf("normal")).toHaveLength(1);
  });

  test("a worker that was only slow cannot write any more", async () => {
    const open = gate<string>();
    const { accept, ports, queues, recordOf, clock } = setUp(() => open.opened, { timeoutSeconds: 10 });
    const record = await accept();
    const deliveries = queues.take("normal", 1, 60);
    const late = workBatch({ ...ports, clock: stopped(clock) }, deliveries, Number.POSITIVE_INFINITY);
    await clock.advance(0);
    await clock.advance(35_000);
    const fresh = queues.take("normal", 1, 60);
    expect(await workBatch(ports, fresh, Number.POSITIVE_INFINITY)).toEqual(["done"]);
    const before = await recordOf(record);
    expect(before).toMatchObject({ status: "pending", history: [{ outcome: "crashed" }] });
    open.open("late");
    expect(await late).toEqual(["again"]);
    expect(await recordOf(record)).toEqual(before);
    expect(before.result).toBeUndefined();
  });

  test("a request to cancel ends the task of a dead worker", async () => {
    const { work, recordOf, record, records, clock } = await crashed();
    await records.change(record, { when: {}, set: { cancel_requested_at: iso(clock.now()) } });
    await clock.advance(36_000);
    expect(await work()).toEqual(["done"]);
    expect(await recordOf(record)).toMatchObject({ status: "cancelled", history: [{ outcome: "cancelled" }] });
  });
});

describe("a task that must run alone", () => {
  test("a task that must run alone starts after the rest of its batch has ended", async () => {
    const order: string[] = [];
    const open = gate();
    const { accept, work, queues, clock } = setUp(async (input) => {
      order.push(`${input} starts`);
      if (input !== "alone") await open.opened;
      order.push(`${input} ends`);
    });
    const alone = await accept({ input: "alone" });
    queues.take("normal", 1, 3_600);
    queues.put("normal", JSON.stringify(envelopeOf(alone, "alone")), { solo: true });
    await accept({ input: "a" });
    await accept({ input: "b" });
    const working = work();
    await clock.advance(0);
    expect(order).toEqual(["a starts", "b starts"]);
    open.open();
    expect(await working).toEqual(["done", "done", "done"]);
    expect(order.slice(2)).toEqual(["a ends", "b ends", "alone starts", "alone ends"]);
  });

  test("a task that must run alone is sent again while another batch goes on in its process", async () => {
    const { accept, ports, queues, clock, recordOf } = setUp(() => 1);
    const alone = await accept();
    queues.take("normal", 1, 3_600);
    queues.put("normal", JSON.stringify(envelopeOf(alone, null)), { solo: true });
    const shared = { onDecided: vi.fn<() => void>(), isShared: () => true };
    const deliveries = queues.take("normal", 10, 60);
    expect(await workBatch(ports, deliveries, clock.now() + 900_000, shared)).toEqual(["done"]);
    expect(shared.onDecided).toHaveBeenCalledOnce();
    expect(await recordOf(alone)).toMatchObject({ status: "pending", attempts: 0 });
    expect(queues.take("normal", 10, 60)).toMatchObject([{ solo: true }]);
  });

  test("a task that must run alone is held again when its turn comes", async () => {
    const open = gate();
    const { accept, work, queues, clock } = setUp((input) => (input === "alone" ? 1 : open.opened), {
      timeoutSeconds: 60,
    });
    const alone = await accept({ input: "alone" });
    queues.take("normal", 1, 3_600);
    queues.put("normal", JSON.stringify(envelopeOf(alone, "alone")), { solo: true });
    await accept({ input: "long" });
    const hold = vi.spyOn(queues, "hold");
    const working = work();
    await clock.advance(0);
    await clock.advance(50_000);
    open.open();
    await working;
    const seconds = leaseSeconds(60) + 5;
    const longestBefore = 60 + reserveSeconds;
    expect(hold.mock.calls.map(([, messages]) => messages.map((message) => message.seconds))).toEqual([
      [seconds, longestBefore + seconds],
      [seconds],
    ]);
  });

  test("each of several that must run alone stays hidden until those before it have certainly ended", async () => {
    const { accept, work, queues } = setUp(() => 1, { timeoutSeconds: 60 });
    for (const input of ["first", "second", "third"]) {
      const alone = await accept({ input });
      queues.take("normal", 1, 3_600);
      queues.put("normal", JSON.stringify(envelopeOf(alone, input)), { solo: true });
    }
    const hold = vi.spyOn(queues, "hold");
    await work();
    const seconds = leaseSeconds(60) + 5;
    const longest = 60 + reserveSeconds;
    const [hidden] = hold.mock.calls.map(([, messages]) => messages.map((message) => message.seconds));
    expect(hidden).toEqual([seconds, longest + seconds, 2 * longest + seconds]);
  });

  test("starts first where it may not fit after the rest, which is sent back without a failed delivery", async () => {
    const order: unknown[] = [];
    const { accept, queues, work, recordOf } = setUp((input) => void order.push(input), { timeoutSeconds: 840 });
    const alone = await accept({ input: "alone" });
    queues.take("normal", 1, 3_600);
    queues.put("normal", JSON.stringify(envelopeOf(alone, "alone")), { solo: true });
    const neighbour = await accept({ input: "neighbour" });
    expect(await work()).toEqual(["done", "done"]);
    expect(order).toEqual(["alone"]);
    expect(await recordOf(neighbour)).toMatchObject({ attempts: 0 });
    expect(queues.take("normal", 10, 60)).toMatchObject([{ receiveCount: 1, solo: false, redrives: 0 }]);
  });

  test("is known by its record, whatever its message says", async () => {
    const order: string[] = [];
    const open = gate();
    const { accept, work, records, clock } = setUp(async (input) => {
      order.push(`${input} starts`);
      if (input !== "crashed") await open.opened;
      order.push(`${input} ends`);
    });
    const record = await accept({ input: "crashed" });
    await records.change(record, { when: {}, set: { error_kind: "crashed" } });
    await accept({ input: "a" });
    const working = work();
    await clock.advance(0);
    expect(order).toEqual(["a starts"]);
    open.open();
    expect(await working).toEqual(["done", "done"]);
    expect(order).toEqual(["a starts", "a ends", "crashed starts", "crashed ends"]);
  });

  test("is sent back when the rest took longer than its types allow", async () => {
    const open = gate();
    const { accept, queues, ports, clock, recordOf, records } = setUp(
      (input) => (input === "alone" ? 1 : open.opened),
      { timeoutSeconds: 60 },
    );
    const alone = await accept({ input: "alone" });
    await records.change(alone, { when: {}, set: { error_kind: "crashed" } });
    await accept({ input: "long" });
    const deliveries = queues.take("normal", 10, 5_400);
    const working = workBatch(ports, deliveries, clock.now() + 100_000);
    await clock.advance(0);
    await clock.advance(50_000);
    open.open();
    expect(await working).toEqual(["done", "done"]);
    expect(await recordOf(alone)).toMatchObject({ attempts: 0 });
    expect(queues.take("normal", 10, 60)).toMatchObject([{ receiveCount: 1, solo: true }]);
  });
});

describe("a batch with a slow task", () => {
  const slow = 600;

  function slowBatch() {
    const open = gate();
    const pipeline = setUp(
      (input) => {
        if (input === "slow") return open.opened;
        if (input === "fails") throw new Error("no");
        return input;
      },
      { timeoutSeconds: slow, retry: { waitsSeconds: [30], jitter: "none" } },
    );
    return { ...pipeline, open };
  }

  test("keeps messages of ended tasks hidden until it ends", async () => {
    const { accept, ports, queues, clock, open } = slowBatch();
    for (const input of ["slow", "quick", "fails"]) await accept({ input });
    const deliveries = queues.take("normal", 10, 5_400);
    const send = vi.spyOn(queues, "send");
    const working = workBatch(ports, deliveries, clock.now() + 900_000);
    const seen: number[] = [];
    for (let second = 0; second < 500; second += 5) {
      await clock.advance(5_000);
      seen.push(queues.waiting("normal").filter(({ visibleAt }) => visibleAt <= clock.now()).length);
    }
    // The one that becomes visible is the retry's own message.
    expect(Math.max(...seen)).toBe(1);
    expect(send).toHaveBeenCalledTimes(1);
    open.open();
    expect(await working).toEqual(["done", "done", "done"]);
  });

  test("hides a message with a short lease in time, also when one with a longer lease has ended before", async () => {
    const later = gate();
    const open = gate();
    const quick = typeOf(() => later.opened, { name: "quick", timeoutSeconds: 5 });
    const long = typeOf((input) => (input === "slow" ? open.opened : input), { name: "long", timeoutSeconds: 600 });
    const { accept, ports, queues, clock } = memoryPipeline([quick, long]);
    for (const input of ["slow", "first"]) await accept({ type: "long", input });
    await accept({ type: "quick" });
    const deliveries = queues.take("normal", 10, 5_400);
    const working = workBatch(ports, deliveries, clock.now() + 900_000);
    await clock.advance(2_000);
    later.open();
    await clock.advance(300_000);
    expect(queues.take("normal", 10, 60)).toEqual([]);
    open.open();
    expect(await working).toEqual(["done", "done", "done"]);
  });

  test("asks at most once for each message to be hidden longer", async () => {
    const { accept, ports, queues, clock, open } = slowBatch();
    for (const input of ["slow", "quick", "quick", "quick"]) await accept({ input });
    const deliveries = queues.take("normal", 10, 5_400);
    const hold = vi.spyOn(queues, "hold");
    const working = workBatch(ports, deliveries, clock.now() + 900_000);
    await clock.advance(0);
    await clock.advance(500_000);
    const quick = new Set(deliveries.slice(1).map(({ receiptHandle }) => receiptHandle));
    const longer = hold.mock.calls
      .slice(1)
      .filter(([, messages]) => messages.some((one) => quick.has(one.receiptHandle)));
    expect(longer).toHaveLength(1);
    open.open();
    await working;
  });

  test("asks again when a request to hide them failed", async () => {
    const { accept, ports, queues, clock, open } = slowBatch();
    for (const input of ["slow", "quick"]) await accept({ input });
    const deliveries = queues.take("normal", 10, 5_400);
    const original = queues.hold.bind(queues);
    let refused = 0;
    vi.spyOn(queues, "hold").mockImplementation(async (tier, messages) => {
      const [, quick] = deliveries;
      if (messages.length === 1 && messages[0]?.receiptHandle === quick?.receiptHandle && refused++ < 1) {
        throw new PortUnavailable("the queue");
      }
      return original(tier, messages);
    });
    const working = workBatch(ports, deliveries, clock.now() + 900_000);
    await clock.advance(0);
    await clock.advance(400_000);
    expect(refused).toBeGreaterThan(1);
    expect(queues.take("normal", 10, 60)).toEqual([]);
    open.open();
    await working;
  });
});

describe("a claim whose answer was lost", () => {
  test("is known by its token when the client repeats the call", async () => {
    const { accept, work, records, recordOf } = setUp(() => "done", {});
    const record = await accept({ max_attempts: 1 });
    const change = records.change.bind(records);
    vi.spyOn(records, "change").mockImplementationOnce(async (key, claim) => {
      await change(key, claim);
      return change(key, claim);
    });
    expect(await work()).toEqual(["done"]);
    expect(await recordOf(record)).toMatchObject({ status: "completed", attempts: 1, result: "done" });
  });
});

test("an expiry whose answer was lost is told when the client repeats the call", async () => {
  const { accept, work, records, clock, ports } = setUp();
  await accept({ expires_in_seconds: 60, callback: { url: "https://example.com/hook" } });
  await clock.advance(60_000);
  const change = records.change.bind(records);
  records.change = async (key, given) => {
    if (given.set?.status === "expired") await change(key, given);
    return change(key, given);
  };
  const send = vi.spyOn(ports.notices, "send");
  expect(await work()).toEqual(["done"]);
  expect(send).toHaveBeenCalledExactlyOnceWith([expect.objectContaining({ kind: "end" })]);
});

describe("an unreadable message", () => {
  test.each([
    ["text that is not JSON", "{"],
    ["JSON that is not an envelope", '{"hello":"world"}'],
    ["an envelope of another major version", JSON.stringify({ ...envelopeOf(newRecord()), schema_version: "2.0" })],
  ])("%s goes to the DLQ whole and leaves nine neighbours alone", async (_, body) => {
    const { accept, work, queues, records, clock } = setUp();
    for (let count = 0; count < 4; count++) await accept();
    queues.put("normal", body, { tenantId: "acme" });
    for (let count = 0; count < 5; count++) await accept();
    expect(await work()).toEqual(new Array(10).fill("done"));
    expect(records.all().map(({ status }) => status)).toEqual(new Array(9).fill("completed"));
    const now = iso(clock.now());
    expect(queues.deadLettersOf("normal").map((letter) => parseDeadLetter(letter.body))).toEqual([
      {
        original_message: body,
        failure_reason: expect.stringMatching(/\S/),
        failure_type: "UnreadableMessage",
        failure_kind: "validation",
        attempt_count: 0,
        first_failed_at: now,
        last_failed_at: now,
        original_queue: "normal",
      },
    ]);
  });

  test("an unreadable message goes to the DLQ under its own message group", async () => {
    const { work, queues } = setUp();
    const deadLetter = vi.spyOn(queues, "deadLetter");
    queues.put("normal", "{", { tenantId: "globex" });
    await work();
    expect(deadLetter).toHaveBeenCalledExactlyOnceWith("normal", expect.anything(), "globex");
  });

  test("an unreadable message comes again when the DLQ cannot take it now", async () => {
    const { accept, work, queues, records } = setUp();
    queues.put("normal", "{");
    await accept();
    vi.spyOn(queues, "deadLetter").mockRejectedValueOnce(new PortUnavailable("the queue"));
    expect(await work()).toEqual(["again", "done"]);
    expect(records.all()).toMatchObject([{ status: "completed" }]);
  });

  test("an unreadable message that the DLQ never takes leaves its neighbours alone", async () => {
    const { accept, work, queues, records } = setUp();
    queues.put("normal", "{");
    await accept();
    vi.spyOn(queues, "deadLetter").mockRejectedValueOnce(new Error("the message is too long"));
    expect(await work()).toEqual(["again", "done"]);
    expect(records.all()).toMatchObject([{ status: "completed" }]);
  });
});

describe("when not enough time is left", () => {
  test("a task goes back immediately, without an attempt, and others that fit are worked on", async () => {
    const quick = typeOf(() => 1, { name: "quick", timeoutSeconds: 10 });
    const slow = typeOf(() => 2, { name: "slow", timeoutSeconds: 60 });
    const { accept, work, queues, recordOf, clock } = memoryPipeline([quick, slow]);
    const long = await accept({ type: "slow" });
    const short = await accept({ type: "quick" });
    expect(await work("normal", 89)).toEqual(["again", "done"]);
    expect(await recordOf(short)).toMatchObject({ status: "completed" });
    expect(await recordOf(long)).toMatchObject({ status: "pending", attempts: 0, attempts_total: 0, history: [] });
    expect(queues.waiting("normal")).toMatchObject([{ visibleAt: clock.now() }]);
    expect(await work("normal", 90)).toEqual(["done"]);
  });

  test("a worker without any time starts nothing", async () => {
    const handler = vi.fn();
    const { accept, work, records } = setUp(handler);
    await accept();
    const change = vi.spyOn(records, "change");
    expect(await work("normal", 0)).toEqual(["again"]);
    expect(handler).not.toHaveBeenCalled();
    expect(change).not.toHaveBeenCalled();
  });
});

describe("when a port is down", () => {
  test("a task that cannot be claimed comes again, and its neighbours are worked on", async () => {
    const { accept, work, records } = setUp();
    for (let count = 0; count < 3; count++) await accept();
    vi.spyOn(records, "change").mockRejectedValueOnce(down());
    expect(await work()).toEqual(["again", "done", "done"]);
  });

  test("a batch that cannot be held is worked on all the same", async () => {
    const { accept, work, queues, log } = setUp();
    await accept();
    vi.spyOn(queues, "hold").mockRejectedValueOnce(new PortUnavailable("the queue"));
    expect(await work()).toEqual(["done"]);
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: "warn", message: "could not change the visibility of messages" }),
    );
  });

  /** Lets the change that a predicate finds fail, before or after it was made. */
  const failing = ({ records }: ReturnType<typeof setUp>, status: TaskRecord["status"], when: "before" | "after") => {
    const change = records.change.bind(records);
    let failed = false;
    vi.spyOn(records, "change").mockImplementation(async (key, given) => {
      const mine = !failed && given.set?.status === status;
      if (mine) failed = true;
      if (mine && when === "before") throw down();
      const changed = await change(key, given);
      if (mine) throw down();
      return changed;
    });
  };

  const ends: [string, TaskRecord["status"], TaskType["handler"], Partial<TaskRecord>][] = [
    ["completes", "completed", () => "result", { status: "completed", result: "result" }],
    [
      "is retried",
      "pending",
      (_, task) => (task.attempt < 2 ? Promise.reject(new Error("no")) : 1),
      { status: "completed" },
    ],
    ["fails", "failed", () => Promise.reject(new PermanentError("no")), { status: "failed", error_kind: "permanent" }],
  ];

  test.each(ends)(
    "an attempt that %s loses nothing when its end cannot be written",
    async (_, status, handler, expected) => {
      const pipeline = setUp(handler, { timeoutSeconds: 10 });
      const record = await pipeline.accept();
      failing(pipeline, status, "before");
      await pipeline.drain();
      const ended = await pipeline.recordOf(record);
      expect(ended).toMatchObject(expected);
      expect(ended.history).toHaveLength(ended.attempts_total);
      expect(pipeline.queues.deadLettersOf("normal")).toHaveLength(status === "failed" ? 1 : 0);
    },
  );

  test.each(ends)(
    "an attempt that %s loses nothing when the answer to its end is lost",
    async (_, status, handler, expected) => {
      const pipeline = setUp(handler, { timeoutSeconds: 10 });
      const record = await pipeline.accept();
      failing(pipeline, status, "after");
      await pipeline.drain();
      const ended = await pipeline.recordOf(record);
      expect(ended).toMatchObject(expected);
      expect(ended.history.map(({ outcome }) => outcome)).not.toContain("crashed");
      expect(pipeline.queues.deadLettersOf("normal")).toHaveLength(status === "failed" ? 1 : 0);
    },
  );

  test.each(["before", "after"] as const)("a claim that fails %s it was made loses nothing", async (when) => {
    const pipeline = setUp(() => "result", { timeoutSeconds: 10 });
    const record = await pipeline.accept();
    failing(pipeline, "processing", when);
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: "result" });
  });

  test("a retry whose message could not be sent is found by the old message", async () => {
    const pipeline = setUp((_, task) => (task.attempt < 2 ? Promise.reject(new Error("no")) : "second"));
    const record = await pipeline.accept();
    vi.spyOn(pipeline.queues, "send").mockRejectedValueOnce(new PortUnavailable("the queue"));
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: "second", attempts: 2 });
  });
});

describe("when a port does not answer", () => {
  const never = <T>() => new Promise<T>(() => {});

  test("a claim without an answer is given up after ten seconds, and its neighbours complete", async () => {
    const { accept, work, records, recordOf, clock, watchdog } = setUp(() => "result", { timeoutSeconds: 1 });
    const [silent, neighbour] = [await accept(), await accept()];
    const change = records.change.bind(records);
    vi.spyOn(records, "change").mockImplementation((key, given) =>
      key.task_id === silent.task_id ? never() : change(key, given),
    );
    const working = work();
    await clock.advance(0);
    await clock.advance(10_000);
    expect(await working).toEqual(["again", "done"]);
    expect(await recordOf(neighbour)).toMatchObject({ status: "completed", attempts: 1 });
    // The neighbour's time starts with its handler, not with its claim.
    expect(watchdog.ever.map((untilMs) => untilMs - clock.now())).toEqual([3_000]);
  });

  test("messages that cannot be hidden are worked on after five seconds", async () => {
    const { accept, work, queues, recordOf, clock } = setUp(() => "result");
    const record = await accept();
    vi.spyOn(queues, "hold").mockImplementation(never);
    const working = work();
    await clock.advance(0);
    await clock.advance(5_000);
    expect(await working).toEqual(["done"]);
    expect(await recordOf(record)).toMatchObject({ status: "completed" });
  });

  test("after a look at the record that took long, the next look follows immediately", async () => {
    const open = gate();
    const { accept, work, records, clock } = setUp(() => open.opened, { timeoutSeconds: 60 });
    await accept();
    const get = records.get.bind(records);
    const looks: number[] = [];
    const start = clock.now();
    vi.spyOn(records, "get").mockImplementation(async (key) => {
      looks.push(clock.now() - start);
      if (looks.length === 1) await new Promise<void>((resolve) => clock.after(9_000, resolve));
      return get(key);
    });
    const working = work();
    await clock.advance(0);
    await clock.advance(15_000);
    open.open();
    await working;
    expect(looks).toEqual([3_000, 12_000, 15_000]);
  });

  test("unreadable messages are sent to the DLQ at the same time", async () => {
    const { work, queues, clock } = setUp();
    for (let count = 0; count < 10; count++) queues.put("normal", "no envelope");
    vi.spyOn(queues, "deadLetter").mockImplementation(() => new Promise((resolve) => clock.after(9_000, resolve)));
    const working = work();
    await clock.advance(0);
    await clock.advance(9_000);
    expect(await working).toEqual(new Array(10).fill("done"));
  });

  test("the end of an attempt is written when the table answers again", async () => {
    const handler = vi.fn(() => "result");
    const { accept, work, records, recordOf, clock } = setUp(handler);
    const record = await accept();
    const change = records.change.bind(records);
    const upAt = clock.now() + 20_000;
    vi.spyOn(records, "change").mockImplementation(async (key, given) => {
      if (given.set?.status === "completed" && clock.now() < upAt) throw down();
      return change(key, given);
    });
    const working = work();
    await clock.advance(0);
    await clock.advance(21_000);
    expect(await working).toEqual(["done"]);
    expect(await recordOf(record)).toMatchObject({ status: "completed", attempts: 1, result: "result" });
    expect(handler).toHaveBeenCalledTimes(1);
  });

  test("a message whose attempt cannot be settled is delivered again after half a minute", async () => {
    const { accept, work, records, clock } = setUp();
    await accept();
    const change = records.change.bind(records);
    vi.spyOn(records, "change").mockImplementation(async (key, given) => {
      if (given.set?.status === "completed") throw down();
      return change(key, given);
    });
    const working = work();
    await clock.advance(0);
    await clock.advance(31_000);
    expect(await working).toEqual(["again"]);
  });

  test("a worker answers five seconds before it is stopped, and settled messages stay done", async () => {
    const { accept, work, records, recordOf, clock } = setUp(undefined, { timeoutSeconds: 1 });
    const [silent, settled] = [await accept(), await accept()];
    const change = records.change.bind(records);
    vi.spyOn(records, "change").mockImplementation((key, given) =>
      key.task_id === silent.task_id && given.set?.status === "completed" ? never() : change(key, given),
    );
    const working = work("normal", 60);
    await clock.advance(0);
    await clock.advance(55_000);
    expect(await working).toEqual(["again", "done"]);
    expect(await recordOf(settled)).toMatchObject({ status: "completed" });
  });
});

describe("a task that was cancelled", () => {
  test("a task that was cancelled while its attempt ran keeps no result, and gets no other attempt", async () => {
    const open = gate<string>();
    const { accept, work, records, recordOf, queues, clock } = setUp(() => open.opened);
    const record = await accept();
    const working = work();
    await clock.advance(0);
    await records.change(record, { when: {}, set: { cancel_requested_at: iso(clock.now()) } });
    open.open("unwanted");
    expect(await working).toEqual(["done"]);
    const ended = await recordOf(record);
    expect(ended).toMatchObject({ status: "cancelled", attempts: 1, history: [{ outcome: "cancelled" }] });
    expect(ended).not.toHaveProperty("result");
    expect(queues.waiting("normal")).toEqual([]);
  });

  test("a task that was cancelled before it started is never worked on", async () => {
    const handler = vi.fn();
    const { accept, work, records, recordOf } = setUp(handler);
    const record = await accept();
    await records.change(record, { when: {}, set: { status: "cancelled" } });
    expect(await work()).toEqual(["done"]);
    expect(handler).not.toHaveBeenCalled();
    expect(await recordOf(record)).toMatchObject({ status: "cancelled", attempts: 0 });
  });
});

describe("a bug of the handler's own code", () => {
  const attemptsWith = async (more: Partial<TaskType>) => {
    const missing: unknown = undefined;
    const type = typeOf(async () => (missing as { a: { b: 1 } }).a.b, more);
    const { accept, drain, clock, recordOf } = memoryPipeline([type]);
    const task = await accept();
    const before = clock.now();
    await drain();
    const { status, attempts, error_type } = await recordOf(task);
    return { status, attempts, error_type, seconds: Math.round((clock.now() - before) / 1000) };
  };

  test("gets one more attempt, soon, and then a dead letter", async () => {
    const { seconds, ...ended } = await attemptsWith({});
    expect(ended).toEqual({ status: "failed", attempts: 2, error_type: "TypeError" });
    expect(seconds).toBeLessThan(10);
  });

  test("gets the attempts of its type, where that has waits or a rule of its own", async () => {
    expect(await attemptsWith({ retry: { waitsSeconds: [1] } })).toMatchObject({ status: "failed", attempts: 5 });
    expect(await attemptsWith({ classify: [() => "transient"] })).toMatchObject({ status: "failed", attempts: 5 });
  });
});
