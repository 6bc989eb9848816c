import { describe, expect, test } from "vitest";
import { createPollingGuard, pollsPerSecond } from "../../../src/api/http/polling-guard.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { operator, submitter } from "../../support/identities.ts";

function setUp() {
  const clock = new FakeClock();
  const guard = createPollingGuard(clock);
  const refused = (identity = operator, taskId = "a") => {
    try {
      guard(identity, taskId);
      return false;
    } catch (error) {
      expect(error).toMatchObject({ code: "rate_limited", options: { retryAfterSeconds: 1 } });
      return true;
    }
  };
  const use = (times: number, identity = operator, taskId = "a") =>
    Array.from({ length: times }, () => refused(identity, taskId)).filter(Boolean).length;
  return { clock, refused, use };
}

describe("the polling guard", () => {
  test("one caller may poll one task ten times in a second", () => {
    const { use } = setUp();
    expect(pollsPerSecond).toBe(10);
    expect(use(10)).toBe(0);
    expect(use(5)).toBe(5);
  });

  test("the count starts again with each second", async () => {
    const { use, clock } = setUp();
    for (let second = 0; second < 3; second++) {
      expect(use(12)).toBe(2);
      await clock.advance(1_000);
    }
  });

  test("each caller, tenant and task has its own count", () => {
    const { use } = setUp();
    expect(use(10)).toBe(0);
    expect(use(10, submitter)).toBe(0);
    expect(use(10, { ...operator, tenantId: "globex" })).toBe(0);
    expect(use(10, operator, "b")).toBe(0);
    expect(use(1)).toBe(1);
  });

  test("a flood of tasks refuses no caller, and old counts are dropped", () => {
    const { use, refused } = setUp();
    expect(use(11, operator, "first")).toBe(1);
    const refusals = Array.from({ length: 12_000 }, (_, task) => refused(operator, String(task)));
    expect(refusals).toEqual(Array(12_000).fill(false));
    // The first task is allowed its polls again, as its count was dropped.
    expect(use(10, operator, "first")).toBe(0);
  });
});
