import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { UniqueKey, UniqueKeys } from "../../src/core/ports/unique.ts";
import { envelopeOf, newRecord } from "../support/records.ts";

/** An implementation of `UniqueKeys`. */
export interface UniqueKeysUnderTest {
  keys: UniqueKeys;
  /** Epoch seconds until which a key is stored. */
  purgeAtOf(key: UniqueKey): Promise<number | undefined>;
  close(): Promise<void>;
}

const purgeAt = 2_000_000_000;

/** The promises of the keys of unique submits, for every implementation. */
export function describeUniqueKeys(name: string, make: () => Promise<UniqueKeysUnderTest>): void {
  describe(name, { concurrent: true }, () => {
    let under: UniqueKeysUnderTest;
    beforeAll(async () => {
      under = await make();
    });
    afterAll(() => under.close());

    const freshKey = () => ({ tenant_id: "acme", type: "report.daily", unique_key: randomUUID() });
    const freshTask = () => ({ task_id: randomUUID(), created_at: "2027-01-01T00:00:00.000Z" });

    test("a key that nobody took has no holder", async () => {
      expect(await under.keys.holder(freshKey())).toBeUndefined();
    });

    test("a key has the holder that took it, with its message until that is sent", async () => {
      const key = freshKey();
      const task = freshTask();
      const unsent = envelopeOf(newRecord(), { text: "ä \u0000 𝄞", nested: [null, { "": 1 }] });
      expect(await under.keys.take(key, { ...task, unsent }, undefined, purgeAt)).toBe(true);
      expect(await under.keys.holder(key)).toEqual({ ...task, unsent });
      await under.keys.sent(key, task);
      expect(await under.keys.holder(key)).toEqual(task);
      for (const other of [{ ...key, tenant_id: "globex" }, { ...key, type: "report.weekly" }, freshKey()]) {
        expect(await under.keys.holder(other)).toBeUndefined();
      }
    });

    test("of twenty tasks that take a free key at the same time, one gets it", async () => {
      const key = freshKey();
      const tasks = Array.from({ length: 20 }, freshTask);
      const taken = await Promise.all(tasks.map((task) => under.keys.take(key, task, undefined, purgeAt)));
      expect(taken.filter(Boolean)).toHaveLength(1);
      expect(await under.keys.holder(key)).toEqual(tasks[taken.indexOf(true)]);
    });

    test("a task takes the key of the holder that was seen, and of no other", async () => {
      const key = freshKey();
      const [first, second, third] = [freshTask(), freshTask(), freshTask()];
      expect(await under.keys.take(key, second, first, purgeAt)).toBe(false);
      await under.keys.take(key, first, undefined, purgeAt);
      expect(await under.keys.take(key, second, undefined, purgeAt)).toBe(false);
      expect(await under.keys.take(key, second, first, purgeAt)).toBe(true);
      expect(await under.keys.take(key, third, first, purgeAt)).toBe(false);
      expect(await under.keys.holder(key)).toEqual(second);
    });

    test("a later task with the id of the holder is another one", async () => {
      const key = freshKey();
      const first = freshTask();
      const later = { ...first, created_at: "2027-02-01T00:00:00.000Z" };
      await under.keys.take(key, first, undefined, purgeAt);
      expect(await under.keys.take(key, freshTask(), later, purgeAt)).toBe(false);
      expect(await under.keys.take(key, later, first, purgeAt)).toBe(true);
      expect(await under.keys.holder(key)).toEqual(later);
    });

    test("a task that takes its key again has it, whatever it saw", async () => {
      const key = freshKey();
      const [first, second] = [freshTask(), freshTask()];
      await under.keys.take(key, first, undefined, purgeAt);
      expect(await under.keys.take(key, first, undefined, purgeAt)).toBe(true);
      await under.keys.take(key, second, first, purgeAt);
      expect(await under.keys.take(key, second, first, purgeAt)).toBe(true);
      expect(await under.keys.take(key, first, undefined, purgeAt)).toBe(false);
    });

    test("nothing is stored for a task that has lost its key", async () => {
      const key = freshKey();
      const [first, second] = [freshTask(), freshTask()];
      const unsent = envelopeOf(newRecord());
      await under.keys.keep(key, first, purgeAt);
      await under.keys.sent(key, first);
      expect(await under.keys.holder(key)).toBeUndefined();
      await under.keys.take(key, first, undefined, purgeAt);
      await under.keys.take(key, { ...second, unsent }, first, purgeAt);
      await under.keys.sent(key, first);
      await under.keys.keep(key, first, purgeAt + 10);
      expect(await under.keys.holder(key)).toEqual({ ...second, unsent });
    });

    test("a key is kept for longer, never for less", async () => {
      const key = freshKey();
      const task = freshTask();
      await under.keys.take(key, task, undefined, purgeAt);
      for (const until of [purgeAt + 100, purgeAt, purgeAt + 100]) await under.keys.keep(key, task, until);
      expect(await under.keys.holder(key)).toEqual(task);
    });

    test("a late take for the same task keeps the key for no shorter a time", async () => {
      const key = freshKey();
      const task = freshTask();
      await under.keys.take(key, task, undefined, purgeAt);
      await under.keys.keep(key, task, purgeAt + 100);
      for (const seen of [undefined, task]) {
        expect(await under.keys.take(key, task, seen, purgeAt)).toBe(true);
        expect(await under.purgeAtOf(key)).toBe(purgeAt + 100);
      }
      expect(await under.keys.take(key, task, task, purgeAt + 200)).toBe(true);
      expect(await under.purgeAtOf(key)).toBe(purgeAt + 200);
      expect(await under.keys.take(key, freshTask(), undefined, purgeAt)).toBe(false);
    });

    test("a submit joins one task, and another one only in place of what was seen", async () => {
      const call = { tenant_id: "acme", type: "", unique_key: randomUUID() };
      const first = { ...freshTask(), request_hash: "hash", replaced: 0 };
      const later = { ...first, replaced: 1 };
      const second = { ...freshTask(), request_hash: "hash" };
      expect(await under.keys.take(call, first, second, purgeAt)).toBe(false);
      expect(await under.keys.take(call, first, undefined, purgeAt)).toBe(true);
      expect(await under.keys.holder(call)).toEqual(first);
      expect(await under.keys.take(call, second, undefined, purgeAt)).toBe(false);
      expect(await under.keys.take(call, second, later, purgeAt)).toBe(false);
      expect(await under.keys.take(call, later, second, purgeAt)).toBe(false);
      expect(await under.keys.take(call, first, second, purgeAt)).toBe(true);
      expect(await under.keys.take(call, second, first, purgeAt)).toBe(true);
      expect(await under.keys.holder(call)).toEqual(second);
      expect(await under.keys.take(call, later, second, purgeAt)).toBe(true);
      expect(await under.keys.holder(call)).toEqual(later);
    });
  });
}
