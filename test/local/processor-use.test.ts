import type { CpuInfo } from "node:os";
import { expect, test } from "vitest";
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
