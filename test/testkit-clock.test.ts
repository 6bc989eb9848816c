import { defineTask } from "offload";
import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import * as z from "zod";

const dayMs = 86_400_000;
const startsAt = new Date("2027-01-01T00:00:00Z");

test("a task that was started goes on when the time of its sleeps has come, and not before", async () => {
  const woke: string[] = [];
  const drip = defineTask({
    name: "drip",
    input: z.strictObject({ mails: z.number() }),
    handler: async ({ mails }, task) => {
      for (let number = 1; number <= mails; number++) {
        await task.step(`mail ${number}`, () => void woke.push(new Date().toISOString()));
        if (number < mails) await task.sleep(10 * 86_400);
      }
      return { mails };
    },
  });
  const kit = testKit([drip], { startsAt });
  const started = await kit.start(drip, { mails: 3 });
  expect(woke).toEqual(["2027-01-01T00:00:00.000Z"]);
  expect(await started.outcome()).toMatchObject({ status: "pending", taskId: started.taskId });
  await kit.advance("9d 23h 59m");
  expect(woke).toHaveLength(1);
  await kit.advance("1m");
  expect(woke).toEqual(["2027-01-01T00:00:00.000Z", "2027-01-11T00:00:00.000Z"]);
  await kit.advance(new Date("2027-12-31T00:00:00Z"));
  expect(new Date(kit.now()).toISOString()).toBe("2027-12-31T00:00:00.000Z");
  expect(woke[2]).toBe("2027-01-21T00:00:00.000Z");
  const outcome = await started.outcome();
  expect(outcome).toMatchObject({ status: "completed", result: { mails: 3 }, seconds: 20 * 86_400 });
});

test("a schedule that a handler makes fires at its times while the kit's time passes, and not in a run", async () => {
  const reports: string[] = [];
  const report = defineTask({
    name: "report",
    input: z.strictObject({ shop: z.string() }),
    handler: ({ shop }) => void reports.push(`${shop} ${new Date().toISOString()}`),
  });
  const open = defineTask({
    name: "open",
    input: z.strictObject({ shop: z.string(), hour: z.number() }),
    handler: ({ shop, hour }, task) =>
      task.putSchedule(`report-of-${shop}`, { cron: `0 ${hour} * * *`, type: report, input: { shop } }),
  });
  const close = defineTask({
    name: "close",
    input: z.strictObject({ shop: z.string() }),
    handler: ({ shop }, task) => task.deleteSchedule(`report-of-${shop}`),
  });
  const kit = testKit([report, open, close], { startsAt });
  const { status, result } = await kit.run(open, { shop: "a", hour: 6 });
  expect(status).toBe("completed");
  expect(reports).toEqual([]);
  expect(await kit.schedules()).toMatchObject([
    { schedule_id: result, name: "report-of-a", cron: "0 6 * * *", next_run_at: "2027-01-01T06:00:00.000Z" },
  ]);
  await kit.advance("2d");
  expect(reports).toEqual(["a 2027-01-01T06:00:00.000Z", "a 2027-01-02T06:00:00.000Z"]);
  await kit.run(open, { shop: "a", hour: 7 });
  await kit.advance("1d");
  await kit.run(close, { shop: "a" });
  await kit.advance("9d");
  expect(reports.slice(2)).toEqual(["a 2027-01-03T07:00:00.000Z"]);
  expect(await kit.schedules()).toEqual([]);
});

test("a worker that dies anywhere in a call leaves the schedule that the next attempt makes", async () => {
  const note = defineTask({ name: "note", input: z.strictObject({}), handler: () => {} });
  const plan = defineTask({
    name: "plan",
    input: z.strictObject({}),
    handler: (_, task) => task.putSchedule("nightly", { cron: "0 2 * * *", type: note, input: {} }),
  });
  await testKit([note, plan], { startsAt }).crashEverywhere(plan, {}, ({ status }) => {
    expect(status).toBe("completed");
  });
});

test("delays, retries and ends of waits come at their time; a signal ends a wait at once", async () => {
  const tries: number[] = [];
  const pay = defineTask({
    name: "pay",
    input: z.strictObject({}),
    retry: { waitsSeconds: [3_600] },
    handler: (_, task) => {
      tries.push(Date.now() - startsAt.getTime());
      if (task.attempt < 3) throw new Error("declined");
    },
  });
  const ask = defineTask({
    name: "ask",
    input: z.strictObject({}),
    handler: async (_, task) => (await task.waitFor<string>("answer", { timeoutSeconds: 86_400 })) ?? "none",
  });
  const kit = testKit([pay, ask], { startsAt });
  const paid = await kit.start(pay, {}, { delaySeconds: 7_200 });
  const [silent, answered] = [await kit.start(ask, {}), await kit.start(ask, {})];
  expect(tries).toEqual([]);
  await answered.signal("answer", "yes");
  expect(await answered.outcome()).toMatchObject({ status: "completed", result: "yes", seconds: 0 });
  await kit.advance("23h");
  expect(tries).toEqual([2, 3, 4].map((hours) => hours * 3_600_000));
  expect(await paid.outcome()).toMatchObject({ status: "completed" });
  expect(await silent.outcome()).toMatchObject({ status: "pending" });
  await kit.advance("1h");
  expect(await silent.outcome()).toMatchObject({ status: "completed", result: "none", seconds: dayMs / 1000 });
});

test.each(["", "2", "two days", "-2d", new Date("2026-12-31T00:00:00Z"), new Date(Number.NaN)])(
  "the kit's clock is not moved by %s",
  async (time) => {
    const kit = testKit([], { startsAt });
    await expect(kit.advance(time)).rejects.toThrow(RangeError);
    expect(kit.now()).toBe(startsAt.getTime());
  },
);
