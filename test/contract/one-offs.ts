import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { iso } from "../../src/core/model/record.ts";
import { oneOffName } from "../../src/core/pipeline/send/dispatch.ts";
import type { FirePayload, OneOffs } from "../../src/core/ports/tasks.ts";

/** What a test needs of an implementation of `OneOffs`. */
export interface OneOffsUnderTest {
  oneOffs: OneOffs;
  now(): number;
  /** Moves time on, and gives what fired on the way. */
  elapse(seconds: number): Promise<FirePayload[]>;
  close(): Promise<void>;
}

/** The promises of one-off schedules, for every implementation. Its tests share one time, so they run one by one. */
export function describeOneOffs(name: string, make: () => Promise<OneOffsUnderTest>): void {
  describe(name, () => {
    let under: OneOffsUnderTest;
    beforeAll(async () => {
      under = await make();
    });
    afterAll(() => under.close());

    /** A one-off of a fresh task, so many seconds ahead. */
    const fresh = (seconds: number) => {
      const payload: FirePayload = { kind: "task", tenant_id: "acme", task_id: randomUUID() };
      const at = under.now() + seconds * 1000;
      return { name: oneOffName(payload.task_id, 1, at), at: iso(at), payload };
    };

    test("a one-off fires once, at its time and not before, with its payload", async () => {
      const oneOff = fresh(3600);
      await under.oneOffs.create(oneOff);
      expect(await under.elapse(3599)).toEqual([]);
      expect(await under.elapse(1)).toEqual([oneOff.payload]);
      expect(await under.elapse(86_400)).toEqual([]);
    });

    test("a one-off can wait for weeks", async () => {
      const oneOff = fresh(15 * 86_400);
      await under.oneOffs.create(oneOff);
      expect(await under.elapse(14 * 86_400)).toEqual([]);
      expect(await under.elapse(86_400)).toEqual([oneOff.payload]);
    });

    test("creating a one-off of the same name again changes nothing", async () => {
      const oneOff = fresh(100);
      await under.oneOffs.create(oneOff);
      await under.oneOffs.create({
        ...oneOff,
        at: iso(under.now() + 10_000),
        payload: { ...oneOff.payload, tenant_id: "x" },
      });
      expect(await under.elapse(99)).toEqual([]);
      expect(await under.elapse(1)).toEqual([oneOff.payload]);
    });

    test("a one-off is gone once it has fired, so that its name is free again", async () => {
      const first = fresh(10);
      await under.oneOffs.create(first);
      await under.elapse(10);
      const second = { ...first, at: iso(under.now() + 10_000) };
      await under.oneOffs.create(second);
      expect(await under.elapse(10)).toEqual([first.payload]);
    });

    test("a deleted one-off never fires", async () => {
      const oneOff = fresh(10);
      await under.oneOffs.create(oneOff);
      await under.oneOffs.delete(oneOff.name);
      expect(await under.elapse(100)).toEqual([]);
      await under.oneOffs.create({ ...oneOff, at: iso(under.now() + 10_000) });
      expect(await under.elapse(10)).toEqual([oneOff.payload]);
    });

    test("a one-off can be deleted twice, or when it does not exist", async () => {
      const oneOff = fresh(10);
      await under.oneOffs.delete(oneOff.name);
      await under.oneOffs.create(oneOff);
      await under.oneOffs.delete(oneOff.name);
      await under.oneOffs.delete(oneOff.name);
      expect(await under.elapse(10)).toEqual([]);
    });

    test("many one-offs fire, each at its own time", async () => {
      const oneOffs = Array.from({ length: 20 }, (_, index) => fresh(60 + index * 60));
      await Promise.all(oneOffs.map((oneOff) => under.oneOffs.create(oneOff)));
      const fired: FirePayload[] = [];
      for (let minute = 0; minute < 21; minute++) fired.push(...(await under.elapse(60)));
      expect(fired).toEqual(oneOffs.map(({ payload }) => payload));
    });
  });
}
