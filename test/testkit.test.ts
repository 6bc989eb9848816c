import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { transformSync } from "esbuild";
import { describe, expect, expectTypeOf, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { BusinessRuleViolation, PermanentError, RetryAfter } from "../src/core/model/errors.ts";
import { Problem } from "../src/core/model/problem.ts";
import { currentTask } from "../src/core/task/ambient.ts";
import type { TaskContext } from "../src/core/task/context.ts";
import { file, withOutcome } from "../src/core/task/result.ts";
import { defineTask, type TaskOptions, type TaskType } from "../src/core/task/task.ts";
import { testKit } from "../src/testkit/kit.ts";

/** A type whose input is a number, with a handler of the test's. */
const typeOf = <Output>(
  handler: TaskOptions<z.ZodNumber, Output>["handler"],
  more: Partial<Omit<TaskOptions<z.ZodNumber, Output>, "children" | "aggregate">> = {},
) => defineTask({ name: "test.task", input: z.number(), timeoutSeconds: 10, ...more, handler });

describe("a task in the kit", () => {
  test("a task runs to its end, and its outcome is what clients get", async () => {
    const double = typeOf((input) => ({ doubled: input * 2 }));
    const outcome = await testKit([double]).run(double, 21);
    expect(outcome).toMatchObject({ status: "completed", result: { doubled: 42 }, deadLetter: false, seconds: 0 });
    expect(outcome.attempts).toMatchObject([{ number: 1, outcome: "completed", waitSeconds: undefined }]);
    expectTypeOf(outcome.result).toEqualTypeOf<{ doubled: number } | undefined>();
  });

  test("a test may have replaced the timers and the time: the kit has its own", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    let calls = 0;
    const flaky = typeOf(async (input) => {
      await Promise.resolve();
      if (++calls < 3) throw new Error("not yet");
      return input;
    });
    const outcome = await testKit([flaky]).run(flaky, 21);
    expect(outcome).toMatchObject({ status: "completed", result: 21 });
    expect(outcome.attempts).toHaveLength(3);
  });

  test("a handler that waits for a replaced timer ends by its time-out, and hangs no test", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const waits = typeOf(() => new Promise((resolve) => setTimeout(resolve, 1_000)));
    const outcome = await testKit([waits], { patienceMs: 20 }).run(waits, 21);
    expect(outcome.attempts[0]).toMatchObject({ outcome: "timed_out" });
  });

  test("an input that does not fit is refused with the client's problem", async () => {
    const double = typeOf((input) => input * 2);
    const answer = testKit([double]).run(double, "21" as unknown as number);
    await expect(answer).rejects.toThrow(Problem);
    await expect(answer).rejects.toMatchObject({ code: "invalid_input" });
  });

  test("an input that only a refinement refuses fails in the worker, as in a deployment", async () => {
    let calls = 0;
    const even = typeOf(() => ++calls, {
      input: z.number().refine((number) => number % 2 === 0, "expected an even number"),
    });
    const outcome = await testKit([even]).run(even, 3);
    expect(outcome).toMatchObject({
      status: "failed",
      errorKind: "validation",
      error: "input: expected an even number",
    });
    expect([outcome.attempts.length, calls]).toEqual([1, 0]);
    expect((await testKit([even]).run(even, 4)).status).toBe("completed");
  });

  test("a handler's submit checks refinements too, because the worker has the whole schema", async () => {
    const even = typeOf(() => 1, { name: "test.even", input: z.number().refine((number) => number % 2 === 0) });
    const parent = typeOf((input, task) => task.submit(even, input));
    expect(await testKit([parent, even]).run(parent, 3)).toMatchObject({ status: "failed", errorKind: "permanent" });
    expect(await testKit([parent, even]).run(parent, 4)).toMatchObject({ status: "completed" });
  });

  test("a task of a container type runs for as long as its time-out allows", async () => {
    const hours = typeOf(() => 7, { runsOn: "container", timeoutSeconds: 1_200, maxAttempts: 1 });
    const faults = [{ step: "handler returned", how: "timeout" }] as const;
    const outcome = await testKit([hours]).run(hours, 1, { faults });
    expect(outcome).toMatchObject({ status: "failed", errorKind: "timed_out", seconds: 1_200 });
    const quick = typeOf((input) => input, { runsOn: "container" });
    expect(await testKit([quick]).run(quick, 7)).toMatchObject({ status: "completed", result: 7 });
  });

  test("a task knows its tenant and its principal", async () => {
    const whose = typeOf((_, task) => [task.tenantId, task.requestedBy]);
    const kit = testKit([whose], { tenantId: "acme" });
    expect((await kit.run(whose, 1)).result).toEqual(["acme", "test"]);
    expect((await kit.run(whose, 1, { tenantId: "globex", requestedBy: "ann" })).result).toEqual(["globex", "ann"]);
  });

  test("a task can return a file, or an outcome of its own", async () => {
    const bytes = new TextEncoder().encode("hello");
    const filed = typeOf(() => file(bytes, { contentType: "text/plain", fileName: "hello.txt" }));
    const { result } = await testKit([filed]).run(filed, 1);
    expect(result).toMatchObject({ bytes, contentType: "text/plain", fileName: "hello.txt" });
    const full = typeOf(() => withOutcome("OVER_CAPACITY", { free: 0 }));
    expect(await testKit([full]).run(full, 1)).toMatchObject({ outcome: "OVER_CAPACITY", result: { free: 0 } });
  });

  test("a task reads its files, by each of their methods", async () => {
    const reads = defineTask({
      name: "test.reads",
      input: z.number(),
      files: { video: { contentTypes: ["video/*"], maxBytes: 10 }, notes: { required: false } },
      handler: async (_, { files: { video, notes } }) => {
        const streamed: number[] = [];
        for await (const chunk of video.stream()) streamed.push(...chunk);
        const { fileName, contentType, sizeBytes } = video;
        return {
          streamed,
          bytes: [...(await video.bytes())],
          fileName,
          contentType,
          sizeBytes,
          notes: notes?.contentType,
        };
      },
    });
    const video = new File([new Uint8Array([1, 2, 3])], "../talk.mp4", { type: "video/mp4" });
    const read = {
      streamed: [1, 2, 3],
      bytes: [1, 2, 3],
      fileName: "../talk.mp4",
      contentType: "video/mp4",
      sizeBytes: 3,
    };
    const kit = testKit([reads]);
    const outcome = await kit.run(reads, 1, { files: { video } });
    expect(outcome.result).toEqual(read);
    expect(outcome.attempts[0]?.steps.filter((step) => step === "read an object")).toHaveLength(2);
    const both = await kit.run(reads, 1, { files: { video, notes: new Uint8Array(1) } });
    expect(both.result).toEqual({ ...read, notes: "application/octet-stream" });
    await testKit([reads]).crashEverywhere(reads, 1, ({ result }) => expect(result).toEqual(read), {
      files: { video },
    });
  });

  test("a missing, foreign or too large file is refused with the client's problem", async () => {
    const reads = defineTask({
      name: "test.reads",
      input: z.number(),
      files: { video: { contentTypes: ["video/*"], maxBytes: 2 } },
      handler: () => null,
    });
    const large = new File([new Uint8Array(3)], "talk.mp4", { type: "video/mp4" });
    for (const files of [undefined, { video: new Uint8Array(1) }, { video: large }, { other: large }]) {
      const run = testKit([reads]).run(reads, 1, files && { files });
      await expect(run).rejects.toMatchObject({ code: "invalid_input" });
    }
  });

  test("a large result, which a deployment stores in the bucket, is in the outcome", async () => {
    const text = "x".repeat(400_000);
    const large = typeOf(() => ({ text }));
    expect((await testKit([large]).run(large, 1)).result).toEqual({ text });
    const filed = typeOf(() => file(new Blob([text]), { contentType: "text/plain", fileName: "x.txt" }));
    const { result } = await testKit([filed]).run(filed, 1);
    expect(result).toMatchObject({ contentType: "text/plain", fileName: "x.txt" });
    expect(result?.bytes.byteLength).toBe(400_000);
    await testKit([large]).crashEverywhere(large, 1, (outcome) => expect(outcome.result).toEqual({ text }));
  });

  test("the outcome has what the task logged and reported, attempt by attempt", async () => {
    const talks = typeOf((_, task) => {
      task.log.info("begins", { at: task.attempt });
      for (const percent of [10, 20, 90]) task.progress(percent, { message: `${percent} rows`, data: { percent } });
      if (task.attempt === 1) throw new Error("not yet");
    });
    const outcome = await testKit([talks]).run(talks, 1);
    expect(outcome.log).toEqual([
      { attempt: 1, level: "info", message: "begins", fields: { at: 1 } },
      { attempt: 2, level: "info", message: "begins", fields: { at: 2 } },
    ]);
    expect(outcome.attempts.map(({ progress }) => progress)).toEqual([
      [10, 20, 90],
      [10, 20, 90],
    ]);
    expect(outcome.progress).toEqual([10, 20, 90]);
    expect(outcome).toMatchObject({ progressMessage: "90 rows", progressData: { percent: 90 } });
  });

  test("the outcome has that of onFailed, whose steps can fail, too", async () => {
    const failing = defineTask({
      name: "order.pay",
      input: z.int(),
      handler: () => {
        throw new PermanentError("the card is refused");
      },
      onFailed: async (order, { error }, task) => task.step("tell", () => `${order}: ${error}`),
    });
    const kit = testKit([failing]);
    const outcome = await kit.run(failing, 7);
    expect(outcome).toMatchObject({ status: "failed", deadLetter: true });
    expect(outcome.onFailed).toMatchObject({
      status: "completed",
      result: "7: the card is refused",
      onFailed: undefined,
    });
    await kit.crashEverywhere(failing, 7, ({ status, onFailed }) => {
      expect([status, onFailed?.result]).toEqual(["failed", "7: the card is refused"]);
    });
  });

  test("a task waits, and is delayed, in the kit's time", async () => {
    const plain = typeOf(() => "ran");
    const kit = testKit([plain], { startsAt: new Date("2030-01-01T00:00:00Z") });
    expect(await kit.run(plain, 1, { delaySeconds: 100_000 })).toMatchObject({ status: "completed", seconds: 100_000 });
    expect(new Date(kit.now()).toISOString()).toBe("2030-01-02T03:46:40.000Z");
    const late = await kit.run(plain, 1, { delaySeconds: 20, expiresInSeconds: 10 });
    // Expiry counts from the end of the delay.
    expect(late).toMatchObject({ status: "completed", seconds: 20, result: "ran" });
  });

  test("a task may do real I/O, while the kit's time stands still", async () => {
    const reads = typeOf(async () => {
      await sleep(30);
      return readFileSync(import.meta.filename, "utf8").length;
    });
    expect(await testKit([reads]).run(reads, 1)).toMatchObject({ status: "completed", seconds: 0 });
  });
});

describe("failures", () => {
  test("failures are retried after the type's waits", async () => {
    const type = typeOf(
      (_, task) => {
        if (task.attempt < 3) throw new Error("again");
      },
      { retry: { waitsSeconds: [5, 7000], jitter: "none" } },
    );
    const outcome = await testKit([type]).run(type, 1);
    expect(outcome.attempts.map(({ outcome, waitSeconds }) => [outcome, waitSeconds])).toEqual([
      ["retried", 5],
      ["retried", 7000],
      ["completed", undefined],
    ]);
    expect(outcome.seconds).toBe(7005);
  });

  test("the wait after a failure follows the random number", async () => {
    const fails = typeOf(() => {
      throw new Error("again");
    });
    const shortest = await testKit([fails]).run(fails, 1, { maxAttempts: 2 });
    const longer = await testKit([fails], { random: () => 0.5 }).run(fails, 1, { maxAttempts: 2 });
    expect([shortest.attempts[0]?.waitSeconds, longer.attempts[0]?.waitSeconds]).toEqual([30, 38]);
  });

  test.each([
    [new PermanentError("closed"), { errorKind: "permanent", needsReview: false }],
    [new BusinessRuleViolation("over the limit"), { errorKind: "business_rule", needsReview: true }],
  ])("a final failure makes a dead letter: %s", async (error, expected) => {
    const type = typeOf(() => {
      throw error;
    });
    const outcome = await testKit([type]).run(type, 1);
    expect(outcome).toMatchObject({ status: "failed", deadLetter: true, error: error.message, ...expected });
    expect(outcome.attempts).toHaveLength(1);
  });

  test("a failure with Retry-After waits as long", async () => {
    const type = typeOf((_, task) => {
      if (task.attempt === 1) throw new RetryAfter(90);
    });
    expect((await testKit([type]).run(type, 1)).attempts[0]?.waitSeconds).toBe(90);
  });
});

describe("submitted tasks", () => {
  const child: TaskType = typeOf((input) => input + 1, { name: "test.child" });
  const parent = typeOf(async (input, task) => {
    await task.submit({ type: "test.child", input });
    if (task.attempt === 1) throw new Error("after its submit");
  });

  test("a submitted task runs too when the kit has its type, and only once", async () => {
    const outcome = await testKit([parent, child]).run(parent, 7);
    expect(outcome.submitted).toMatchObject([
      { type: "test.child", input: 7, outcome: { status: "completed", result: 8 } },
    ]);
  });

  test("look the same whether they are submitted by definition or by name", async () => {
    const named = typeOf((input) => input + 1, { name: "test.child" });
    const options = { priority: "low", delaySeconds: 60, tags: { order: "7" } } as const;
    const byDefinition = typeOf((input, task) => task.submit(named, input, options));
    const byName = typeOf((input, task) => task.submit({ type: "test.child", input, ...options }));
    const startsAt = new Date("2027-01-01T00:00:00Z");
    const outcomes = [
      await testKit([byDefinition, named], { startsAt }).run(byDefinition, 7),
      await testKit([byName, named], { startsAt }).run(byName, 7),
    ];
    expect(outcomes[0]?.submitted).toMatchObject([
      { type: "test.child", input: 7, ...options, outcome: { status: "completed", result: 8 } },
    ]);
    expect(outcomes[1]).toEqual(outcomes[0]);
  });

  test("a submitted task of another type is noted", async () => {
    const outcome = await testKit([parent]).run(parent, 7);
    expect(outcome.status).toBe("completed");
    expect(outcome.submitted).toMatchObject([{ type: "test.child", input: 7, outcome: undefined }]);
  });
});

describe("the time of a kit", () => {
  const dates = typeOf(async (_, task) => {
    const before = [Date.now(), Date.parse(new Date().toISOString()), Date.parse(Date())];
    await task.step("first", () => Date.now());
    await task.sleep(86_400);
    return {
      before,
      after: [Date.now(), Date.parse(new Date().toISOString())],
      own: new Date(7).getTime(),
      date: new Date(),
    };
  });

  test("is what Date says in a handler: it passes in sleeps, as in a deployment", async () => {
    const startsAt = new Date("2030-05-01T12:00:00Z");
    const { result } = await testKit([dates], { startsAt }).run(dates, 1);
    const [before, after] = [startsAt.getTime() + 86_400_000, startsAt.getTime() + 86_400_000];
    expect(result).toEqual({
      before: [before, before, before],
      after: [after, after],
      own: 7,
      date: expect.anything(),
    });
  });

  test("starts at that of the test, which the test may have set", async () => {
    vi.useFakeTimers({ now: new Date("2031-01-01T00:00:00Z"), toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const now = typeOf(() => new Date().toISOString());
    expect((await testKit([now]).run(now, 1)).result).toBe("2031-01-01T00:00:00.000Z");
  });

  test("is not that of the test's own code, also while two kits run, and Date is as before afterwards", async () => {
    const plain = Date;
    const [may, june] = [new Date("2030-05-01T00:00:00Z"), new Date("2030-06-01T00:00:00Z")];
    const gates = [may, june].map((startsAt) => {
      const type = typeOf(async () => {
        await sleep(1);
        return new Date().toISOString();
      });
      return testKit([type], { startsAt }).run(type, 1);
    });
    expect(new Date().getFullYear()).toBeLessThan(2030);
    expect(new Date(0)).toBeInstanceOf(plain);
    const results = (await Promise.all(gates)).map(({ result }) => result);
    expect(results).toEqual([may.toISOString(), june.toISOString()]);
    expect(Date).toBe(plain);
  });
});

test("what a client would be refused is refused: a file's name, a signal's name and size", async () => {
  const type = defineTask({
    name: "file.take",
    input: z.null(),
    files: { text: { contentTypes: ["application/*"] } },
    handler: () => 1,
  });
  const kit = testKit([type]);
  const text = new File(["a"], "a\u0007.txt");
  await expect(kit.run(type, null, { files: { text } })).rejects.toMatchObject({ code: "invalid_input" });
  const files = { text: new File(["a"], "a.txt") };
  await expect(kit.run(type, null, { files, signals: [{ name: "a b" }] })).rejects.toMatchObject({
    code: "invalid_input",
  });
  const body = "x".repeat(256 * 1024);
  await expect(kit.run(type, null, { files, signals: [{ name: "a", body }] })).rejects.toMatchObject({
    code: "too_large",
  });
});

describe("task.once in two tasks of a kit", () => {
  const mail = defineTask({
    name: "mail.send",
    input: z.object({ to: z.string() }),
    handler: (_, task) => task.once("mail", () => task.taskId),
  });

  test("the second task gets the value of the first one, and its log says so", async () => {
    const kit = testKit([mail]);
    const first = await kit.run(mail, { to: "ada" });
    const second = await kit.run(mail, { to: "bob" });
    expect(second.result).toBe(first.result);
    expect(first.log).toEqual([]);
    expect(second.log).toMatchObject([
      { level: "info", message: expect.stringContaining(`once "mail": task ${first.result} did this effect at 20`) },
    ]);
  });

  test("the log of a sensitive type does not show a part of the input in the key", async () => {
    const secret = defineTask({
      name: "mail.secret",
      input: z.object({ to: z.string() }),
      sensitive: true,
      handler: ({ to }, task) => task.once(`mail/${to}`, () => 1),
    });
    const kit = testKit([secret]);
    await kit.run(secret, { to: "ada@example.com" });
    const { log } = await kit.run(secret, { to: "ada@example.com" });
    expect(log).toMatchObject([{ message: expect.stringContaining('once "mail/[redacted]": task 0') }]);
  });
});

describe("faults", () => {
  const counting = () => {
    const effects: string[] = [];
    const type = typeOf(async (_, task) => task.once("effect", (key) => effects.push(key)));
    return { effects, type };
  };
  /** The number of the step that stores the effect's outcome. */
  const storingStep = ({ attempts }: { attempts: readonly { steps: readonly string[] }[] }) => {
    const index = attempts[0]?.steps.indexOf("finish once effect") ?? -1;
    return index < 0 ? expect.fail("no step stores the outcome") : index + 1;
  };

  test("a crash ends the attempt, and the next attempt continues", async () => {
    const { effects, type } = counting();
    const outcome = await testKit([type]).run(type, 1, { faults: [{ step: 1, how: "crash" }] });
    expect(outcome.attempts.map(({ outcome }) => outcome)).toEqual(["crashed", "completed"]);
    expect(outcome.attempts[0]?.steps).toEqual(["claim"]);
    expect(effects).toHaveLength(1);
  });

  test("an outcome that was stored before a crash is not repeated", async () => {
    const { effects, type } = counting();
    const stored = storingStep(await testKit([type]).run(type, 1));
    effects.length = 0;
    const outcome = await testKit([type]).run(type, 1, { faults: [{ step: stored, how: "crash" }] });
    expect(outcome).toMatchObject({ status: "completed", result: 1 });
    expect(outcome.attempts.map(({ outcome }) => outcome)).toEqual(["crashed", "completed"]);
    expect(effects).toHaveLength(1);
  });

  test("a store that refuses repeats the effect with the same idempotency key", async () => {
    const { effects, type } = counting();
    const store = storingStep(await testKit([type]).run(type, 1));
    effects.length = 0;
    const outcome = await testKit([type]).run(type, 1, { faults: [{ step: store, how: "refuse" }] });
    expect(outcome.status).toBe("completed");
    expect(effects).toHaveLength(2);
    expect(new Set(effects).size).toBe(1);
  });

  const ofHandler = /^task\.|returned$|threw$/;
  test.each(["refuse", "lose"] as const)("the task completes whichever call meets '%s'", async (how) => {
    const { type } = counting();
    const steps = (await testKit([type]).run(type, 1)).attempts[0]?.steps ?? [];
    const calls = steps.filter((name) => !ofHandler.test(name));
    expect(calls).toEqual(["claim", "begin once effect", "finish once effect", "settle: completed"]);
    for (const step of calls) {
      const outcome = await testKit([type]).run(type, 1, { faults: [{ step, how }] });
      expect([step, outcome.status]).toEqual([step, "completed"]);
    }
  });

  test.each(["refuse", "lose"] as const)("'%s' at a step that is not a call of a port is an error", async (how) => {
    const { type } = counting();
    for (const step of ["task.once(effect)", "effect of once effect returned", "handler returned"]) {
      await expect(testKit([type]).run(type, 1, { faults: [{ step, how }] })).rejects.toThrow(
        `The fault ${how} cannot happen at the step "${step}"`,
      );
    }
  });

  test("a fault that did not happen is an error that names the steps there were", async () => {
    const { type } = counting();
    const kit = testKit([type]);
    await expect(kit.run(type, 1, { faults: [{ step: 99, how: "crash" }] })).rejects.toThrow(
      "The fault crash at step 99 of attempt 1 did not happen. The steps of this attempt were: 1 claim, 2 task.once(effect), ",
    );
    await expect(kit.run(type, 1, { faults: [{ attempt: 2, step: "claim", how: "cancel" }] })).rejects.toThrow(
      "The fault cancel at step claim of attempt 2 did not happen. The task's number of attempts was 1.",
    );
  });

  test("calls that run at the same time have a number each, in the order in which they began", async () => {
    const type = typeOf((_, task) => Promise.all(["a", "b"].map((key) => task.once(key, () => key))));
    const { steps } = (await testKit([type]).run(type, 1)).attempts[0] ?? expect.fail();
    expect(steps.slice(0, 5)).toEqual(["claim", "task.once(a)", "begin once a", "task.once(b)", "begin once b"]);
    for (const step of steps.keys()) {
      const outcome = await testKit([type]).run(type, 1, { faults: [{ step: step + 1, how: "crash" }] });
      expect(outcome).toMatchObject({ status: "completed", result: ["a", "b"] });
    }
  });

  test("a handler that loses its worker at a call never continues after the call", async () => {
    const done: string[] = [];
    const type = typeOf(async (_, task) => {
      done.push("started");
      await task.submit({ type: "test.other", input: 1 });
      done.push("submitted");
    });
    await testKit([type]).run(type, 1, { faults: [{ step: "task.submit(test.other)", how: "crash" }] });
    expect(done).toEqual(["started", "started", "submitted"]);
  });

  test("a worker that dies at a log line or a report of progress stores nothing more, and dies at the next await", async () => {
    for (const step of ["task.log.info(half)", "task.progress(50)"]) {
      const done: number[] = [];
      const type = typeOf(async (_, task) => {
        task.log.info("half");
        task.progress(50);
        task.progress(60);
        await task.once("rest", () => done.push(task.attempt));
      });
      const outcome = await testKit([type]).run(type, 1, { faults: [{ step, how: "crash" }] });
      expect(outcome.attempts.map(({ outcome }) => outcome)).toEqual(["crashed", "completed"]);
      expect([outcome.attempts[0]?.progress, outcome.progress, done]).toEqual([[], [50, 60], [2]]);
    }
  });

  test("a handler that has returned too late is timed out, and one that a client cancels before its settle is cancelled", async () => {
    const type = typeOf(() => "done");
    const late = await testKit([type]).run(type, 1, { faults: [{ step: "handler returned", how: "timeout" }] });
    expect(late.attempts).toMatchObject([{ outcome: "timed_out", seconds: 10 }, { outcome: "completed" }]);
    const cancelled = await testKit([type]).run(type, 1, { faults: [{ step: "handler returned", how: "cancel" }] });
    expect(cancelled.status).toBe("cancelled");
  });

  test("the steps, log lines and progress of a handler that takes its context from currentTask are the same", async () => {
    const effect = (task: TaskContext | undefined) => {
      task?.log.info("begins");
      task?.progress(10);
      return task?.once("effect", () => 1);
    };
    const given = typeOf((_, task) => effect(task));
    const ambient = typeOf(() => effect(currentTask()));
    const outcomes = [await testKit([given]).run(given, 1), await testKit([ambient]).run(ambient, 1)];
    expect(outcomes[1]).toEqual(outcomes[0]);
    expect(outcomes[0]?.log).toHaveLength(1);
  });

  test("a fault in a later attempt leaves the earlier attempts alone", async () => {
    const type = typeOf((_, task) => {
      if (task.attempt === 1) throw new Error("again");
    });
    const outcome = await testKit([type]).run(type, 1, { faults: [{ attempt: 2, step: 1, how: "crash" }] });
    expect(outcome.attempts.map(({ outcome }) => outcome)).toEqual(["retried", "crashed", "completed"]);
  });

  test("a crash can follow each claim: a claim that comes too early takes no fault", async () => {
    const type = defineTask({ name: "test.claims", input: z.number(), maxAttempts: 3, handler: () => "done" });
    const faults = [1, 2, 3].map((attempt) => ({ attempt, step: "claim", how: "crash" as const }));
    const { status, attempts } = await testKit([type]).run(type, 1, { faults });
    expect([status, ...attempts.map(({ outcome }) => outcome)]).toEqual(["failed", "crashed", "crashed", "crashed"]);
  });

  test("a time-out fires the signal, and counts as an attempt", async () => {
    const seen: unknown[] = [];
    const type = typeOf((_, task) => {
      if (task.attempt > 1) return "done";
      return new Promise<string>((_, reject) => {
        task.signal.addEventListener("abort", () => {
          seen.push(task.signal.reason);
          reject(task.signal.reason);
        });
      });
    });
    const outcome = await testKit([type]).run(type, 1, { faults: [{ step: 1, how: "timeout" }] });
    expect(outcome.attempts).toMatchObject([{ outcome: "timed_out", seconds: 10 }, { outcome: "completed" }]);
    expect(String(seen[0])).toContain("longer than 10 s");
  });

  test("a handler that hangs by itself is timed out when patience is at its end", async () => {
    const type = typeOf((_, task) => (task.attempt > 1 ? "done" : new Promise<string>(() => {})));
    const outcome = await testKit([type], { patienceMs: 10 }).run(type, 1);
    expect(outcome.attempts.map(({ outcome }) => outcome)).toEqual(["timed_out", "completed"]);
  });

  test("a client's cancellation fires the signal and ends the task", async () => {
    const type = typeOf(
      (_, task) =>
        new Promise<never>((_, reject) => task.signal.addEventListener("abort", () => reject(task.signal.reason))),
    );
    const outcome = await testKit([type]).run(type, 1, { faults: [{ step: 1, how: "cancel" }] });
    expect(outcome).toMatchObject({ status: "cancelled", attempts: [{ outcome: "cancelled" }] });
    expect(outcome.seconds).toBeLessThanOrEqual(5);
  });

  test("a message that is delivered twice is worked on once", async () => {
    let runs = 0;
    const type = typeOf(() => {
      runs += 1;
    });
    const outcome = await testKit([type]).run(type, 1, { deliverTwice: true });
    expect(outcome.attempts).toHaveLength(1);
    expect(runs).toBe(1);
  });

  test("a fault with an invalid number is refused", async () => {
    const { type } = counting();
    await expect(testKit([type]).run(type, 1, { faults: [{ step: 0, how: "crash" }] })).rejects.toThrow(/step must be/);
    await expect(testKit([type]).run(type, 1, { faults: [{ attempt: 0.5, step: 1, how: "crash" }] })).rejects.toThrow(
      /attempt must be/,
    );
  });
});

describe("a crash after each step", () => {
  const inbox: string[] = [];
  const mails = new Map<string, string>();
  /** A mail service that drops a mail whose key it has seen. A mail without a key is always sent. */
  const sendMail = async (to: string, key?: string) => {
    await sleep(1);
    if (key === undefined || !mails.has(key)) inbox.push(to);
    if (key !== undefined) mails.set(key, to);
  };
  const sendOnce = (handler: TaskOptions<z.ZodNumber, unknown>["handler"]) => {
    const type = typeOf(handler);
    return testKit([type]).crashEverywhere(type, 1, (outcome) => {
      expect(outcome.status).toBe("completed");
      mails.clear();
      expect(inbox.splice(0)).toEqual(["ada"]);
    });
  };

  test("finds a handler that sends without a guard", async () => {
    const audit: number[] = [];
    const answer = sendOnce(async () => {
      await sendMail("ada");
      audit.push(1);
      return "sent";
    });
    await expect(answer).rejects.toThrow(
      "crash after step 2 of attempt 1, \"handler returned\": expected [ 'ada', 'ada' ]",
    );
  });

  test("can come between the error of a handler and its settle", async () => {
    const type = typeOf(async () => {
      await sendMail("ada");
      throw new PermanentError("after the mail");
    });
    const outcome = await testKit([type]).run(type, 1, { faults: [{ step: "handler threw", how: "crash" }] });
    expect(outcome.attempts.map(({ outcome }) => outcome)).toEqual(["crashed", "failed"]);
    expect(inbox.splice(0)).toEqual(["ada", "ada"]);
  });

  test("finds an effect of task.once that ignores its idempotency key", async () => {
    const answer = sendOnce((_, task) => task.once("mail", () => sendMail("ada")));
    await expect(answer).rejects.toThrow('crash after step 4 of attempt 1, "effect of once mail returned"');
  });

  test("says that the handler goes on after a crash at a step that it does not await", async () => {
    const type = typeOf((_, task) => task.progress(50));
    const answer = testKit([type]).crashEverywhere(type, 1, ({ attempts: [first, second] }) => {
      expect(second === undefined ? [] : first?.steps).not.toContain("task.progress(50)");
    });
    await expect(answer).rejects.toThrow(
      '"task.progress(50)" (the handler goes on to its next `once` or `submit`, or to its end): expected',
    );
  });

  test("passes for an effect with task.once and its idempotency key", async () => {
    await expect(sendOnce((_, task) => task.once("mail", (key) => sendMail("ada", key)))).resolves.toBeUndefined();
  });

  test("crashes each attempt of a task that is retried, and gives each run a fresh kit", async () => {
    const runs: (string | undefined)[][] = [];
    const names: string[] = [];
    const type = typeOf((_, task) => {
      if (task.attempt === 1) throw new Error("again");
    });
    await testKit([type]).crashEverywhere(type, 1, ({ attempts, taskId }) => {
      runs.push([taskId, ...attempts.map(({ outcome }) => outcome)]);
      if (runs.length === 1) names.push(...attempts.flatMap(({ steps }) => steps));
    });
    const id = runs[0]?.[0];
    expect(runs).toEqual([
      [id, "retried", "completed"],
      [id, "crashed", "completed"],
      [id, "crashed", "completed"],
      [id, "retried", "completed"],
      [id, "retried", "completed"],
      ...[1, 2].map(() => [id, "retried", "crashed", "completed"]),
      [id, "retried", "completed"],
    ]);
    expect(names).toEqual([
      ...["claim", "handler threw", "settle: retried", "send a message"],
      ...["claim", "handler returned", "settle: completed"],
    ]);
  });
});

test("the timeline has the steps, faults, log lines, errors and waits, in the kit's time from the submit", async () => {
  const type = typeOf(async (_, task) => {
    task.log.info("begins", { order: 7 });
    if (task.attempt === 1) throw new Error("again");
    await task.once("mail", () => 1);
  });
  const faults = [{ attempt: 2, step: "effect of once mail returned", how: "crash" }] as const;
  const { timeline } = await testKit([type]).run(type, 1, { faults, delaySeconds: 5 });
  expect(timeline.replace(/ at \S+testkit\.test\.ts:\d+:\d+;/, " at FILE:LINE:COLUMN;")).toBe(
    `
test.task: completed
    0.0 s  submitted
    5.0 s  attempt 1
    5.0 s     1 claim
    5.0 s     2 task.log.info(begins) {"order":7}
    5.0 s     3 handler threw
    5.0 s     4 settle: retried
    5.0 s     5 send a message
    5.0 s    => retried (transient): again at FILE:LINE:COLUMN; next attempt after 30 s
   35.0 s  attempt 2
   35.0 s     1 claim
   35.0 s     2 task.log.info(begins) {"order":7}
   35.0 s     3 task.once(mail)
   35.0 s     4 begin once mail
   35.0 s     5 effect of once mail returned  <= crash
   70.0 s    => crashed (crashed): the worker died, or lost its lease, during attempt 2; next attempt after 120 s
  190.0 s  attempt 3
  190.0 s     1 claim
  190.0 s     2 task.log.info(begins) {"order":7}
  190.0 s     3 task.once(mail)
  190.0 s     4 begin once mail
  190.0 s     5 effect of once mail returned
  190.0 s     6 finish once mail
  190.0 s     7 handler returned
  190.0 s     8 settle: completed
  190.0 s    => completed
`.trim(),
  );
});

describe("the guide", () => {
  const guide = readFileSync("docs/testing.md", "utf8");
  const blocks = [...guide.matchAll(/```(?<language>ts|text)\n(?<text>[\s\S]*?)```/g)].map(
    ({ groups }) => groups?.text ?? "",
  );

  test("its first example fails with the printed error", async () => {
    const tests: (() => Promise<void>)[] = [];
    const withoutImports = (blocks[0] ?? "").replace(/^import .*$/gm, "");
    const { code } = transformSync(withoutImports, { loader: "ts" });
    const collect = (_name: string, body: () => Promise<void>) => tests.push(body);
    new Function("defineTask", "testKit", "expect", "test", "z", code)(defineTask, testKit, expect, collect, z);
    const failure = await tests[0]?.().catch((error: unknown) => error);
    expect(`${failure}\n`).toBe(blocks[1]);
  });

  test("its example over HTTP is a test file that passes", () => {
    const [block] = /(?<=```ts\n)[\s\S]*?(?=```)/.exec(readFileSync("docs/end-to-end-tests.md", "utf8")) ?? [];
    expect(block).toBe(readFileSync("test/local/testing-http-guide.test.ts", "utf8"));
  });
});
