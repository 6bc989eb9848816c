import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { hourOf, type Usage } from "../../src/core/limits/ports.ts";

const nowMs = Date.UTC(2027, 0, 1, 12, 30);
const hour = hourOf(nowMs);

/** What every implementation of `Usage` does. Each test has a tenant of its own. */
export function usageContract(make: () => Usage) {
  const tenant = () => `t-${randomUUID()}`;
  const one = { nowMs, costMs: 50, atMostMs: nowMs + 100, likelyIdle: true };

  describe("a bucket", () => {
    test.each([true, false])(
      "a bucket is spent from now on at first, then further on (likely idle: %s)",
      async (likelyIdle) => {
        const [usage, acme] = [make(), tenant()];
        const ask = { ...one, likelyIdle };
        expect(await usage.spend(acme, ask)).toEqual({ done: true, spentUntilMs: nowMs + 50 });
        expect(await usage.spend(acme, ask)).toEqual({ done: true, spentUntilMs: nowMs + 100 });
        expect(await usage.spend(acme, ask)).toEqual({ done: false, spentUntilMs: nowMs + 100 });
      },
    );

    test("a bucket fills up with time, and no further than full", async () => {
      const [usage, acme] = [make(), tenant()];
      await usage.spend(acme, { ...one, costMs: 100 });
      const later = nowMs + 60_000;
      const ask = { nowMs: later, costMs: 70.5, atMostMs: later + 100, likelyIdle: false };
      expect(await usage.spend(acme, ask)).toEqual({ done: true, spentUntilMs: later + 70.5 });
      expect((await usage.spend(acme, ask)).done).toBe(false);
    });

    test("a bucket gives nothing to a caller that wants more than it holds", async () => {
      expect(await make().spend(tenant(), { ...one, costMs: 101 })).toMatchObject({ done: false });
    });

    test("a bucket gives each token once to many callers at the same time", async () => {
      const [usage, acme] = [make(), tenant()];
      const ask = { nowMs, costMs: 10, atMostMs: nowMs + 100, likelyIdle: true };
      const spent = await Promise.all(Array.from({ length: 30 }, () => usage.spend(acme, ask)));
      expect(spent.filter(({ done }) => done)).toHaveLength(10);
    });

    test("each tenant has its own bucket", async () => {
      const usage = make();
      await usage.spend(tenant(), { ...one, costMs: 100 });
      expect((await usage.spend(tenant(), { ...one, costMs: 100 })).done).toBe(true);
    });
  });

  describe("the tasks in progress", () => {
    test("tasks in progress are counted up to the bound, and by the hour", async () => {
      const [usage, acme] = [make(), tenant()];
      await usage.reserve(acme, { by: 3, atMost: 5, nowMs });
      const full = await usage.reserve(acme, { by: 2, atMost: 5, nowMs: nowMs + 3_600_000 });
      expect(full).toEqual({
        done: true,
        open: { total: 5, hours: new Map([[hour, 3], [hour + 1, 2]]), reservedAtMs: nowMs + 3_600_000 }, // biome-ignore format: a table
      });
      const refused = await usage.reserve(acme, { by: 1, atMost: 5, nowMs: nowMs + 7_200_000 });
      expect(refused).toEqual({ done: false, open: full.open });
    });

    test("a reservation is taken back, unless an audit has begun since", async () => {
      const [usage, acme] = [make(), tenant()];
      const totalOf = async () => (await usage.reserve(acme, { by: 100, atMost: 50, nowMs })).open.total;
      await usage.reserve(acme, { by: 10, atMost: 50, nowMs });
      await usage.unreserve(acme, { by: 11, reservedAtMs: nowMs });
      expect(await totalOf()).toBe(10);
      await usage.unreserve(acme, { by: 4, reservedAtMs: nowMs });
      expect(await totalOf()).toBe(6);
      await usage.beginAudit(acme, nowMs + 10, nowMs);
      for (const reservedAtMs of [nowMs, nowMs + 10]) await usage.unreserve(acme, { by: 1, reservedAtMs });
      expect(await totalOf()).toBe(6);
      await usage.unreserve(acme, { by: 1, reservedAtMs: nowMs + 11 });
      expect(await totalOf()).toBe(5);
    });

    test("tasks in progress never pass the bound, however many callers ask at the same time", async () => {
      const [usage, acme] = [make(), tenant()];
      const asked = Array.from({ length: 30 }, () => usage.reserve(acme, { by: 2, atMost: 11, nowMs }));
      expect((await Promise.all(asked)).filter(({ done }) => done)).toHaveLength(5);
    });

    test("a bound of 0 lets no task in", async () => {
      const [usage, acme] = [make(), tenant()];
      expect((await usage.reserve(acme, { by: 1, atMost: 0, nowMs })).done).toBe(false);
    });

    test("a release lowers the count", async () => {
      const [usage, acme] = [make(), tenant()];
      await usage.reserve(acme, { by: 5, atMost: 5, nowMs });
      await usage.release(acme, hour, 2);
      const { open } = await usage.reserve(acme, { by: 1, atMost: 5, nowMs });
      expect(open.total).toBe(4);
    });

    test("a release never lowers the count below 0, nor that of another hour", async () => {
      const [usage, acme] = [make(), tenant()];
      await usage.release(acme, hour, 1);
      await usage.reserve(acme, { by: 1, atMost: 5, nowMs });
      await usage.release(acme, hour, 2);
      await usage.release(acme, hour - 1, 1);
      expect((await usage.reserve(acme, { by: 1, atMost: 5, nowMs })).open.total).toBe(2);
    });

    test("a whole hour can be forgotten, once", async () => {
      const [usage, acme] = [make(), tenant()];
      await usage.reserve(acme, { by: 3, atMost: 5, nowMs });
      await usage.reserve(acme, { by: 1, atMost: 5, nowMs: nowMs + 3_600_000 });
      await usage.forget(acme, hour);
      await usage.forget(acme, hour);
      const { open } = await usage.reserve(acme, { by: 1, atMost: 5, nowMs: nowMs + 3_600_000 });
      expect(open).toMatchObject({ total: 2, hours: new Map([[hour + 1, 2]]) });
    });

    test("a correction applies only while the count is the given one", async () => {
      const [usage, acme] = [make(), tenant()];
      await usage.reserve(acme, { by: 5, atMost: 5, nowMs });
      await usage.correct(acme, hour, 4, 0);
      expect((await usage.reserve(acme, { by: 1, atMost: 5, nowMs })).open.total).toBe(5);
      await usage.correct(acme, hour, 5, 2);
      expect((await usage.reserve(acme, { by: 1, atMost: 5, nowMs })).open.total).toBe(3);
    });

    test("one process at a time may compare the count with the records", async () => {
      const [usage, acme] = [make(), tenant()];
      const asked = Array.from({ length: 5 }, () => usage.beginAudit(acme, nowMs, nowMs - 60_000));
      expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(1);
      expect(await usage.beginAudit(acme, nowMs + 60_000, nowMs)).toBe(true);
    });
  });
}
