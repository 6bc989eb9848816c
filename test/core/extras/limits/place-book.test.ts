import { expect, test } from "vitest";
import { orderOf, PlaceBook } from "../../../../src/core/extras/limits/place-book.ts";
import { FakeClock } from "../../../../src/memory/clock.ts";

const task = (second: number) => ({ createdAt: new Date(second * 1000).toISOString(), taskId: `t${second}` });

/** A line of tasks, each submitted a second after the one before it, and a count of the entries that were read. */
function setUp(count: number) {
  const clock = new FakeClock(1_000_000);
  const orders = Array.from({ length: count }, (_, n) => orderOf(task(n)));
  const reads: number[] = [];
  const book = new PlaceBook(clock, {
    orders: async (_line, limit, after = "") => {
      const found = orders.filter((order) => order > after).slice(0, limit);
      reads.push(found.length);
      return found;
    },
    holderOf: async () => undefined,
    startsOf: async () => undefined,
    isSharded: async () => false,
  });
  const placeOf = (second: number) => book.placeOf("line", task(second));
  return { clock, orders, reads, placeOf };
}

test("places are exact up to 100, and null beyond", async () => {
  const { placeOf } = setUp(150);
  expect(await Promise.all([0, 1, 99].map(placeOf))).toEqual([1, 2, 100]);
  expect(await Promise.all([100, 120, 149].map(placeOf))).toEqual([null, null, null]);
});

test("a thousand polls within five seconds count the line once; later ones look at its first task", async () => {
  const { placeOf, reads, clock, orders } = setUp(150);
  for (let n = 0; n < 1_000; n++) await placeOf(n % 100);
  expect(reads).toEqual([101]);
  orders.splice(0, 30);
  expect(await placeOf(50)).toBe(51);
  await clock.advance(5_000);
  expect(await placeOf(50)).toBe(21);
  expect(await placeOf(30)).toBe(1);
  expect(reads).toEqual([101, 1]);
});

test("tasks that are added behind the others are read alone, each once", async () => {
  const { placeOf, reads, orders } = setUp(3);
  expect(await placeOf(2)).toBe(3);
  orders.push(orderOf(task(3)), orderOf(task(4)));
  expect([await placeOf(3), await placeOf(4), await placeOf(1)]).toEqual([4, 5, 2]);
  expect(reads).toEqual([3, 2]);
});

test("a task that comes before the others is first, five seconds later; one between them counts after a minute", async () => {
  const { placeOf, clock, orders } = setUp(150);
  orders.splice(0, 10);
  expect(await placeOf(20)).toBe(11);
  orders.unshift(orderOf(task(5)));
  await clock.advance(5_000);
  expect([await placeOf(5), await placeOf(20)]).toEqual([1, 12]);
  orders.splice(3, 0, `${task(11).createdAt}#z`);
  await clock.advance(60_000);
  expect(await placeOf(20)).toBe(13);
});

test("a line that has moved on by more than a hundred tasks is counted anew", async () => {
  const { placeOf, clock, orders } = setUp(300);
  expect(await placeOf(150)).toBeNull();
  orders.splice(0, 140);
  await clock.advance(5_000);
  expect(await placeOf(150)).toBe(11);
});
