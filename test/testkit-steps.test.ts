import { describe, expect, test } from "vitest";
import * as z from "zod";
import { PermanentError } from "../src/core/model/errors.ts";
import type { TaskContext } from "../src/core/task/context.ts";
import { defineTask, type TaskOptions } from "../src/core/task/task.ts";
import { testKit } from "../src/testkit/kit.ts";

const typeOf = <Output>(handler: TaskOptions<z.ZodNumber, Output>["handler"]) =>
  defineTask({ name: "test.task", input: z.number(), timeoutSeconds: 10, handler });

describe("steps in the kit", () => {
  test("five steps survive a crash at each step: each effect happens once, or twice where the step itself died", async () => {
    let effects: string[] = [];
    const five = typeOf(async (count, task) => {
      let sum = 0;
      for (let number = 1; number <= count; number++) {
        sum += await task.step(`add ${number}`, () => {
          effects.push(`add ${number}`);
          return number;
        });
      }
      return sum;
    });
    const all = [1, 2, 3, 4, 5].map((number) => `add ${number}`);
    let crashes = 0;
    await testKit([five]).crashEverywhere(five, 5, ({ status, result, attempts }) => {
      expect({ status, result }).toEqual({ status: "completed", result: 15 });
      const twice = effects.filter((name, index) => effects.indexOf(name) !== index);
      const [first] = attempts;
      const diedAt = first?.outcome === "crashed" ? first.steps.at(-1) : undefined;
      // A step that died between its effect and the store of its result runs again, and no other one.
      expect(twice).toEqual(
        diedAt?.endsWith(" returned") === true && diedAt.startsWith("step ") ? [diedAt.slice(5, 10)] : [],
      );
      expect([...new Set(effects)]).toEqual(all);
      if (diedAt !== undefined) crashes += 1;
      effects = [];
    });
    // Between and inside of each step, and around them.
    expect(crashes).toBeGreaterThan(15);
  });

  test("a sleep passes in the kit's time, and is part of one attempt", async () => {
    const patient = typeOf(async (days, task) => {
      await task.step("before", () => 1);
      await task.sleep(days * 86_400);
      await task.step("after", () => 2);
      return task.attempt;
    });
    const { status, attempts, seconds, timeline } = await testKit([patient]).run(patient, 40);
    expect(status).toBe("completed");
    expect(attempts).toHaveLength(1);
    expect(attempts[0]?.steps).toEqual(
      expect.arrayContaining(["suspend", "step before returned", "step after returned"]),
    );
    expect(seconds).toBeGreaterThanOrEqual(40 * 86_400);
    expect(timeline).toContain("task.sleep(3456000)");
  });

  for (const [what, effect] of Object.entries<(task: TaskContext) => Promise<unknown>>({
    "a timer": () => new Promise((resolve) => setTimeout(resolve, 5)),
    once: (task) => task.once("paid", () => 1),
    "a submit": (task) => task.submit({ type: "test.other", input: 1 }),
  })) {
    test(`after a race of waits, ${what} is not done again, and the loser holds nothing up`, async () => {
      let begun = 0;
      const racer = typeOf(async (timeoutSeconds, task) => {
        await Promise.race([task.waitFor("a", { timeoutSeconds }), task.waitFor("b", { timeoutSeconds })]);
        begun += 1;
        await effect(task);
        return "paid";
      });
      const signals = [{ name: "a", afterSeconds: 3 }];
      const { result, attempts, seconds } = await testKit([racer]).run(racer, 25, { signals });
      expect({ result, attempts: attempts.length, begun }).toEqual({ result: "paid", attempts: 1, begun: 1 });
      expect(seconds).toBeLessThan(10);
    });
  }

  test("a handler that catches everything sees nothing of a table that does not answer", async () => {
    const rows = typeOf(async (count, task) => {
      let failed = 0;
      for (let row = 1; row <= count; row++) {
        await task
          .step(`row ${row}`, () => row)
          .catch(() => {
            failed += 1;
          });
      }
      return failed;
    });
    const kit = testKit([rows]);
    const { attempts } = await kit.run(rows, 3);
    const step = (attempts[0]?.steps.indexOf("store step row 2") ?? 0) + 1;
    const outcome = await testKit([rows]).run(rows, 3, { faults: [{ how: "refuse", step }] });
    expect(outcome).toMatchObject({ status: "completed", result: 0 });
    expect(outcome.attempts.map(({ outcome }) => outcome)).toEqual(["retried", "completed"]);
    expect(outcome.attempts[0]).toMatchObject({ errorKind: "unavailable" });
  });

  test("a wait gets the signal that the test sends, before or after it begins, and times out without one", async () => {
    const approve = typeOf(async (timeoutSeconds, task) => {
      await task.sleep(60);
      return (await task.waitFor<{ by: string }>("approved", { timeoutSeconds }))?.by ?? "nobody";
    });
    const by = (signals: { name: string; body?: unknown; afterSeconds?: number }[]) =>
      testKit([approve]).run(approve, 7200, { signals });
    expect(await by([{ name: "approved", body: { by: "ada" } }])).toMatchObject({ result: "ada" });
    const late = await by([{ name: "approved", body: { by: "ada" }, afterSeconds: 3600 }]);
    expect(late).toMatchObject({ result: "ada", seconds: 3600 });
    expect(await by([])).toMatchObject({ result: "nobody", seconds: 7260 });
    await expect(by([{ name: "approved", afterSeconds: 100_000 }])).rejects.toMatchObject({ code: "conflict" });
  });

  test("a cursor with checkpoints survives a crash at each step, and repeats at most the page that died", async () => {
    let pages: number[] = [];
    const cursor = typeOf(async (count, task) => {
      for (let page = (task.state as number | undefined) ?? 0; page < count; ) {
        pages.push(page);
        page += 1;
        await task.checkpoint(page);
        if (page === 2) return task.continueLater();
      }
      return "done";
    });
    await testKit([cursor]).crashEverywhere(cursor, 4, ({ status, attempts }) => {
      expect(status).toBe("completed");
      expect([...new Set(pages)]).toEqual([0, 1, 2, 3]);
      expect(pages.length).toBeLessThanOrEqual(4 + attempts.length - 1);
      pages = [];
    });
  });

  test("a step that throws by a fault of the test is tried again", async () => {
    const charge = typeOf((amount, task) => task.step("charge", () => amount));
    const faults = [{ step: "task.step(charge)", how: "throw", error: new Error("no network") }] as const;
    const { status, attempts } = await testKit([charge]).run(charge, 3, { faults });
    expect(status).toBe("completed");
    expect(attempts.map(({ outcome }) => outcome)).toEqual(["retried", "completed"]);
  });

  test("a child that is run survives a crash at each step: there is one of it, and its result is the parent's", async () => {
    const ran: number[] = [];
    const child = defineTask({
      name: "test.child",
      input: z.number(),
      handler: (number) => {
        ran.push(number);
        return { twice: 2 * number };
      },
    });
    const parent = typeOf(async (count, task) => {
      const numbers = Array.from({ length: count }, (_, index) => index + 1);
      const all = await Promise.all(numbers.map((number) => task.run(child, number, { key: `child ${number}` })));
      const last = await task.run(child, all.length);
      return all.reduce((sum, { twice }) => sum + twice, last.twice);
    });
    let crashes = 0;
    await testKit([parent, child]).crashEverywhere(parent, 2, ({ status, result, attempts, children }) => {
      expect({ status, result }).toEqual({ status: "completed", result: 10 });
      expect(children.map(({ key, input }) => [key, input])).toEqual([
        ["child 1", 1],
        ["child 2", 2],
        ["3", 2],
      ]);
      // A child whose own worker died behind its handler has run again, and no other one.
      expect([3, 4]).toContain(ran.length);
      ran.length = 0;
      if (attempts[0]?.outcome === "crashed") crashes += 1;
    });
    expect(crashes).toBeGreaterThan(15);
  });

  test("a child that fails in the kit throws ChildFailed in its parent", async () => {
    const child = defineTask({
      name: "test.child",
      input: z.number(),
      handler: () => {
        throw new PermanentError("sold out");
      },
    });
    const parent = typeOf((number, task) => task.run(child, number));
    const { status, error, attempts } = await testKit([parent, child]).run(parent, 1);
    expect({ status, error }).toEqual({ status: "failed", error: 'the child of run "1" is failed: sold out' });
    expect(attempts).toHaveLength(1);
  });
});
