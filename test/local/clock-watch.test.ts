import { expect, test } from "vitest";
import { clockLooks } from "../../src/local/time/clock-watch.ts";

/** A machine whose clock can be set. */
function machine() {
  const lines: string[] = [];
  const ms = { wall: Date.UTC(2027, 0, 1, 12), elapsed: 5_000 };
  const look = clockLooks((line) => lines.push(line), { wall: () => ms.wall, elapsed: () => ms.elapsed });
  const pass = (passedMs: number, setMs = 0) => {
    ms.wall += passedMs + setMs;
    ms.elapsed += passedMs;
    look();
  };
  return { lines, pass };
}

test("a clock that is set back is told once, with the time until which everything waits", () => {
  const { lines, pass } = machine();
  pass(10_000);
  pass(10_000, -3_600_000);
  pass(10_000);
  expect(lines).toEqual([expect.stringMatching(/set back by 3600 s\. .* waits until 2027-01-01T12:00:20\.000Z/)]);
  pass(10_000, -7_200_000);
  expect(lines).toHaveLength(2);
});

test("small steps back are told when they add up, and steps forward are not told", () => {
  const { lines, pass } = machine();
  pass(10_000, -20_000);
  pass(10_000, 3_600_000);
  expect(lines).toEqual([]);
  pass(10_000, -20_000);
  pass(10_000, -20_000);
  expect(lines).toHaveLength(1);
});
