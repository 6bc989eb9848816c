import { afterEach, beforeEach, expect, test } from "vitest";
import { catchStrayErrors } from "../../src/machine/stray-errors.ts";
import { turn } from "../../src/machine/turn.ts";

let told: unknown[] = [];
let release = () => {};

beforeEach(() => {
  told = [];
  release = catchStrayErrors({ own: (error) => told.push(error) });
});

afterEach(() => release());

test("callers before a turn of the event loop wait for the same one", async () => {
  const first = turn();
  await Promise.resolve();
  expect(turn()).toBe(first);
  await first;
  expect(turn()).not.toBe(first);
});

test("a rejection that nobody awaits is told of before the turn resolves, also to a caller that joins others", async () => {
  const first = turn();
  await Promise.resolve();
  void Promise.reject("nobody awaits this");
  await turn();
  expect(told).toEqual(["nobody awaits this"]);
  await first;
});

test("a caller in a turn waits for the next one, and for rejections of that one", async () => {
  const order: string[] = [];
  const one = turn().then(async () => {
    order.push("one");
    void Promise.reject("of one");
    await turn();
    expect(told).toContain("of one");
  });
  const other = turn().then(() => order.push("other"));
  await Promise.all([one, other]);
  expect(order).toEqual(["one", "other"]);
});
