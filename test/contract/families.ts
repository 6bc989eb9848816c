import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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

    test("a later end of a place replaces the earlier one", async () => {
      const parent = newParent();
      await families.end(parent, "1.0", 0, "f", purgeAt);
      expect(await families.end(parent, "1.0", 0, "c", purgeAt)).toEqual({ ended: { 0: "c" } });
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

    test("families of other parents and tenants are apart", async () => {
      const parent = newParent();
      await families.end(parent, "1.0", 0, "c", purgeAt);
      await families.savePage(parent, "1.0", { first: 0, keys: [null] }, purgeAt);
      for (const other of [newParent(), { ...parent, tenant_id: "globex" }]) {
        expect(await families.read(other, "1.0")).toBeUndefined();
        expect(await families.loadPage(other, "1.0")).toBeUndefined();
      }
    });

    test("a page is loaded as it was stored last", async () => {
      const parent = newParent();
      expect(await families.loadPage(parent, "2.5")).toBeUndefined();
      await families.savePage(parent, "2.5", { first: 500, keys: [null, null] }, purgeAt);
      expect(await families.loadPage(parent, "2.5")).toEqual({ first: 500, keys: [null, null] });
      const keys = ["ada@example.com", null, "ключ \u0000 \ud83e\uddfe"];
      await families.savePage(parent, "2.5", { first: 500, keys }, purgeAt);
      expect(await families.loadPage(parent, "2.5")).toEqual({ first: 500, keys });
    });
  });
}
