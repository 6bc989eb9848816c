import { describe, expect, test } from "vitest";
import { FakeClock } from "../../src/memory/clock.ts";
import { protectWhileRunning } from "../../src/work/protect-container.ts";

const secondMs = 1_000;

function setUp() {
  const clock = new FakeClock(0);
  const calls: string[] = [];
  const attempts = { running: 0 };
  const protection = {
    protect: async () => void calls.push("protect"),
    unprotect: async () => void calls.push("unprotect"),
  };
  const end = protectWhileRunning(protection, clock, () => attempts.running);
  return { clock, calls, attempts, end };
}

describe("the protection of a container with attempts", () => {
  test("a container without attempts is not protected", async () => {
    const { clock, calls, end } = setUp();
    await clock.advance(60 * secondMs);
    await end();
    expect(calls).toEqual([]);
  });

  test("a container is protected within a second of its first attempt, once", async () => {
    const { clock, calls, attempts } = setUp();
    attempts.running = 1;
    await clock.advance(secondMs);
    expect(calls).toEqual(["protect"]);
    attempts.running = 4;
    await clock.advance(600 * secondMs);
    expect(calls).toEqual(["protect"]);
  });

  test("the protection ends ten seconds after the last attempt", async () => {
    const { clock, calls, attempts } = setUp();
    attempts.running = 1;
    await clock.advance(secondMs);
    attempts.running = 0;
    await clock.advance(9 * secondMs);
    expect(calls).toEqual(["protect"]);
    await clock.advance(secondMs);
    expect(calls).toEqual(["protect", "unprotect"]);
    attempts.running = 1;
    await clock.advance(secondMs);
    expect(calls).toEqual(["protect", "unprotect", "protect"]);
  });

  test("short attempts one after the other keep the protection", async () => {
    const { clock, calls, attempts } = setUp();
    for (let round = 0; round < 20; round++) {
      attempts.running = round % 2;
      await clock.advance(secondMs);
    }
    expect(calls).toEqual(["protect"]);
  });

  test("a container that ends is no longer protected", async () => {
    const { clock, calls, attempts, end } = setUp();
    attempts.running = 1;
    await clock.advance(secondMs);
    await end();
    await clock.advance(60 * secondMs);
    expect(calls).toEqual(["protect", "unprotect"]);
  });
});
