import { describe, expect, test } from "vitest";
import { simulate } from "./simulate.ts";

/** What a failing seed says, with the way to see its story. */
async function faultsOf(seed: number): Promise<string[]> {
  const { violations } = await simulate(seed);
  return violations.map(({ text }) => `${text} (npm run test:simulate -- --seed ${seed})`);
}

const seeds = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);

describe("the promises under crashes, failures, repeats and delays", () => {
  test.each([1, 101, 201, 301, 401])("the promises hold in the hundred worlds from seed %i", async (first) => {
    for (const seed of seeds(first, 100)) expect(await faultsOf(seed)).toEqual([]);
  });
});

test("a seed gives the same story every time", async () => {
  const [first, again, other] = [
    await simulate(7, { tell: true }),
    await simulate(7, { tell: true }),
    await simulate(8, { tell: true }),
  ];
  expect(again.story).toEqual(first.story);
  expect(other.story).not.toEqual(first.story);
});

test("the worlds are not empty: tasks run, attempts fail, and things go wrong", async () => {
  let text = "";
  for (const seed of seeds(1, 40)) text += (await simulate(seed, { tell: true })).story.join("\n");
  for (const sign of [
    "history+1:completed",
    "history+1:retried",
    "history+1:crashed",
    "history+1:timed_out",
    "✝",
    "✗ refused",
    "buries",
    "stores step:",
    "stores sleep:",
    "stores wait:",
    "stores signal:",
    "stores the state",
    "waiting_for=",
  ]) {
    expect(text).toContain(sign);
  }
});
