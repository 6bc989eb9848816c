import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { PlannedCheck, WaitQueues } from "../../src/core/ports/flow.ts";

/** Epoch milliseconds. */
export const untilMs = 1_800_000_000_000;

/** A name of a line that no other test uses. */
export const newLine = (): string => `concurrency/t-${randomUUID()}/acme/`;

/** A name of a pause's line that no other test uses. */
export const newPause = (): string => `pause/type/t-${randomUUID()}`;

/** The promises of the places of a line. */
export function describePlaces(lines: () => WaitQueues): void {
  const placesIn = async (line: string) => Object.fromEntries((await lines().state(line)).permits);
  const idsOf = (count: number) => Array.from({ length: count }, () => randomUUID());

  describe("places", () => {
    test("tasks get places up to the limit, and each only one", async () => {
      const line = newLine();
      const [a, b, c] = idsOf(3) as [string, string, string];
      expect(await lines().acquirePermits(line, [a], untilMs, 2)).toBe(true);
      expect(await lines().acquirePermits(line, [a], untilMs + 1, 2)).toBe(false);
      expect(await lines().acquirePermits(line, [b], untilMs + 2, 2)).toBe(true);
      expect(await lines().acquirePermits(line, [c], untilMs, 2)).toBe(false);
      expect(await placesIn(line)).toEqual({ [a]: untilMs, [b]: untilMs + 2 });
      expect(await lines().acquirePermits(line, [c], untilMs, 3)).toBe(true);
      expect(await lines().acquirePermits(line, idsOf(1), untilMs, 1)).toBe(false);
    });

    test("the limit of the latest input is noted beside the places, and that of an earlier one changes nothing", async () => {
      const line = newLine();
      const [a] = idsOf(1) as [string];
      expect((await lines().state(line)).keyLimit).toBeUndefined();
      expect(await lines().noteLimit(line, { value: 5, atMs: untilMs })).toBe(true);
      expect(await lines().acquirePermits(line, [a], untilMs, 5)).toBe(true);
      expect(await lines().noteLimit(line, { value: 9, atMs: untilMs - 1 })).toBe(false);
      expect(await lines().noteLimit(line, { value: 3, atMs: untilMs })).toBe(true);
      expect(await lines().noteLimit(line, { value: 10_000, atMs: untilMs + 1 })).toBe(true);
      expect(await lines().state(line)).toEqual({
        permits: new Map([[a, untilMs]]),
        keyLimit: { value: 10_000, atMs: untilMs + 1 },
      });
      expect((await lines().releasePermit(line, a, untilMs))?.keyLimit?.value).toBe(10_000);
    });

    test("the limits of rates by input are noted by the seconds of their rate", async () => {
      const line = newLine();
      const value = { 1: 3, 86400: 2_000 };
      expect(await lines().noteLimit(line, { value, atMs: untilMs })).toBe(true);
      expect((await lines().state(line)).keyLimit).toEqual({ value, atMs: untilMs });
      expect(await lines().noteLimit(line, { value: { 1: 5 }, atMs: untilMs - 1 })).toBe(false);
      expect(await lines().noteLimit(line, { value: { 1: 5 }, atMs: untilMs + 1 })).toBe(true);
      expect((await lines().state(line)).keyLimit?.value).toEqual({ 1: 5 });
    });

    test("ten tasks get places together", async () => {
      const line = newLine();
      const ids = idsOf(10);
      expect(await lines().acquirePermits(line, ids, untilMs, 10)).toBe(true);
      expect(await placesIn(line)).toEqual(Object.fromEntries(ids.map((id) => [id, untilMs])));
    });

    test("of several tasks all get a place, or none", async () => {
      const line = newLine();
      const [a, ...others] = idsOf(10) as [string, ...string[]];
      expect(await lines().acquirePermits(line, [a, ...others], untilMs, 9)).toBe(false);
      expect(await placesIn(line)).toEqual({});
      await lines().acquirePermits(line, [a], untilMs, 20);
      expect(await lines().acquirePermits(line, [...others, a], untilMs + 1, 20)).toBe(false);
      expect(await lines().acquirePermits(line, others, untilMs + 1, 9)).toBe(false);
      expect(await placesIn(line)).toEqual({ [a]: untilMs });
      expect(await lines().acquirePermits(line, others, untilMs + 1, 10)).toBe(true);
    });

    test("of thirty tasks that ask at the same time for three places, three get one", async () => {
      const line = newLine();
      const ids = idsOf(30);
      const taken = await Promise.all(ids.map((id) => lines().acquirePermits(line, [id], untilMs, 3)));
      expect(taken.filter(Boolean)).toHaveLength(3);
      expect(Object.keys(await placesIn(line)).sort()).toEqual(ids.filter((_, index) => taken[index]).sort());
    });

    test("one task that asks thirty times at the same time gets one place", async () => {
      const line = newLine();
      const taken = await Promise.all(
        Array.from({ length: 30 }, () => lines().acquirePermits(line, ["a"], untilMs, 5)),
      );
      expect(taken.filter(Boolean)).toHaveLength(1);
      expect(await lines().acquirePermits(line, idsOf(4), untilMs, 5)).toBe(true);
    });

    test("a place is kept for longer while the task has it", async () => {
      const line = newLine();
      const [a, b] = idsOf(2) as [string, string];
      expect(await lines().renewPermit(line, { task: a, untilMs }, untilMs + 9)).toBe(false);
      await lines().acquirePermits(line, [a], untilMs, 1);
      expect(await lines().renewPermit(line, { task: a, untilMs }, untilMs + 9)).toBe(true);
      expect(await lines().renewPermit(line, { task: b, untilMs }, untilMs)).toBe(false);
      expect(await placesIn(line)).toEqual({ [a]: untilMs + 9 });
      // A call that was made before this one, and arrives after it.
      expect(await lines().renewPermit(line, { task: a, untilMs }, untilMs + 5)).toBe(false);
      expect(await placesIn(line)).toEqual({ [a]: untilMs + 9 });
      expect(await lines().acquirePermits(line, [b], untilMs, 1)).toBe(false);
    });

    test("a place is taken back only by the one who knows its end, and once", async () => {
      const line = newLine();
      const [a, b, c] = idsOf(3) as [string, string, string];
      await lines().acquirePermits(line, [a, b], untilMs, 2);
      await lines().renewPermit(line, { task: a, untilMs }, untilMs + 9);
      expect(await lines().releasePermit(line, a, untilMs)).toBeUndefined();
      expect(await lines().releasePermit(line, c, untilMs)).toBeUndefined();
      expect(await lines().acquirePermits(line, [c], untilMs, 2)).toBe(false);
      const dropped = await Promise.all(Array.from({ length: 5 }, () => lines().releasePermit(line, a, untilMs + 9)));
      expect(dropped.filter((state) => state !== undefined)).toEqual([{ permits: new Map([[b, untilMs]]) }]);
      expect(await lines().acquirePermits(line, [a, c], untilMs, 2)).toBe(false);
      expect(await lines().acquirePermits(line, [c], untilMs, 2)).toBe(true);
    });

    test("a place is passed on only by the one who knows its end, to a task without a place, and once", async () => {
      const line = newLine();
      const [a, b, c] = idsOf(3) as [string, string, string];
      await lines().acquirePermits(line, [a, b], untilMs, 2);
      await lines().planCheck(line, { id: "check", atMs: 8 }, undefined);
      const to = { task: c, untilMs: untilMs + 7 };
      expect(await lines().passPermit(line, { task: a, untilMs: untilMs + 1 }, to, 2)).toBeUndefined();
      expect(await lines().passPermit(line, { task: a, untilMs }, { task: b, untilMs }, 2)).toBeUndefined();
      expect(await lines().passPermit(line, to, { task: "d", untilMs }, 2)).toBeUndefined();
      expect(await placesIn(line)).toEqual({ [a]: untilMs, [b]: untilMs });
      const pass = () => lines().passPermit(line, { task: a, untilMs }, to, 2);
      const passed = await Promise.all(Array.from({ length: 5 }, pass));
      const permits = new Map([[b, untilMs]]).set(c, untilMs + 7);
      expect(passed.filter((state) => state !== undefined)).toMatchObject([
        { permits, check: { id: "check", atMs: 8 } },
      ]);
      expect(await lines().acquirePermits(line, [a], untilMs, 2)).toBe(false);
      await lines().releasePermit(line, c, untilMs + 7);
      expect(await lines().acquirePermits(line, [a], untilMs, 2)).toBe(true);
    });

    test("a place is not passed on while there are more places than the limit", async () => {
      const line = newLine();
      const [a, b, c] = idsOf(3) as [string, string, string];
      const [from, to] = [
        { task: a, untilMs },
        { task: c, untilMs },
      ];
      await lines().acquirePermits(line, [a, b], untilMs, 2);
      expect(await lines().passPermit(line, from, to, 1)).toBeUndefined();
      expect(await lines().passPermit(newLine(), from, to, 2)).toBeUndefined();
      await lines().releasePermit(line, b, untilMs);
      expect(await lines().passPermit(line, from, to, 1)).toEqual({ permits: new Map([[c, untilMs]]) });
    });

    test("one worker at a time waits for a place, until its time is over or it ends its wait", async () => {
      const line = newLine();
      const [a, b] = idsOf(2) as [string, string];
      const waits = (id: string, nowMs: number) => lines().awaitPermit(line, { id, untilMs: nowMs + 1_000 }, nowMs);
      const waiting = await Promise.all(Array.from({ length: 5 }, (_, n) => waits(`${a}${n}`, untilMs)));
      expect(waiting.filter(Boolean)).toHaveLength(1);
      const first = `${a}${waiting.indexOf(true)}`;
      expect(await lines().state(line)).toEqual({
        permits: new Map(),
        successor: { id: first, untilMs: untilMs + 1_000 },
      });
      expect(await waits(b, untilMs + 999)).toBe(false);
      expect(await waits(b, untilMs + 1_000)).toBe(true);
      expect(await lines().endWait(line, first)).toBe(false);
      expect((await lines().state(line)).successor).toEqual({ id: b, untilMs: untilMs + 2_000 });
      expect(await lines().endWait(line, b)).toBe(true);
      expect(await lines().endWait(line, b)).toBe(false);
      expect(await lines().state(line)).toEqual({ permits: new Map() });
      expect(await lines().endWait(newLine(), b)).toBe(false);
    });

    test("a place is given to the worker that waits, by the one who knows its end, and once", async () => {
      const line = newLine();
      const [a, b, worker] = idsOf(3) as [string, string, string];
      const to = { id: worker, untilMs: untilMs + 7 };
      const give = (task: string, endsMs = untilMs) => lines().givePermit(line, { task, untilMs: endsMs }, to);
      await lines().acquirePermits(line, [a], untilMs, 2);
      expect(await give(a)).toBe(false);
      await lines().awaitPermit(line, { id: worker, untilMs: untilMs + 1_000 }, untilMs);
      const other = { task: b, untilMs: untilMs + 3 };
      const passed = await lines().passPermit(line, { task: a, untilMs }, other, 2);
      expect(passed?.successor).toEqual({ id: worker, untilMs: untilMs + 1_000 });
      expect(await give(a)).toBe(false);
      expect(await give(b)).toBe(false);
      expect(await lines().givePermit(line, other, { id: a, untilMs })).toBe(false);
      expect(await placesIn(line)).toEqual({ [b]: untilMs + 3 });
      const given = await Promise.all(Array.from({ length: 5 }, () => give(b, untilMs + 3)));
      expect(given.filter(Boolean)).toHaveLength(1);
      expect(await lines().state(line)).toEqual({ permits: new Map([[worker, untilMs + 7]]) });
      expect(await lines().endWait(line, worker)).toBe(false);
      const next = { task: a, untilMs: untilMs + 9 };
      expect(await lines().passPermit(line, { task: worker, untilMs: untilMs + 7 }, next, 1)).toEqual({
        permits: new Map([[a, untilMs + 9]]),
      });
    });

    test("the state after a place was taken back is the whole state", async () => {
      const line = newLine();
      await lines().acquirePermits(line, ["a"], untilMs, 1);
      await lines().acquireTokens(line, undefined, 7);
      await lines().planCheck(line, { id: "check", atMs: 8 }, undefined);
      const state = { permits: new Map(), nextTokenMs: 7, check: { id: "check", atMs: 8 } };
      expect(await lines().releasePermit(line, "a", untilMs)).toMatchObject(state);
      expect(await lines().state(line)).toMatchObject(state);
      expect(await lines().acquirePermits(line, ["a"], untilMs, 1)).toBe(true);
    });

    test("the states of many lines are read together, in their order", async () => {
      const some = Array.from({ length: 130 }, newLine);
      const [first, last] = [some[0], some[129]] as [string, string];
      await lines().acquirePermits(first, ["a"], untilMs, 1);
      await lines().acquirePermits(last, ["b"], untilMs + 1, 1);
      const states = await lines().states([...some, first]);
      expect(states).toHaveLength(131);
      expect(states[0]).toEqual({ permits: new Map([["a", untilMs]]) });
      expect(states[1]).toEqual({ permits: new Map() });
      expect(states[129]).toEqual({ permits: new Map([["b", untilMs + 1]]) });
      expect(states[130]).toEqual(states[0]);
      expect(await lines().states([last])).toEqual([states[129]]);
    });

    test("a task is reserved by one call of many, until it is released or the time is over", async () => {
      const line = newLine();
      const reserve = (taskId: string, nowMs: number) => lines().reserve(line, { taskId }, nowMs, nowMs + 1_000);
      const reserved = await Promise.all(Array.from({ length: 10 }, () => reserve("a", untilMs)));
      expect(reserved.filter(Boolean)).toHaveLength(1);
      expect(await reserve("b", untilMs)).toBe(true);
      expect(await reserve("a", untilMs + 999)).toBe(false);
      expect(await reserve("a", untilMs + 1_000)).toBe(true);
      await lines().release(line, { taskId: "a" });
      await lines().release(line, { taskId: "nobody" });
      expect(await reserve("a", untilMs + 1_001)).toBe(true);
      expect(await lines().state(line)).toEqual({ permits: new Map() });
      expect(await lines().first(line, 1)).toEqual([]);
    });

    test("a thousand tasks may have places", async () => {
      const line = newLine();
      const ids = idsOf(1_000);
      for (let from = 0; from < 1_000; from += 10) {
        expect(await lines().acquirePermits(line, ids.slice(from, from + 10), untilMs, 1_000)).toBe(true);
      }
      expect(await lines().acquirePermits(line, idsOf(1), untilMs, 1_000)).toBe(false);
      expect((await lines().state(line)).permits.size).toBe(1_000);
    });
  });
}

/** The promises of the starts of a line. */
export function describeStarts(lines: () => WaitQueues): void {
  describe("starts", () => {
    test("starts are given away by the one who knows the next one", async () => {
      const line = newLine();
      expect(await lines().acquireTokens(line, 5, 6)).toBe(false);
      expect(await lines().acquireTokens(line, undefined, untilMs + 1000 / 3)).toBe(true);
      expect(await lines().acquireTokens(line, undefined, untilMs)).toBe(false);
      expect(await lines().acquireTokens(line, untilMs, untilMs + 9)).toBe(false);
      expect(await lines().state(line)).toEqual({ permits: new Map(), nextTokenMs: untilMs + 1000 / 3 });
      expect(await lines().acquireTokens(line, untilMs + 1000 / 3, untilMs + 1e-3)).toBe(true);
      expect((await lines().state(line)).nextTokenMs).toBe(untilMs + 1e-3);
    });

    test("the counted starts of a list of rates change with the next start, and only with it", async () => {
      const line = newLine();
      const starts = (count: number) => ({
        parts: { "60": [untilMs - 7, 3, untilMs, count], "86400": [untilMs, count] },
        free_ms: untilMs + 350,
        free_by: 60,
      });
      expect(await lines().acquireTokens(line, undefined, untilMs + 350, starts(1))).toBe(true);
      expect(await lines().acquireTokens(line, untilMs, untilMs + 700, starts(2))).toBe(false);
      expect((await lines().state(line)).starts).toEqual(starts(1));
      expect(await lines().acquireTokens(line, untilMs + 350, untilMs + 700, starts(2))).toBe(true);
      expect((await lines().state(line)).starts).toEqual(starts(2));
      // A process that knows of one rate leaves them as they are.
      expect(await lines().acquireToken(line, { nowMs: untilMs + 9_000, intervalMs: 350, aheadMs: 0 })).toBe(
        untilMs + 9_000,
      );
      expect(await lines().state(line)).toMatchObject({ nextTokenMs: untilMs + 9_350, starts: starts(2) });
    });

    test("a task takes the start of now, or one that is near, and none that is further away", async () => {
      const line = newLine();
      const want = { nowMs: untilMs, intervalMs: 1000 / 3, aheadMs: 400 };
      expect(await lines().acquireToken(line, want)).toBe(untilMs);
      expect(await lines().acquireToken(line, want)).toBeCloseTo(untilMs + 1000 / 3, 3);
      expect(await lines().acquireToken(line, want)).toBeUndefined();
      expect((await lines().state(line)).nextTokenMs).toBeCloseTo(untilMs + 2000 / 3, 3);
      const later = { ...want, nowMs: untilMs + 500 };
      expect(await lines().acquireToken(line, { ...later, knownMs: later.nowMs })).toBeCloseTo(untilMs + 2000 / 3, 3);
      // A rate that was not used saves nothing up.
      expect(await lines().acquireToken(line, { ...want, nowMs: untilMs + 60_000 })).toBe(untilMs + 60_000);
    });

    test("of twenty at the same time, each gets a start of its own", async () => {
      const line = newLine();
      const want = { nowMs: untilMs, intervalMs: 10, aheadMs: 1_000 };
      const taken = await Promise.all(Array.from({ length: 20 }, () => lines().acquireToken(line, want)));
      expect(taken.map(Number).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 20 }, (_, index) => untilMs + index * 10),
      );
    });

    test("starts that are taken together follow each other, of a rate that is free and of one that is not", async () => {
      const line = newLine();
      const want = { nowMs: untilMs, intervalMs: 10, aheadMs: 100 };
      expect(await lines().acquireToken(line, { ...want, count: 8 })).toBe(untilMs);
      expect(await lines().acquireToken(line, { ...want, count: 5 })).toBe(untilMs + 80);
      // The first of them may be as far away as it is, the others further.
      expect(await lines().acquireToken(line, { ...want, count: 2 })).toBeUndefined();
      expect((await lines().state(line)).nextTokenMs).toBe(untilMs + 130);
    });

    test.each([undefined, 5])("of twenty who have seen the same next start, one gets it (%s)", async (seenMs) => {
      const line = newLine();
      if (seenMs !== undefined) await lines().acquireTokens(line, undefined, seenMs);
      const ends = Array.from({ length: 20 }, (_, index) => untilMs + index);
      const taken = await Promise.all(ends.map((nextMs) => lines().acquireTokens(line, seenMs, nextMs)));
      expect(taken.filter(Boolean)).toHaveLength(1);
      expect((await lines().state(line)).nextTokenMs).toBe(ends[taken.indexOf(true)]);
    });
  });
}

/** The promises of the checks of lines, and of their list. */
export function describeChecks(lines: () => WaitQueues): void {
  describe("checks", () => {
    const checkOf = async (line: string) => (await lines().state(line)).check;
    /** Plans a check a second after the planned one. */
    const planNext = async (line: string, id: string) => {
      const seen = (await checkOf(line)) as PlannedCheck;
      expect(await lines().planCheck(line, { id, atMs: seen.atMs + 1_000 }, seen)).toBe(true);
    };

    test("a check is planned by the one who knows the planned one", async () => {
      const line = newLine();
      expect(await lines().planCheck(line, { id: "a", atMs: 1 }, { id: "none", atMs: 1 })).toBe(false);
      expect(await checkOf(line)).toBeUndefined();
      await lines().planCheck(line, { id: "a", atMs: 1 }, undefined);
      await lines().planCheck(line, { id: "b", atMs: 2 }, undefined);
      const seen = await checkOf(line);
      expect(seen).toMatchObject({ id: "a", atMs: 1 });
      expect(await lines().planCheck(line, { id: "b", atMs: 2 }, seen)).toBe(true);
      expect(await lines().planCheck(line, { id: "c", atMs: 3 }, seen)).toBe(false);
      expect(await checkOf(line)).toMatchObject({ id: "b", atMs: 2 });
    });

    test("the mark of tasks in shards is noted alone or with a check, and stays while one is planned", async () => {
      const line = newLine();
      expect(await lines().shard(line)).toEqual({ permits: new Map(), sharded: true });
      expect(await lines().shard(line)).toMatchObject({ sharded: true });
      await lines().unshard(line);
      await lines().unshard(line);
      expect((await lines().state(line)).sharded).toBeUndefined();
      await lines().planCheck(line, { id: "a", atMs: 1, sharded: true }, undefined);
      await lines().unshard(line);
      expect(await lines().state(line)).toMatchObject({ sharded: true, check: { id: "a", atMs: 1 } });
      await planNext(line, "b");
      await lines().endChecks(line, "b");
      expect((await lines().state(line)).sharded).toBe(true);
      await lines().unshard(line);
      expect((await lines().states([line, newLine()])).map(({ sharded }) => sharded)).toEqual([undefined, undefined]);
    });

    test("of twenty who plan a check at the same time, one does", async () => {
      const line = newLine();
      const checks = Array.from({ length: 20 }, (_, index) => ({ id: `c${index}`, atMs: index }));
      await Promise.all(checks.map((check) => lines().planCheck(line, check, undefined)));
      const { id, atMs } = (await checkOf(line)) as PlannedCheck;
      expect(checks).toContainEqual({ id, atMs });
      expect(await lines().list(line, 10)).toEqual([line]);
    });

    test("a line is listed from its first check until the checks end", async () => {
      const line = newLine();
      expect(await lines().list(line, 10)).toEqual([]);
      await lines().planCheck(line, { id: "a", atMs: 1 }, undefined);
      await planNext(line, "b");
      await lines().endChecks(line, "a");
      expect(await lines().list(line, 10)).toEqual([line]);
      expect(await checkOf(line)).toMatchObject({ id: "b" });
      await planNext(line, "c");
      await planNext(line, "d");
      expect(await lines().list(line, 10)).toEqual([line]);
      await lines().endChecks(line, "d");
      await lines().endChecks(line, "d");
      expect(await lines().list(line, 10)).toEqual([]);
      expect(await checkOf(line)).toBeUndefined();
      await lines().planCheck(line, { id: "e", atMs: 9 }, undefined);
      expect(await lines().list(line, 10)).toEqual([line]);
    });

    test("a line that takes part in nothing else has no checks to end", async () => {
      const line = newLine();
      await lines().endChecks(line, "a");
      expect(await lines().state(line)).toEqual({ permits: new Map() });
    });

    test("lines are listed by the start of their names, in order, up to a limit", async () => {
      const [start, other] = [newLine(), newLine()];
      const names = ["b", "", "a/b", "a", "#ä", ...Array.from({ length: 20 }, (_, n) => `key ${n}`)].map(
        (end) => `${start}${end}`,
      );
      for (const line of [...names, other]) await lines().planCheck(line, { id: "a", atMs: 1 }, undefined);
      expect(await lines().list(start, 100)).toEqual([...names].sort());
      expect(await lines().list(`${start}a`, 10)).toEqual([`${start}a`, `${start}a/b`]);
      expect(await lines().list(start, 7)).toEqual([...names].sort().slice(0, 7));
      expect(await lines().list(start.split("/").slice(0, 2).join("/"), 100)).toEqual([...names].sort());
    });
  });
}
