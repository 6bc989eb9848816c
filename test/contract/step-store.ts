import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { StepStore } from "../../src/core/ports/steps.ts";

/** An implementation of `StepStore`. */
export interface StepsUnderTest {
  steps: StepStore;
  close(): Promise<void>;
}

const purgeAt = 2_000_000_000;

/** The promises of the entries of tasks, for every implementation. */
export function describeStepStore(name: string, make: () => Promise<StepsUnderTest>): void {
  describe(name, { concurrent: true }, () => {
    let under: StepsUnderTest;
    beforeAll(async () => {
      under = await make();
    });
    afterAll(() => under.close());

    const fresh = () => ({
      tenant_id: "acme",
      task_id: randomUUID(),
      created_at: "2027-01-01T00:00:00.000Z",
    });
    const step = { kind: "step", name: "charge #1 ä", order: 1, sequential: true, value: '{"paid":7}' } as const;

    test("a task without entries has none", async () => {
      expect(await under.steps.load(fresh())).toEqual([]);
    });

    test("an entry is stored once, and a second one of its name returns the first", async () => {
      const owner = fresh();
      const stored = { ...step, purge_at: purgeAt };
      expect(await under.steps.add(owner, step, purgeAt)).toEqual(stored);
      expect(await under.steps.add(owner, { ...step, order: 2, value: "9" }, purgeAt + 1)).toEqual(stored);
      expect(await under.steps.load(owner)).toEqual([{ ...step, purge_at: purgeAt }]);
    });

    test("of twenty entries of one name that are added at the same time, all get the same one", async () => {
      const owner = fresh();
      const stored = await Promise.all(
        Array.from({ length: 20 }, (_, index) => under.steps.add(owner, { ...step, value: String(index) }, purgeAt)),
      );
      expect(new Set(stored.map(({ value }) => value)).size).toBe(1);
    });

    test("entries of one name and different kinds are different entries", async () => {
      const owner = fresh();
      const wait = { kind: "wait", name: "approved", order: 1, until: "2027-01-01T00:00:00.000Z" } as const;
      const signal = { kind: "signal", name: "approved", timed_out: true } as const;
      await under.steps.add(owner, wait, purgeAt);
      await under.steps.add(owner, signal, purgeAt);
      const entries = await under.steps.load(owner);
      expect(entries).toHaveLength(2);
      expect(entries).toEqual(
        expect.arrayContaining([
          { ...wait, purge_at: purgeAt },
          { ...signal, purge_at: purgeAt },
        ]),
      );
    });

    test("a task has neither the entries of another one nor those of an earlier task of its id", async () => {
      const owner = fresh();
      await under.steps.add(owner, step, purgeAt);
      expect(await under.steps.load({ ...owner, tenant_id: "globex" })).toEqual([]);
      expect(await under.steps.load({ ...owner, created_at: "2027-01-01T00:00:00.001Z" })).toEqual([]);
    });

    test("a task can have many large entries", async () => {
      const owner = fresh();
      const value = JSON.stringify("x".repeat(200_000));
      for (let index = 0; index < 8; index++) {
        await under.steps.add(owner, { kind: "step", name: `page ${index}`, value }, purgeAt);
      }
      const entries = await under.steps.load(owner);
      expect(entries.map((entry) => entry.name).sort()).toEqual(Array.from({ length: 8 }, (_, i) => `page ${i}`));
      expect(entries.every((entry) => entry.value === value)).toBe(true);
    });

    test("the state is replaced by later ones of the same attempt and of later attempts, and not by earlier ones", async () => {
      const owner = fresh();
      expect(await under.steps.saveState(owner, { attempt: 2, order: 1, value: "1" }, purgeAt)).toBe(true);
      expect(await under.steps.saveState(owner, { attempt: 2, order: 2, value: "2" }, purgeAt)).toBe(true);
      expect(await under.steps.saveState(owner, { attempt: 1, order: 3, value: "3" }, purgeAt)).toBe(false);
      expect(await under.steps.saveState(owner, { attempt: 3, order: 1, value: "4" }, purgeAt)).toBe(true);
      expect(await under.steps.load(owner)).toEqual([
        { kind: "state", name: "", attempt: 3, order: 1, value: "4", purge_at: purgeAt },
      ]);
    });

    test("a late repeat of a request does not bring an earlier state of the same attempt back", async () => {
      const owner = fresh();
      const first = { attempt: 1, order: 1, value: "1" };
      const second = { attempt: 1, order: 2, value: "2" };
      await under.steps.saveState(owner, first, purgeAt);
      expect(await under.steps.saveState(owner, second, purgeAt)).toBe(true);
      expect(await under.steps.saveState(owner, second, purgeAt)).toBe(true);
      expect(await under.steps.saveState(owner, first, purgeAt)).toBe(false);
      expect((await under.steps.load(owner)).map(({ value }) => value)).toEqual(["2"]);
    });

    test("entries are kept longer, and never shorter", async () => {
      const owner = fresh();
      await under.steps.add(owner, step, purgeAt);
      await under.steps.keep(owner, [step], purgeAt + 100);
      await under.steps.keep(owner, [step, { kind: "step", name: "none" }], purgeAt + 50);
      expect(await under.steps.load(owner)).toEqual([{ ...step, purge_at: purgeAt + 100 }]);
    });
  });
}
