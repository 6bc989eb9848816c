import { describe, expect, test } from "vitest";
import { LimitBook, mergeDepth } from "../../../src/core/limits/gate.ts";
import { mergeLimits, noLimits } from "../../../src/core/limits/limits.ts";
import { parseLimits } from "../../../src/core/limits/parse-limits.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { MemoryLimits } from "../../../src/memory/limits.ts";
import { KeptLog } from "../../support/kept.ts";

describe("OFFLOAD_LIMITS", () => {
  test.each(["", "  "])("OFFLOAD_LIMITS may be empty: %j", (text) => {
    expect(parseLimits(text)).toEqual(noLimits);
  });

  test("OFFLOAD_LIMITS has limits for all tenants, for one tenant, and depths", () => {
    const limits = {
      default: { submits_per_second: 100, burst: 200, tasks_in_progress: 10_000, request_bytes: 65_536 },
      tenants: { acme: { submits_per_second: 0.5 } },
      depth: { low: 100 },
    };
    expect(parseLimits(JSON.stringify(limits))).toEqual(limits);
  });

  test.each([
    ["the default on the top level", { burst: 3 }, { default: { burst: 3 } }],
    [
      "names with max_",
      { max_burst: 3, tenants: { max_x: { max_burst: 4 } } },
      { default: { burst: 3 }, tenants: { max_x: { burst: 4 } } },
    ],
    ["one depth for all tiers", { depth: 7 }, { depth: { critical: 7, high: 7, normal: 7, low: 7 } }],
    ["max_depth", { max_depth: { low: 7 } }, { depth: { low: 7 } }],
    [
      "none for no bound",
      { burst: "none", tasks_in_progress: null },
      { default: { burst: null, tasks_in_progress: null } },
    ],
  ])("OFFLOAD_LIMITS accepts %s", (_, given, expected) => {
    expect(parseLimits(JSON.stringify(given))).toEqual({ ...noLimits, ...expected });
  });

  test.each([
    ["{", "expected a JSON object"],
    ["[]", "expected object"],
    ['{"foo":1}', 'Unrecognized key: "foo"'],
    ['{"default":{"submits_per_second":0}}', "default.submits_per_second: "],
    ['{"tenants":{"a b":{}}}', "tenants.a b: "],
    ['{"tenants":{"acme":{"tasks_in_progress":-1}}}', "tenants.acme.tasks_in_progress: "],
    ['{"depth":{"low":1.5}}', "depth.low: "],
    ['{"depth":{"urgent":1}}', 'depth: Unrecognized key: "urgent"'],
  ])("the error says what is wrong with %s", (text, message) => {
    expect(() => parseLimits(text)).toThrow(message);
  });
});

describe("the limits of one tenant", () => {
  test("the first source that has a limit decides", () => {
    const merged = mergeLimits({ request_bytes: 5 }, undefined, { request_bytes: 9, tasks_in_progress: 3 });
    expect(merged).toMatchObject({ request_bytes: 5, tasks_in_progress: 3 });
  });

  test("no limit can win over a default", () => {
    expect(mergeLimits({ tasks_in_progress: null }, { tasks_in_progress: 3 }).tasks_in_progress).toBeNull();
  });

  test("a rate brings its own burst, not that of a default", () => {
    const merged = mergeLimits({ submits_per_second: 5 }, { submits_per_second: 100, burst: 500 });
    expect(merged).toMatchObject({ submits_per_second: 5, burst: undefined });
  });
});

describe("the limits as they are now", () => {
  function setUp(configured = {}) {
    const [clock, limits, log] = [new FakeClock(), new MemoryLimits(), new KeptLog()];
    return { clock, limits, log, book: new LimitBook({ clock, limits, log }, { ...noLimits, ...configured }) };
  }

  test("the configured limits of a tenant come before the configured default", async () => {
    const { book } = setUp({ default: { burst: 1, request_bytes: 2 }, tenants: { acme: { request_bytes: 3 } } });
    expect((await book.ofTenant("acme")).request_bytes).toBe(3);
    expect((await book.ofTenant("globex")).request_bytes).toBe(2);
    expect((await book.ofTenant("constructor")).request_bytes).toBe(2);
  });

  test("stored limits come before configured ones, except for a tenant's own", async () => {
    const { book, limits } = setUp({
      default: { request_bytes: 1, tasks_in_progress: 1 },
      tenants: { acme: { request_bytes: 2 } },
    });
    await limits.setDefault({ request_bytes: 3 });
    await limits.change("initech", { request_bytes: 4 });
    expect(await book.ofTenant("acme")).toMatchObject({ request_bytes: 2, tasks_in_progress: 1 });
    expect((await book.ofTenant("globex")).request_bytes).toBe(3);
    expect((await book.ofTenant("initech")).request_bytes).toBe(4);
  });

  test("a changed limit takes effect within ten seconds", async () => {
    const { book, limits, clock } = setUp();
    expect((await book.ofTenant("acme")).request_bytes).toBeUndefined();
    await limits.change("acme", { request_bytes: 4 });
    await clock.advance(10_000);
    expect((await book.ofTenant("acme")).request_bytes).toBe(4);
  });

  test("one read in ten seconds serves all tenants while none has its own limits", async () => {
    const { book, limits, clock } = setUp();
    for (let tenant = 0; tenant < 50; tenant++) await book.ofTenant(`t-${tenant}`);
    expect(limits.reads).toBe(1);
    await clock.advance(10_000);
    await book.depthOf("low");
    expect(limits.reads).toBe(2);
  });

  test("the limits stay the same while the table does not answer", async () => {
    const { book, limits, clock, log } = setUp({ default: { request_bytes: 1 } });
    await limits.setDefault({ request_bytes: 3 });
    await book.ofTenant("acme");
    limits.ofDeployment = () => Promise.reject(new Error("down"));
    await clock.advance(10_000);
    expect((await book.ofTenant("acme")).request_bytes).toBe(3);
    expect(log.lines).toMatchObject([{ level: "warn" }]);
  });

  test("a stored depth comes before the configured one", async () => {
    const { book, limits } = setUp({ depth: { low: 100, high: 5 } });
    await limits.setDepth({ low: 200, normal: null });
    expect(await Promise.all((["low", "high", "normal"] as const).map((tier) => book.depthOf(tier)))).toEqual([
      200,
      5,
      undefined,
    ]);
    expect(mergeDepth({ low: null }, { low: 3 }).low).toBeNull();
  });
});
