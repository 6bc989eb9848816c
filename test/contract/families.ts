import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endText } from "../../src/core/model/family-node.ts";
import type { Families } from "../../src/core/ports/family.ts";

export interface FamiliesUnderTest {
  families: Families;
  close(): Promise<void>;
}

const purgeAt = Math.floor(Date.now() / 1000) + 86_400;
const newParent = (tenant_id = "acme") => ({ tenant_id, task_id: randomUUID() });

/** The promises of the families, for every implementation. */
export function describeFamilies(name: string, make: () => Promise<FamiliesUnderTest>): void {
  describe(name, () => {
    let under: FamiliesUnderTest;
    let families: Families;
    beforeAll(async () => {
      under = await make();
      families = under.families;
    });
    afterAll(() => under.close());

    test("a place that ends makes its node, and a repeat changes nothing", async () => {
      const parent = newParent();
      expect(await families.read(parent, "1.0")).toBeUndefined();
      expect(await families.end(parent, "1.0", 7, "c", purgeAt)).toEqual({ ended: { 7: "c" } });
      expect(await families.end(parent, "1.0", 7, "c", purgeAt)).toEqual({ ended: { 7: "c" } });
      expect(await families.end(parent, "1.0", 99, "f", purgeAt)).toEqual({ ended: { 7: "c", 99: "f" } });
      expect(await families.read(parent, "1.0")).toEqual({ ended: { 7: "c", 99: "f" } });
    });

    test("of two ends of a place the one that compares as greater stays, whichever is written last", async () => {
      const parent = newParent();
      const later = endText("completed", { family_round: 1, round: 2 });
      await families.end(parent, "1.0", 0, "f", purgeAt);
      expect(await families.end(parent, "1.0", 0, later, purgeAt)).toEqual({ ended: { 0: later } });
      expect(await families.end(parent, "1.0", 0, "f", purgeAt)).toEqual({ ended: { 0: later } });
      expect(await families.read(parent, "1.0")).toEqual({ ended: { 0: later } });
    });

    test("a seal keeps the ends, and the ends keep the seal", async () => {
      const parent = newParent();
      await families.end(parent, "1.0", 0, "c", purgeAt);
      const sealing = { members: "11", up: { node: "t1.1.0", place: 3 } };
      expect(await families.seal(parent, "1.0", sealing, 1, purgeAt)).toEqual({ ended: { 0: "c" }, ...sealing });
      expect(await families.end(parent, "1.0", 1, "x", purgeAt)).toEqual({ ended: { 0: "c", 1: "x" }, ...sealing });
    });

    test("a later attempt replaces a seal; an earlier one cannot", async () => {
      const parent = newParent();
      const above = { members: "11", below: ["1.0", "1.1"], up: { node: "t1.2.0", place: 0 } };
      expect(await families.seal(parent, "n", above, 1, purgeAt)).toEqual({ ended: {}, ...above });
      expect(await families.seal(parent, "n", { members: "1" }, 3, purgeAt)).toEqual({ ended: {}, members: "1" });
      expect(await families.seal(parent, "n", above, 2, purgeAt)).toBeUndefined();
      expect(await families.seal(parent, "n", { members: "1" }, 3, purgeAt)).toEqual({ ended: {}, members: "1" });
      expect(await families.read(parent, "n")).toEqual({ ended: {}, members: "1" });
    });

    test("a hundred children may end at once", async () => {
      const parent = newParent();
      const places = Array.from({ length: 100 }, (_, place) => place);
      await families.seal(parent, "1.0", { members: "1".repeat(100) }, 1, purgeAt);
      const nodes = await Promise.all(places.map((place) => families.end(parent, "1.0", place, "c", purgeAt)));
      const full = nodes.filter(({ ended }) => Object.keys(ended).length === 100);
      expect(full.length).toBeGreaterThan(0);
      expect(Object.keys((await families.read(parent, "1.0"))?.ended ?? {})).toHaveLength(100);
    });

    test("a leaf keeps the round of its seal, until a seal without one", async () => {
      const parent = newParent();
      const node = await families.seal(parent, "0", { members: "1", round: 2 }, 1, purgeAt);
      expect(node).toEqual({ ended: {}, members: "1", round: 2 });
      expect(await families.seal(parent, "0", { members: "1" }, 2, purgeAt)).toEqual({ ended: {}, members: "1" });
    });

    test("a leaf of a family that stops says so at each end, until a seal of one that does not", async () => {
      const parent = newParent();
      const sealing = { members: "11", stops: true } as const;
      expect(await families.seal(parent, "0", sealing, 1, purgeAt)).toEqual({ ended: {}, ...sealing });
      expect(await families.end(parent, "0", 1, "f", purgeAt)).toEqual({ ended: { 1: "f" }, ...sealing });
      expect(await families.seal(parent, "0", { members: "11" }, 2, purgeAt)).toEqual({
        ended: { 1: "f" },
        members: "11",
      });
    });

    test("families of other parents, tenants and lives are apart", async () => {
      const parent = newParent();
      const family = { ...parent, life: "a" };
      await families.end(parent, "1.0", 0, "c", purgeAt);
      await families.savePage(family, 0, { first: 0, keys: [null], prints: "abcdef", attempt: 1 }, 0, purgeAt);
      for (const other of [newParent(), { ...parent, tenant_id: "globex" }]) {
        expect(await families.read(other, "1.0")).toBeUndefined();
        expect(await families.pages({ ...other, life: "a" }, 0)).toEqual([]);
      }
      expect(await families.pages({ ...parent, life: "b" }, 0)).toEqual([]);
    });

    const page = (keys: (string | null)[], attempt = 1, first = 0) => ({
      first,
      keys,
      prints: "abcdef".repeat(keys.length),
      attempt,
    });

    test("pages are read in their order, from any number on", async () => {
      const family = { ...newParent(), life: "a" };
      const keys = ["ada@example.com", null, "ключ \u0000 \ud83e\uddfe"];
      for (const number of [11, 9, 10]) await families.savePage(family, number, page(keys, 1, 500), 0, purgeAt);
      const stored = { ...page(keys, 1, 500), created: 0, round: 0, purge_at: purgeAt };
      expect(await families.pages(family, 10)).toEqual([10, 11].map((number) => ({ ...stored, number })));
      expect(await families.pages(family, 9, 1)).toEqual([{ ...stored, number: 9 }]);
      expect(await families.pages(family, 12)).toEqual([]);
    });

    test("children are added to the page that the writer knows, by no earlier attempt than its last writer", async () => {
      const family = { ...newParent(), life: "a" };
      const save = (keys: (string | null)[], before: number, attempt: number) =>
        families.savePage(family, 0, page(keys, attempt), before, purgeAt);
      expect(await save([null], 1, 1)).toBe(false);
      expect(await save([null, null], 0, 2)).toBe(true);
      expect(await save([null, null], 0, 3)).toBe(false);
      expect(await save([null, null, "x"], 2, 1)).toBe(false);
      expect(await save([null, null, "x"], 2, 2)).toBe(true);
      expect(await save([null, null, "x", null], 3, 4)).toBe(true);
      expect(await families.pages(family, 0)).toMatchObject([{ keys: [null, null, "x", null], attempt: 4 }]);
    });

    test("the note of the created children goes up only, and stays when children are added", async () => {
      const family = { ...newParent(), life: "a" };
      await families.notePage(family, 0, 1, 1);
      expect(await families.pages(family, 0)).toEqual([]);
      await families.savePage(family, 0, page([null, null]), 0, purgeAt);
      const noted = async (created: number, round: number) => {
        await families.notePage(family, 0, created, round);
        const [stored] = await families.pages(family, 0);
        return [stored?.created, stored?.round];
      };
      expect(await noted(2, 1)).toEqual([2, 1]);
      expect(await noted(1, 1)).toEqual([2, 1]);
      expect(await noted(1, 2)).toEqual([1, 2]);
      expect(await noted(2, 1)).toEqual([1, 2]);
      await families.savePage(family, 0, page([null, null, null]), 2, purgeAt);
      expect(await families.pages(family, 0)).toMatchObject([{ created: 1, round: 2, keys: [null, null, null] }]);
    });

    test("a page is kept for longer, and never for less long", async () => {
      const family = { ...newParent(), life: "a" };
      await families.savePage(family, 0, page([null]), 0, purgeAt);
      await families.keep(family, 0, "a.0", purgeAt + 10);
      await families.keep(family, 0, "a.0", purgeAt + 5);
      await families.keep(family, 1, "a.1", purgeAt + 5);
      expect(await families.pages(family, 0)).toMatchObject([{ number: 0, purge_at: purgeAt + 10 }]);
    });
  });
}
