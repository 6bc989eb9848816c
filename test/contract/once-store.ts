import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Counters, OnceStore } from "../../src/core/ports/tasks.ts";

/** What a test needs of an implementation of `OnceStore` and of `Counters`. */
export interface OnceUnderTest {
  once: OnceStore;
  counters: Counters;
  close(): Promise<void>;
}

const start = Date.parse("2027-01-01T00:00:00.000Z");
const at = (seconds: number) => new Date(start + seconds * 1000).toISOString();
const kept = start / 1000 + 1_000_000;

/** The answer to every caller after an owner has stored its outcome. */
const done = (owner: string, value: unknown) => ({ state: "done", value, owner, purgeAt: kept });

/** The promises of once-only side effects, for every implementation. */
export function describeOnceStore(name: string, make: () => Promise<OnceUnderTest>): void {
  describe(name, { concurrent: true }, () => {
    let under: OnceUnderTest;
    beforeAll(async () => {
      under = await make();
    });
    afterAll(() => under.close());

    /** A key of a fresh tenant, which callers hold for 30 s unless they say otherwise. */
    const freshKey = () => {
      const id = { tenantId: `tenant-${randomUUID()}`, key: "k#1 ä" };
      return {
        id,
        begin: (owner: string, second = 0, purgeAt = kept) =>
          under.once.begin({ ...id, owner, nowIso: at(second), untilIso: at(second + 30), purgeAt }),
        finish: (owner: string, value: unknown) => under.once.finish({ ...id, owner, value, purgeAt: kept }),
        release: (owner: string) => under.once.release({ ...id, owner }),
      };
    };

    test("the first caller that begins holds the key, and others get busy", async () => {
      const { begin } = freshKey();
      expect(await begin("a")).toEqual({ state: "mine" });
      expect(await begin("b")).toEqual({ state: "busy" });
    });

    test("one of twenty callers that begin at the same time holds the key", async () => {
      const { begin } = freshKey();
      const states = await Promise.all(Array.from({ length: 20 }, (_, index) => begin(`owner-${index}`)));
      expect(states.filter(({ state }) => state === "mine")).toHaveLength(1);
      expect(states.filter(({ state }) => state === "busy")).toHaveLength(19);
    });

    test("the holder may begin again, as after a lost answer", async () => {
      const { begin, finish } = freshKey();
      await begin("a");
      expect(await begin("a")).toEqual({ state: "mine" });
      expect(await finish("a", 1)).toBe(true);
    });

    test.each([
      [{ a: [1, null, "ä"] }],
      ["text"],
      [""],
      [0],
      [null],
      [false],
      [undefined],
      [{ n: 1e300, deep: [[[[[[]]]]]], "": 1 }],
    ])("the outcome %j is returned to all callers from then on, with its owner and its time", async (value) => {
      const { begin, finish } = freshKey();
      await begin("a");
      expect(await finish("a", value)).toBe(true);
      expect(await begin("a")).toEqual(done("a", value));
      expect(await begin("b", 1_000)).toEqual(done("a", value));
    });

    test("only the holder can store an outcome, and only once", async () => {
      const { begin, finish } = freshKey();
      expect(await finish("a", 0)).toBe(false);
      await begin("a");
      expect(await finish("b", 1)).toBe(false);
      expect(await finish("a", 2)).toBe(true);
      expect(await finish("a", 3)).toBe(false);
      expect(await begin("c")).toEqual(done("a", 2));
    });

    test("a key that was given up is free again", async () => {
      const { begin, release } = freshKey();
      await begin("a");
      await release("a");
      expect(await begin("b")).toEqual({ state: "mine" });
    });

    test("only the holder can give the key up, and only before there is an outcome", async () => {
      const { begin, finish, release } = freshKey();
      await release("a");
      await begin("a");
      await release("b");
      expect(await begin("b")).toEqual({ state: "busy" });
      await finish("a", 1);
      await release("a");
      expect(await begin("b")).toEqual(done("a", 1));
    });

    test("a key whose time is over can be taken, and its former holder cannot store any more", async () => {
      const { begin, finish, release } = freshKey();
      await begin("a", 0);
      expect(await begin("b", 29.999)).toEqual({ state: "busy" });
      expect(await begin("b", 30)).toEqual({ state: "mine" });
      expect(await finish("a", "late")).toBe(false);
      await release("a");
      expect(await begin("c", 31)).toEqual({ state: "busy" });
      expect(await finish("b", "newer")).toBe(true);
      expect(await begin("a", 32)).toEqual(done("b", "newer"));
    });

    test("a late holder can still store its outcome when no other caller took the key", async () => {
      const { begin, finish } = freshKey();
      await begin("a");
      expect(await finish("a", 1)).toBe(true);
      expect(await begin("b", 1_000)).toEqual(done("a", 1));
    });

    test("an outcome whose purge time has come counts as gone", async () => {
      const { id, begin } = freshKey();
      const purgeAt = start / 1000 + 100;
      await begin("a", 0, purgeAt);
      await under.once.finish({ ...id, owner: "a", value: 1, purgeAt });
      expect(await begin("b", 99)).toEqual({ ...done("a", 1), purgeAt });
      expect(await begin("b", 100)).toEqual({ state: "mine" });
    });

    test("the same key of another tenant, and another key, are separate", async () => {
      const [a, b] = [freshKey(), freshKey()];
      await a.begin("x");
      await a.finish("x", 1);
      expect(await b.begin("x")).toEqual({ state: "mine" });
      const other = { ...a.id, key: "other", owner: "y", nowIso: at(0), untilIso: at(30), purgeAt: kept };
      expect(await under.once.begin(other)).toEqual({ state: "mine" });
    });

    describe("a counter", () => {
      test("a counter counts each idempotency key once, also at the same time", async () => {
        const tenant = `tenant-${randomUUID()}`;
        const counts = await Promise.all(
          Array.from({ length: 10 }, (_, index) => under.counters.add(tenant, "c", `k${index}`)),
        );
        expect(Math.max(...counts)).toBe(10);
        expect(await under.counters.add(tenant, "c", "k3")).toBe(10);
        expect(await under.counters.add(tenant, "c", "k10")).toBe(11);
      });

      test("a counter of another tenant or name is separate", async () => {
        const [a, b] = [`tenant-${randomUUID()}`, `tenant-${randomUUID()}`];
        expect(await under.counters.add(a, "c", "k")).toBe(1);
        expect(await under.counters.add(b, "c", "k")).toBe(1);
        expect(await under.counters.add(a, "d", "k")).toBe(1);
      });
    });
  });
}
