import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineTask } from "../src/core/task/task.ts";
import { testKit } from "../src/testkit/kit.ts";

const input = z.strictObject({ n: z.int() });

const mail = defineTask({ name: "mail", input, handler: ({ n }) => ({ sent: n }) });

/** Submits itself again and again. */
const poll = defineTask({
  name: "poll",
  input,
  handler: async ({ n }, task) => {
    await task.submit({ name: "poll" }, { n: n + 1 }, { delaySeconds: 3_600 });
    return n;
  },
});

describe("a run that does not follow", () => {
  test("leaves submitted tasks as they were accepted, and later runs do not start them", async () => {
    const ran: number[] = [];
    const counted = defineTask({ name: "mail", input, handler: ({ n }) => ran.push(n) });
    const signUp = defineTask({
      name: "sign_up",
      input,
      handler: async ({ n }, task) => {
        await task.submit(counted, { n });
        await task.submit(counted, { n: n + 1 }, { delaySeconds: 86_400 });
        await task.submit({ name: "crm.update" }, { n });
        return "done";
      },
    });
    const kit = testKit([counted, signUp]);
    const outcome = await kit.run(signUp, { n: 1 }, { follow: false });
    expect(outcome).toMatchObject({ status: "completed", result: "done", seconds: 0 });
    expect(outcome.submitted).toMatchObject([
      { type: "mail", input: { n: 1 }, outcome: { status: "pending", attempts: [] } },
      { type: "mail", input: { n: 2 }, outcome: { status: "scheduled" } },
      { type: "crm.update", input: { n: 1 }, outcome: undefined },
    ]);
    await kit.run(counted, { n: 7 });
    expect(ran).toEqual([7]);
  });

  test("refuses what a deployment refuses", async () => {
    const wrong = defineTask({
      name: "wrong",
      input,
      handler: async (_, task) => void (await task.submit({ name: "mail" }, { n: "one" })),
    });
    const outcome = await testKit([mail, wrong]).run(wrong, { n: 1 }, { follow: false });
    expect(outcome).toMatchObject({ status: "failed", errorKind: "permanent" });
  });

  test("runs children, and not what they submit", async () => {
    const child = defineTask({
      name: "child",
      input,
      handler: async ({ n }, task) => void (await task.submit(mail, { n })),
    });
    const parent = defineTask({
      name: "parent",
      input,
      children: {},
      handler: async ({ n }, task) => void (await task.spawn(child, { n })),
    });
    const outcome = await testKit([parent, child, mail]).run(parent, { n: 1 }, { follow: false });
    expect(outcome).toMatchObject({ status: "completed", result: { total: 1, completed: 1 } });
    expect(outcome.children[0]?.submitted).toMatchObject([{ type: "mail", outcome: { status: "pending" } }]);
  });

  test("has one task for each submit, also when the worker dies at any step", async () => {
    const signUp = defineTask({
      name: "sign_up",
      input,
      handler: async ({ n }, task) => void (await task.submit(mail, { n })),
    });
    const check = ({ status, submitted }: { status: string; submitted: readonly unknown[] }) => {
      expect([status, submitted.length]).toEqual(["completed", 1]);
    };
    await testKit([mail, signUp]).crashEverywhere(signUp, { n: 1 }, check, { follow: false });
  });

  test("ends a task that submits itself", async () => {
    const outcome = await testKit([poll]).run(poll, { n: 1 }, { follow: false });
    expect(outcome).toMatchObject({ status: "completed", result: 1 });
    expect(outcome.submitted).toMatchObject([{ type: "poll", input: { n: 2 } }]);
  });
});

describe("tasks that submit tasks without an end", () => {
  const more = /tasks of the type \w+ have led to more than 200 tasks of this type.*follow: false/;

  test("end with an error that says so", async () => {
    await expect(testKit([poll]).run(poll, { n: 1 })).rejects.toThrow(more);
  });

  test("also through another type, in a tree, and by children", async () => {
    const [ping, pong] = (["ping", "pong"] as const).map((name) =>
      defineTask({
        name,
        input,
        handler: async ({ n }, task) => void (await task.submit({ name: name === "ping" ? "pong" : "ping" }, { n })),
      }),
    );
    await expect(testKit([ping, pong] as never).run(ping as never, { n: 1 } as never)).rejects.toThrow(more);
    const tree = defineTask({
      name: "tree",
      input,
      handler: async ({ n }, task) => {
        for (const one of [1, 2, 3]) await task.submit({ name: "tree" }, { n: n * 3 + one });
      },
    });
    await expect(testKit([tree]).run(tree, { n: 1 })).rejects.toThrow(more);
    const nested = defineTask({
      name: "nested",
      input,
      children: {},
      handler: async ({ n }, task) => void (await task.spawn({ name: "nested" }, { n })),
    });
    await expect(testKit([nested]).run(nested, { n: 1 })).rejects.toThrow(more);
  });

  test("may be as many as a test lets time pass for", async () => {
    const kit = testKit([poll]);
    const first = await kit.start(poll, { n: 1 });
    await kit.advance("12d");
    let [last, count] = [await first.outcome(), 1];
    for (; last.submitted[0]?.outcome !== undefined; count++) last = last.submitted[0].outcome as typeof last;
    expect(count).toBeGreaterThan(280);
  });

  test("do not stop a run of many tasks of one type", async () => {
    const all = defineTask({
      name: "all",
      input,
      handler: async ({ n }, task) => {
        for (let one = 0; one < n; one++) await task.submit(mail, { n: one });
      },
    });
    const outcome = await testKit([all, mail]).run(all, { n: 300 });
    expect(outcome.submitted.every(({ outcome }) => outcome?.status === "completed")).toBe(true);
  });
});
