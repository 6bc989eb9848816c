import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { intervalMs, type Release, type Waits } from "../../src/core/control/task-ends.ts";

export interface WaitsUnderTest {
  /** @param places Number of places of the deployment. The places of earlier calls stay taken. */
  make(places: number): Waits;
  close(): Promise<void>;
}

/** The promises of the places of waiting requests, for every implementation. */
export function describeWaits(name: string, start: () => Promise<WaitsUnderTest>): void {
  describe(name, () => {
    let under: WaitsUnderTest;
    /** Start of an interval. Each test has intervals of its own. */
    let now = 1_800_000 * intervalMs;
    beforeAll(async () => {
      under = await start();
    });
    afterAll(() => under.close());

    const fresh = (places: number): Waits => {
      now += 10 * intervalMs;
      return under.make(places);
    };
    const taken = (admitted: readonly (Release | undefined)[]) => admitted.filter((release) => release !== undefined);

    test("there are as many places as configured, also for requests at the same time", async () => {
      const waits = fresh(6);
      const tenants = ["acme", "globex", "initech", "umbrella"];
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, index) => waits.admit(tenants[index % 4] ?? "", now + index)),
      );
      expect(taken(all)).toHaveLength(6);
      expect(await waits.admit("hooli", now + 100)).toBeUndefined();
    });

    test("a place that is given back can be taken again", async () => {
      const waits = fresh(2);
      const release = await waits.admit("acme", now);
      expect(await waits.admit("acme", now)).toBeUndefined();
      await release?.();
      expect(await waits.admit("acme", now)).toBeDefined();
      expect(await waits.admit("acme", now)).toBeUndefined();
    });

    test("a tenant has at most half of the places, and leaves the others to other tenants", async () => {
      const waits = fresh(5);
      const all = await Promise.all(Array.from({ length: 9 }, () => waits.admit("acme", now)));
      expect(taken(all)).toHaveLength(3);
      expect(taken([await waits.admit("globex", now), await waits.admit("globex", now)])).toHaveLength(2);
    });

    test("a single place can be taken", async () => {
      const waits = fresh(1);
      expect(await waits.admit("acme", now)).toBeDefined();
      expect(await waits.admit("globex", now)).toBeUndefined();
    });

    test("without places nothing can be taken", async () => {
      expect(await fresh(0).admit("acme", now)).toBeUndefined();
    });

    test("a place stays taken in the next interval, for all tenants and for its own", async () => {
      const waits = fresh(4);
      const release = await waits.admit("acme", now + intervalMs - 1);
      await waits.admit("acme", now + intervalMs - 1);
      const next = now + intervalMs;
      expect(await waits.admit("acme", next)).toBeUndefined();
      expect(await waits.admit("globex", next)).toBeDefined();
      await release?.();
      expect(await waits.admit("acme", next)).toBeDefined();
      expect(await waits.admit("globex", next)).toBeDefined();
      expect(await waits.admit("initech", next)).toBeUndefined();
    });

    test("a place that is not given back is free again after the next interval", async () => {
      const waits = fresh(2);
      await waits.admit("acme", now);
      expect(await waits.admit("acme", now + 2 * intervalMs - 1)).toBeUndefined();
      expect(await waits.admit("acme", now + 2 * intervalMs)).toBeDefined();
    });

    test("a place that is given back late frees no other place", async () => {
      const waits = fresh(2);
      const release = await waits.admit("acme", now);
      const later = now + 2 * intervalMs;
      await waits.admit("acme", later);
      await release?.();
      expect(await waits.admit("acme", later)).toBeUndefined();
    });
  });
}
