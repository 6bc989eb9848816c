import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { leaseSeconds, longestLeaseSeconds } from "../../../../src/core/model/change.ts";
import { AttemptCancelled, AttemptTimedOut, InvalidInput, PortUnavailable } from "../../../../src/core/model/errors.ts";
import { iso, type TaskRecord } from "../../../../src/core/model/record.ts";
import { runAttempt } from "../../../../src/core/pipeline/work/attempt.ts";
import { currentTask } from "../../../../src/core/task/ambient.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import fc from "../../../support/fast-check.ts";
import { gate } from "../../../support/gate.ts";
import { memoryPipeline } from "../../../support/memory-pipeline.ts";
import { envelopeOf, newRecord } from "../../../support/records.ts";
import { typeOf } from "../../../support/task-types.ts";

interface Options {
  type?: Partial<TaskType>;
  record?: Partial<TaskRecord>;
  input?: unknown;
}

/** An attempt as claim leaves it, with its handler. */
async function claimed(handler: TaskType["handler"], { type: more, record: fields, input = null }: Options = {}) {
  const type = typeOf(handler, { timeoutSeconds: 60, ...more });
  const pipeline = memoryPipeline([type]);
  const { clock, records, ports } = pipeline;
  const leaseMs = leaseSeconds(type.timeoutSeconds) * 1000;
  const record = newRecord({
    type: type.name,
    status: "processing",
    attempts: 2,
    attempts_total: 3,
    started_at: iso(clock.now()),
    lease_until: iso(clock.now() + leaseMs),
    ...fields,
  });
  await records.create(record, iso(clock.now()));
  const envelope = { ...envelopeOf(record, input), traceparent: "00-trace" };
  const renewMessage = vi.fn(async (_seconds: number) => {});
  const run = () => runAttempt(ports, { record, envelope, type, traceparent: envelope.traceparent, renewMessage });
  const cancel = () => records.change(record, { when: {}, set: { cancel_requested_at: iso(clock.now()) } });
  const moveOn = () => records.change(record, { when: {}, add: { attempts: 1, attempts_total: 1 } });
  const progress = async () => (await records.get(record))?.progress;
  return { ...pipeline, type, record, envelope, renewMessage, run, cancel, moveOn, progress };
}

/** A handler that never ends, and the context that it got. */
function endless() {
  const seen = gate<TaskContext>();
  const handler = (_input: never, task: TaskContext) => {
    seen.open(task);
    return new Promise<never>(() => {});
  };
  return { handler, context: seen.opened };
}

describe("a lease", () => {
  test("a lease lasts the time-out × 1.5 + 15 s in whole seconds, at most 120 s", () => {
    expect([1, 5, 10, 60, 70, 71, 840].map(leaseSeconds)).toEqual([17, 23, 30, 105, 120, 120, 120]);
    expect(longestLeaseSeconds).toBe(120);
  });
});

describe("a handler", () => {
  test("a handler gets its input as the schema parsed it", async () => {
    const input = z.object({ at: z.string().transform((text) => new Date(text)), count: z.number().default(3) });
    const handler = vi.fn(() => "done");
    const { run } = await claimed(handler, { type: { input }, input: { at: "2027-01-01", extra: 1 } });
    expect(await run()).toEqual({ how: "returned", packed: { inline: "done" } });
    expect(handler).toHaveBeenCalledExactlyOnceWith({ at: new Date("2027-01-01"), count: 3 }, expect.anything());
  });

  test("a handler is not called with input that does not fit any more", async () => {
    const handler = vi.fn();
    const input = z.object({ a: z.object({ b: z.number() }) });
    const { run } = await claimed(handler, { type: { input }, input: { a: { b: "text" } } });
    const error = expect.objectContaining({ message: expect.stringMatching(/^input\.a\.b: /), kind: "validation" });
    expect(await run()).toEqual({ how: "threw", error });
    expect(handler).not.toHaveBeenCalled();
  });

  test("a handler is not called with input that is wrong as a whole", async () => {
    const { run } = await claimed(vi.fn(), { type: { input: z.object({}) }, input: null });
    expect(await run()).toEqual({ how: "threw", error: expect.any(InvalidInput) });
  });

  test("a schema that throws refuses the input, with its error as the cause", async () => {
    const broken = z.unknown().transform(() => {
      throw new RangeError("the schema is broken");
    });
    const { run } = await claimed(vi.fn(), { type: { input: broken } });
    const cause = new RangeError("the schema is broken");
    const message = "input: its schema threw an error: the schema is broken";
    expect(await run()).toEqual({
      how: "threw",
      error: expect.objectContaining({ kind: "validation", message, cause }),
    });
  });

  test.each([
    ["refuses an input", "1", { how: "threw", error: expect.objectContaining({ kind: "validation" }) }],
    ["accepts one", "2", { how: "returned", packed: { inline: "2" } }],
  ])("an async schema is awaited, and %s", async (_, given, ended) => {
    const input = z.string().refine(async (text) => text === "2");
    const { run } = await claimed((value) => value, { type: { input }, input: given });
    expect(await run()).toEqual(ended);
  });

  test.each([
    ["returns", () => 7, { how: "returned", packed: { inline: 7 } }],
    ["returns a promise", async () => 7, { how: "returned", packed: { inline: 7 } }],
    ["returns nothing", () => undefined, { how: "returned", packed: { inline: null } }],
    [
      "throws",
      () => {
        throw new RangeError("no");
      },
      { how: "threw", error: new RangeError("no") },
    ],
    ["rejects", () => Promise.reject(new RangeError("no")), { how: "threw", error: new RangeError("no") }],
    ["rejects with nothing", () => Promise.reject(), { how: "threw", error: undefined }],
  ])("a handler that %s ends the attempt in the same way", async (_, handler, ended) => {
    const { run, clock } = await claimed(handler);
    expect(await run()).toEqual(ended);
    expect(clock.nextTimer()).toBeUndefined();
  });

  test("an attempt reads and writes nothing by itself", async () => {
    const { run, records } = await claimed(() => 7);
    const calls = [vi.spyOn(records, "get"), vi.spyOn(records, "change")];
    await run();
    for (const call of calls) expect(call).not.toHaveBeenCalled();
  });
});

describe("the context", () => {
  test("the context names the tenant, the task and the attempt", async () => {
    let seen: TaskContext | undefined;
    const { run, record, log } = await claimed((_input, task) => {
      seen = task;
      task.log.info("hello", { of: 1 });
    });
    await run();
    expect(seen).toMatchObject({
      tenantId: "acme",
      taskId: record.task_id,
      type: "test.task",
      attempt: 2,
      attemptOverall: 3,
      correlationId: record.correlation_id,
      requestedBy: "olga",
      traceparent: "00-trace",
    });
    expect(log.lines).toEqual([{ level: "info", message: "hello", fields: { of: 1 } }]);
    expect(Object.isFrozen(seen)).toBe(true);
  });

  test("the context is the ambient one wherever the handler's code runs, and nowhere else", async () => {
    const seen: unknown[] = [];
    const look = (task: TaskContext) => seen.push(currentTask() === task);
    const { run } = await claimed(async (_input, task) => {
      look(task);
      await new Promise((resolve) => setImmediate(resolve));
      look(task);
      await Promise.all([1, 2].map(async () => look(task)));
      await task.once("k", () => look(task));
    });
    expect(currentTask()).toBeUndefined();
    const running = run();
    expect(currentTask()).toBeUndefined();
    await running;
    expect(seen).toEqual([true, true, true, true, true]);
    expect(currentTask()).toBeUndefined();
  });

  test("two attempts at the same time each have their own context", async () => {
    const together = gate();
    const handler = async () => {
      await together.opened;
      return currentTask()?.taskId;
    };
    const [a, b] = [await claimed(handler), await claimed(handler)];
    const running = [a.run(), b.run()];
    together.open();
    expect(await Promise.all(running)).toEqual(
      [a, b].map(({ record }) => ({ how: "returned", packed: { inline: record.task_id } })),
    );
  });

  test("a submit is on the task's behalf, each by its place or its own key", async () => {
    const { run, record, children } = await claimed(async (_input, task) => [
      await task.submit({ type: "a" }),
      await task.submit({ type: "b", key: "own" }),
      await task.submit({ type: "c" }),
    ]);
    expect(await run()).toEqual({ how: "returned", packed: { inline: ["child-1", "child-2", "child-3"] } });
    expect(children).toEqual([
      { parent: record, child: { type: "a" }, key: "#1" },
      { parent: record, child: { type: "b", key: "own" }, key: "own" },
      { parent: record, child: { type: "c" }, key: "#3" },
    ]);
  });

  test("submits a definition with its input as it submits a type by name", async () => {
    const mail = typeOf(() => null, { name: "mail.send", input: z.object({ to: z.string() }) });
    const options = { priority: "low", delaySeconds: 60, maxAttempts: 2, tags: { order: "7" }, key: "own" } as const;
    const { run, children } = await claimed(async (_input, task) => [
      await task.submit(mail, { to: "ada" }),
      await task.submit({ type: "mail.send", input: { to: "ada" } }),
      await task.submit(mail, { to: "ada" }, options),
      await task.submit({ type: "mail.send", input: { to: "ada" }, ...options }),
    ]);
    await run();
    const [first, second, third, fourth] = children;
    expect(first).toMatchObject({ child: { type: "mail.send", input: { to: "ada" } }, key: "#1" });
    expect(second).toEqual({ ...first, key: "#2" });
    expect(third).toMatchObject({ child: { type: "mail.send", input: { to: "ada" }, ...options }, key: "own" });
    expect(fourth).toEqual(third);
  });

  test("a side effect runs once, also when the handler asks for it twice at the same time", async () => {
    const effect = vi.fn(async () => "done");
    const { run } = await claimed((_input, task) =>
      Promise.all([task.once("k", effect), task.once("k", effect), task.once("other", effect)]),
    );
    expect(await run()).toEqual({ how: "returned", packed: { inline: ["done", "done", "done"] } });
    expect(effect).toHaveBeenCalledTimes(2);
  });

  test("a side effect is held in the attempt's name until the attempt is surely over", async () => {
    const { run, once, record, clock } = await claimed((_input, task) => task.once("k", () => 1));
    const begin = vi.spyOn(once, "begin");
    const untilIso = iso(clock.now() + 65_000);
    await run();
    expect(begin).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ tenantId: "acme", key: "k", owner: `${record.task_id}.3`, untilIso }),
    );
  });

  test("the context does nothing any more when the attempt has ended", async () => {
    const seen = gate<TaskContext>();
    const { run, records, once, children, log, metrics } = await claimed((_input, task) => seen.open(task));
    const change = vi.spyOn(records, "change");
    const begin = vi.spyOn(once, "begin");
    await run();
    const task = await seen.opened;
    const settled = vi.fn();
    for (const late of [task.submit({ type: "a" }), task.once("k", () => 1), task.step("s", () => 1), task.sleep(1)]) {
      late.then(settled, settled);
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(settled).not.toHaveBeenCalled();
    expect(log.lines.map(({ level, fields }) => [level, fields.error])).toEqual(
      ["submit", "once", "step", "sleep"].map((what) => [
        "warn",
        `task.${what} was called after the attempt had ended: it has no effect`,
      ]),
    );
    expect(metrics.sum("stray_errors")).toBe(4);
    task.progress(50);
    expect(children).toEqual([]);
    expect(begin).not.toHaveBeenCalled();
    expect(change).not.toHaveBeenCalled();
  });
});

describe("the time-out", () => {
  test("the time-out ends the attempt, and aborts the signal with the reason", async () => {
    const { handler, context } = endless();
    const { run, clock } = await claimed(handler, { type: { timeoutSeconds: 10 } });
    const ended = run();
    const { signal } = await context;
    await clock.advance(9_999);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(await ended).toEqual({ how: "timed_out", error: new AttemptTimedOut("the attempt took longer than 10 s") });
    expect(signal.reason).toBeInstanceOf(AttemptTimedOut);
    expect(clock.nextTimer()).toBeUndefined();
  });

  test("the time-out wins over what the handler makes of the signal", async () => {
    const heeding = (_input: never, { signal }: TaskContext) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const { run, clock } = await claimed(heeding, { type: { timeoutSeconds: 10 } });
    const ended = run();
    await clock.advance(10_000);
    expect(await ended).toMatchObject({ how: "timed_out" });
  });

  test("a handler that goes on can do nothing, also while the worker stores what the attempt has caused", async () => {
    const [timedOut, stored, called] = [gate<void>(), gate<void>(), gate<void>()];
    const { run, clock, ports, once } = await claimed(
      async (_input, task) => {
        await task.submit({ type: "echo", input: {} });
        await timedOut.opened;
        void task.once("charge", () => "charged");
        called.open();
      },
      { type: { timeoutSeconds: 10 } },
    );
    const { add } = ports.steps;
    ports.steps.add = async (...given) => {
      timedOut.open();
      await stored.opened;
      return add.apply(ports.steps, given);
    };
    const begin = vi.spyOn(once, "begin");
    const ended = run();
    await clock.advance(10_000);
    await called.opened;
    stored.open();
    expect(await ended).toMatchObject({ how: "timed_out" });
    expect(begin).not.toHaveBeenCalled();
  });

  test("the time-out does not fire for an attempt that ended in time", async () => {
    let seen: TaskContext | undefined;
    const { run, clock } = await claimed((_input, task) => {
      seen = task;
    });
    await run();
    await clock.advance(1_000_000);
    expect(seen?.signal.aborted).toBe(false);
  });
});

describe("progress", () => {
  /** An attempt whose handler never ends, and its context. */
  const working = async (options: Options = {}) => {
    const { handler, context } = endless();
    const attempt = await claimed(handler, options);
    const ended = attempt.run();
    const change = vi.spyOn(attempt.records, "change");
    return { ...attempt, ended, change, task: await context };
  };

  test("progress is written immediately, and then at most once a second", async () => {
    const { task, clock, progress, change } = await working();
    for (const percent of [1, 2, 3]) task.progress(percent);
    await clock.advance(0);
    expect(await progress()).toBe(1);
    await clock.advance(999);
    task.progress(4);
    expect(await progress()).toBe(1);
    await clock.advance(1);
    expect(await progress()).toBe(4);
    await clock.advance(1_000);
    task.progress(5);
    await clock.advance(0);
    expect(await progress()).toBe(5);
    expect(change).toHaveBeenCalledTimes(3);
  });

  test("progress never goes down", async () => {
    const { task, clock, progress } = await working();
    task.progress(50);
    await clock.advance(1_000);
    task.progress(20);
    task.progress(49.9);
    await clock.advance(1_000);
    expect(await progress()).toBe(50);
  });

  test("progress never goes down, whatever is reported and when", async () => {
    const reports = fc.array(fc.tuple(fc.double({ min: -10, max: 110 }), fc.nat(1500)), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(reports, async (given) => {
        const { task, clock, change } = await working({ type: { timeoutSeconds: 840 } });
        for (const [percent, ms] of given) {
          task.progress(percent);
          await clock.advance(ms);
        }
        const written = change.mock.calls.flatMap(([, { set }]) => set?.progress ?? []);
        expect(written).toEqual(written.toSorted((a, b) => a - b));
        for (const value of written) expect(Number.isInteger(value) && value >= 0 && value <= 100).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  test("progress never goes down, also when one write takes longer than the next", async () => {
    const { task, clock, records, progress, change } = await working();
    const slow = gate();
    const write = records.change.bind(records);
    change.mockRestore();
    const original = write;
    vi.spyOn(records, "change").mockImplementationOnce(async (...given) => {
      await slow.opened;
      return original(...given);
    });
    task.progress(10);
    await clock.advance(500);
    task.progress(60);
    await clock.advance(1_000);
    slow.open();
    await clock.advance(0);
    await clock.advance(2_000);
    expect(await progress()).toBe(60);
  });

  test.each([
    [-5, 0],
    [0.9, 0],
    [99.9, 99],
    [150, 100],
    [Number.POSITIVE_INFINITY, 100],
    [Number.NaN, undefined],
  ])("progress of %d is written as %s", async (percent, written) => {
    const { task, clock, progress } = await working();
    task.progress(percent);
    await clock.advance(1_000);
    expect(await progress()).toBe(written);
  });

  test("progress of a late attempt is not written", async () => {
    const { task, clock, progress, moveOn } = await working();
    await moveOn();
    task.progress(50);
    await clock.advance(1_000);
    expect(await progress()).toBeUndefined();
  });

  test("progress that could not be written is written with the next report", async () => {
    const { task, clock, progress, change } = await working();
    change.mockRejectedValueOnce(new PortUnavailable("the table"));
    task.progress(10);
    await clock.advance(1_000);
    expect(await progress()).toBeUndefined();
    task.progress(20);
    await clock.advance(1_000);
    expect(await progress()).toBe(20);
  });

  test("progress is written before the attempt ends, or not at all", async () => {
    const slow = gate();
    const ending = gate<TaskContext>();
    const attempt = await claimed(async (_input, task) => {
      task.progress(10);
      task.progress(20);
      ending.open(task);
    });
    const write = attempt.records.change.bind(attempt.records);
    const change = vi.spyOn(attempt.records, "change").mockImplementation(async (...given) => {
      await slow.opened;
      return write(...given);
    });
    let over = false;
    const ended = attempt.run().then(() => {
      over = true;
    });
    await ending.opened;
    await attempt.clock.advance(0);
    expect(over).toBe(false);
    slow.open();
    await ended;
    await attempt.clock.advance(10_000);
    expect(change).toHaveBeenCalledTimes(1);
    expect(await attempt.progress()).toBe(10);
  });

  const noteOf = async ({ records, record }: Awaited<ReturnType<typeof claimed>>) =>
    (await records.get(record))?.progress_note;

  test("details are written with the progress, stay until others come, and do not let it fall", async () => {
    const attempt = await working();
    const { task, clock, progress } = attempt;
    task.progress(40, { message: "page 4", data: { page: 4 } });
    await clock.advance(1000);
    expect(await noteOf(attempt)).toEqual({ attempt: 3, message: "page 4", data: '{"page":4}' });
    task.progress(30, { message: "page 3 again" });
    await clock.advance(1000);
    expect([await progress(), await noteOf(attempt)]).toEqual([
      40,
      { attempt: 3, message: "page 3 again", data: '{"page":4}' },
    ]);
    task.progress(50);
    await clock.advance(1000);
    expect([await progress(), (await noteOf(attempt))?.message]).toEqual([50, "page 3 again"]);
  });

  test("the last details are written before the attempt ends, also when the second is not over", async () => {
    const attempt = await claimed(async (_, task) => {
      task.progress(10);
      task.progress(90, { message: "done" });
    });
    const change = vi.spyOn(attempt.records, "change");
    await attempt.run();
    expect(await noteOf(attempt)).toEqual({ attempt: 3, message: "done" });
    expect(await attempt.progress()).toBe(90);
    expect(change).toHaveBeenCalledTimes(2);
  });

  test("details of one percentage are written in their order, also when a write takes longer than the next", async () => {
    const attempt = await working();
    const { task, clock, records, change } = attempt;
    const slow = gate();
    const write = records.change.bind(records);
    change.mockImplementationOnce(async (...given) => {
      await slow.opened;
      return write(...given);
    });
    task.progress(10, { message: "first" });
    await clock.advance(1000);
    task.progress(10, { message: "second" });
    await clock.advance(1000);
    slow.open();
    await clock.advance(1000);
    expect((await noteOf(attempt))?.message).toBe("second");
  });

  test("a message is cut after 200 characters, and is well-formed", async () => {
    const attempt = await working();
    attempt.task.progress(1, { message: `\ud800${"😀".repeat(300)}` });
    await attempt.clock.advance(0);
    expect((await noteOf(attempt))?.message).toBe(`\ufffd${"😀".repeat(199)}`);
  });

  test.each([
    [{ message: 4 }, 'task.progress: expected { message: "a text", data } behind the percentage, got message 4'],
    ["page 4", 'task.progress: expected { message: "a text", data } behind the percentage, got "page 4"'],
    [{ data: "x".repeat(1023) }, "the data of task.progress has 1025 bytes as JSON, of at most 1024"],
    [
      { data: { page: Symbol.iterator, next: () => 1, at: new Map() } },
      "the data of task.progress cannot be serialised as JSON",
    ],
  ])("the details %j are refused", async (details, message) => {
    const { task } = await working();
    expect(() => task.progress(1, details as never)).toThrow(message);
  });

  test("a sensitive type keeps no data, and no text of the input in the message", async () => {
    const attempt = await claimed(
      async (_, task) => task.progress(1, { message: "for secret-value", data: { of: "secret-value" } }),
      { type: { sensitive: true }, input: { value: "secret-value" } },
    );
    await attempt.run();
    expect(await noteOf(attempt)).toEqual({ attempt: 3, message: "for [redacted]" });
  });
});

describe("a request to cancel", () => {
  test("a request to cancel fires the signal within 5 s, and the attempt counts as cancelled", async () => {
    const { handler, context } = endless();
    const { run, cancel, clock } = await claimed(async (input, task) => {
      void handler(input, task);
      await new Promise((_, reject) => task.signal.addEventListener("abort", () => reject(task.signal.reason)));
    });
    const ended = run();
    const { signal } = await context;
    await clock.advance(4_000);
    await cancel();
    await clock.advance(5_000);
    expect(signal.reason).toBeInstanceOf(AttemptCancelled);
    expect(await ended).toEqual({ how: "cancelled" });
  });

  test.each([
    ["a result", () => 7],
    ["an error", () => Promise.reject(new Error("no"))],
  ])("a request to cancel wins also when the handler ends with %s", async (_, end) => {
    const { run, cancel, clock } = await claimed(
      (_input, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(end()))),
    );
    const ended = run();
    await cancel();
    await clock.advance(5_000);
    expect(await ended).toEqual({ how: "cancelled" });
  });

  test("a request to cancel ends an attempt that ignores it when its time is over", async () => {
    const { handler } = endless();
    const { run, cancel, clock } = await claimed(handler, { type: { timeoutSeconds: 10 } });
    const ended = run();
    await cancel();
    await clock.advance(10_000);
    expect(await ended).toEqual({ how: "cancelled" });
  });

  test("a request to cancel is also seen with a report of progress", async () => {
    const { handler, context } = endless();
    const { run, cancel, clock } = await claimed(handler);
    void run();
    const task = await context;
    await cancel();
    task.progress(10);
    await clock.advance(0);
    expect(task.signal.reason).toBeInstanceOf(AttemptCancelled);
  });

  test("a request to cancel is seen with the next look when one look fails", async () => {
    const { handler, context } = endless();
    const { run, cancel, clock, records } = await claimed(handler);
    void run();
    const { signal } = await context;
    await cancel();
    vi.spyOn(records, "get").mockRejectedValueOnce(new PortUnavailable("the table"));
    await clock.advance(3_000);
    expect(signal.aborted).toBe(false);
    await clock.advance(3_000);
    expect(signal.aborted).toBe(true);
  });

  test("a request to cancel after the end changes nothing", async () => {
    let seen: TaskContext | undefined;
    const { run, cancel, clock } = await claimed((_input, task) => {
      seen = task;
      return 7;
    });
    expect(await run()).toEqual({ how: "returned", packed: { inline: 7 } });
    await cancel();
    await clock.advance(10_000);
    expect(seen?.signal.aborted).toBe(false);
  });
});

describe("a long attempt", () => {
  const long = { timeoutSeconds: 840 };

  test("a long attempt renews its lease and its message when a third of the lease is left, to the end", async () => {
    const { handler } = endless();
    const { run, records, record, renewMessage, clock } = await claimed(handler, { type: long });
    const start = clock.now();
    const ended = run();
    for (let second = 0; second < 839; second++) {
      await clock.advance(1_000);
      const lease = Date.parse((await records.get(record))?.lease_until ?? "");
      expect(lease - clock.now()).toBeGreaterThanOrEqual(35_000);
      expect(lease - clock.now()).toBeLessThanOrEqual(120_000);
    }
    expect(clock.now() - start).toBe(839_000);
    expect(renewMessage.mock.calls.length).toBeGreaterThanOrEqual(8);
    expect(renewMessage.mock.calls.length).toBeLessThanOrEqual(12);
    for (const [seconds] of renewMessage.mock.calls) expect(seconds).toBe(120);
    await clock.advance(1_000);
    expect(await ended).toMatchObject({ how: "timed_out" });
  });

  test("a long attempt notices a request to cancel while it renews", async () => {
    const { handler, context } = endless();
    const { run, cancel, clock } = await claimed(handler, { type: long });
    void run();
    const { signal } = await context;
    await clock.advance(80_000);
    await cancel();
    await clock.advance(5_000);
    expect(signal.aborted).toBe(true);
  });

  test("a long attempt renews nothing any more once the record has moved on", async () => {
    const { handler } = endless();
    const { run, records, record, moveOn, renewMessage, clock } = await claimed(handler, { type: long });
    void run();
    await moveOn();
    const before = await records.get(record);
    await clock.advance(800_000);
    expect(renewMessage).not.toHaveBeenCalled();
    expect(await records.get(record)).toEqual(before);
  });

  test("a long attempt tries again when a renewal fails", async () => {
    const { handler } = endless();
    const { run, records, record, clock } = await claimed(handler, { type: long });
    void run();
    vi.spyOn(records, "change").mockRejectedValueOnce(new PortUnavailable("the table"));
    await clock.advance(100_000);
    expect(Date.parse((await records.get(record))?.lease_until ?? "")).toBeGreaterThan(clock.now() + 90_000);
  });

  test("an attempt that ends before a third of its lease is left renews nothing", async () => {
    const { handler } = endless();
    const { run, records, renewMessage, clock } = await claimed(handler, { type: { timeoutSeconds: 60 } });
    const change = vi.spyOn(records, "change");
    const ended = run();
    await clock.advance(60_000);
    expect(await ended).toMatchObject({ how: "timed_out" });
    expect(change).not.toHaveBeenCalled();
    expect(renewMessage).not.toHaveBeenCalled();
  });
});

describe("the watchdog", () => {
  test("the watchdog is armed for two seconds past the time-out, and released at the end", async () => {
    const { handler } = endless();
    const { run, watchdog, clock } = await claimed(handler, { type: { timeoutSeconds: 10 } });
    const start = clock.now();
    const ended = run();
    expect(watchdog.ever).toEqual([start + 12_000]);
    expect(watchdog.armed.size).toBe(1);
    await clock.advance(10_000);
    await ended;
    expect(watchdog.armed.size).toBe(0);
  });

  test("the watchdog is armed for three seconds before the end of the lease where that is sooner, and moves with it", async () => {
    const { handler } = endless();
    const { run, watchdog, records, record, clock } = await claimed(handler, { type: { timeoutSeconds: 840 } });
    const start = clock.now();
    void run();
    expect(watchdog.ever).toEqual([start + 117_000]);
    await clock.advance(100_000);
    const lease = Date.parse((await records.get(record))?.lease_until ?? "");
    expect([...watchdog.armed]).toEqual([{ untilMs: lease - 3_000 }]);
  });

  test.each([() => 7, () => Promise.reject(new Error("no"))])(
    "the watchdog is released however the handler ends",
    async (handler) => {
      const { run, watchdog } = await claimed(handler);
      await run();
      expect([watchdog.ever.length, watchdog.armed.size]).toEqual([1, 0]);
    },
  );
});
