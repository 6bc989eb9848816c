import { expect, test } from "vitest";
import { Heap } from "../../../src/util/heap.ts";
import fc from "../../support/fast-check.ts";

test("the heap returns the first item after any puts, changes and deletes", () => {
  const steps = fc.array(fc.tuple(fc.nat(20), fc.option(fc.nat(100))), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (changes) => {
      const items = Array.from({ length: 21 }, () => ({ rank: 0 }));
      const heap = new Heap<{ rank: number }>((a, b) => a.rank < b.rank);
      const model = new Set<{ rank: number }>();
      for (const [index, rank] of changes) {
        const item = items[index] as { rank: number };
        if (rank === null) {
          heap.delete(item);
          model.delete(item);
        } else {
          item.rank = rank;
          heap.put(item);
          model.add(item);
        }
        expect(heap.size).toBe(model.size);
        if (model.size > 0) expect(heap.first()?.rank).toBe(Math.min(...[...model].map((each) => each.rank)));
      }
    }),
  );
});
