import type { CpuInfo } from "node:os";
import { expect, test } from "vitest";
import { growth } from "../../src/local/workers/growth.ts";
import { processorUse } from "../../src/local/workers/processor-use.ts";

const processor = (user: number, idle: number): CpuInfo => ({
  model: "",
  speed: 0,
  times: { user, nice: 0, sys: 0, idle, irq: 0 },
});

test("tells the share of the processors' time in use since the last call, and the same again when no time has passed", () => {
  let now = [processor(0, 0), processor(500, 500)];
  const share = processorUse(() => now);
  expect(share()).toBe(0);
  now = [processor(100, 0), processor(550, 550)];
  expect(share()).toBe(0.75);
  expect(share()).toBe(0.75);
  now = [processor(100, 100), processor(550, 650)];
  expect(share()).toBe(0);
});

/** After how many looks, one each 150 ms, another process starts, by the use of the processors at each. */
function looksUntilGrowth(...uses: number[]): number {
  const isDue = growth(() => uses.shift() ?? 1);
  for (let looks = 1; ; looks++) if (isDue()) return looks;
}

test("another process starts at once on a calm machine, and on a busy one when it is calm, or after 2 s", () => {
  expect(looksUntilGrowth(0.5)).toBe(1);
  expect(looksUntilGrowth(0.9, 0.5, 0.5)).toBe(3);
  // A burst of short tasks has gaps.
  expect(looksUntilGrowth(0.9, 0.5, 0.9, 0.5, 0.9, 0.5, 0.5)).toBe(7);
  expect(looksUntilGrowth()).toBe(14);
});
