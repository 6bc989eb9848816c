import { App, Duration, Stack } from "aws-cdk-lib";
import { describe, expect, test } from "vitest";
import {
  type ConcurrencyOptions,
  capacityOf,
  checkCapacity,
  feedOf,
  mostInvocations,
  type TierOptions,
} from "../../lib/capacity.ts";
import { type ProfileName, profiles } from "../../lib/profile.ts";
import { type Tier, tiers } from "../../src/core/model/words.ts";
import { defaultConcurrency, type PerTier } from "../../src/settings/config.ts";
import { allOf, synthesize } from "./synthesis.ts";

const pollers = { minimum: 2, maximum: 4 };

const bad: [name: string, options: TierOptions, text: string][] = [
  [
    "one invocation at once",
    { maxConcurrency: 1 },
    "normal.maxConcurrency must be a whole number from 2 to 1000; got 1",
  ],
  ["1,001 at once", { maxConcurrency: 1001 }, "normal.maxConcurrency must be a whole number from 2 to 1000; got 1001"],
  [
    "half an invocation",
    { maxConcurrency: 2.5 },
    "normal.maxConcurrency must be a whole number from 2 to 1000; got 2.5",
  ],
  [
    "two ways to limit",
    { maxConcurrency: 5, provisionedPollers: pollers },
    "maxConcurrency must be absent when provisionedPollers",
  ],
  [
    "one poller",
    { provisionedPollers: { minimum: 1, maximum: 4 } },
    "provisionedPollers must be an object with a minimum from 2 to 200",
  ],
  [
    "2,001 pollers",
    { provisionedPollers: { minimum: 2, maximum: 2001 } },
    "must be an object with a maximum from 2 to 2000",
  ],
  [
    "upside-down pollers",
    { provisionedPollers: { minimum: 9, maximum: 4 } },
    "an object whose minimum is not above its maximum",
  ],
  ["no batch", { batchSize: 0 }, "normal.batchSize must be a whole number from 1 to 10; got 0"],
  [
    "a batch that cannot be held in one call",
    { batchSize: 11 },
    "batchSize must be a whole number from 1 to 10; got 11",
  ],
  [
    "a window over five minutes",
    { batchWindow: Duration.seconds(301) },
    "batchWindow must be whole seconds, at most 300",
  ],
  ["127 MB", { memorySize: 127 }, "normal.memorySize must be a whole number of MB from 128 to 10240; got 127"],
  [
    "too many MB",
    { memorySize: 10_241 },
    "normal.memorySize must be a whole number of MB from 128 to 10240; got 10241",
  ],
];

bad.push(
  [
    "a time-out of 16 minutes",
    { timeout: Duration.minutes(16) },
    "normal.timeout must be whole seconds from 60 to 900",
  ],
  ["a time-out of 59 s", { timeout: Duration.seconds(59) }, "normal.timeout must be whole seconds from 60 to 900"],
);

describe("a refused tier", () => {
  test.each(bad)("%s is refused", (_, options, text) => {
    expect(() => feedOf("normal", options)).toThrow(text);
  });

  test("a wrong tier is refused before anything is made", () => {
    expect(() => synthesize({ tiers: { low: { batchSize: 100 } } })).toThrow("tiers.low.batchSize must be");
  });

  test("a batch window is refused for critical only", () => {
    const options = { batchWindow: Duration.seconds(1) };
    expect(() => feedOf("critical", options)).toThrow("tiers.critical.batchWindow must be absent");
    expect(feedOf("high", options).maxBatchingWindow?.toSeconds()).toBe(1);
  });
});

describe("an accepted tier", () => {
  const good: [options: TierOptions, feed: object][] = [
    [{}, { maxConcurrency: 100 }],
    [{ maxConcurrency: 2 }, { maxConcurrency: 2 }],
    [{ maxConcurrency: 1000 }, { maxConcurrency: 1000 }],
    [{ provisionedPollers: pollers }, { provisionedPollerConfig: { minimumPollers: 2, maximumPollers: 4 } }],
    [{ batchSize: 1 }, { maxConcurrency: 100, batchSize: 1 }],
    [
      { batchSize: 10, memorySize: 10_240 },
      { maxConcurrency: 100, batchSize: 10 },
    ],
  ];
  test.each(good)("%j is accepted", (options, feed) => {
    expect(feedOf("normal", options)).toEqual(feed);
  });
});

describe("the defaults", () => {
  const most = (tier: Tier) => mostInvocations(tier, {});

  test("the defaults fit into a usual account, and leave half of it to others", () => {
    expect(tiers.reduce((sum, tier) => sum + most(tier), 0)).toBeLessThanOrEqual(
      profiles.standard.accountConcurrency / 2,
    );
  });

  test("the defaults give a tier more than those below it", () => {
    expect(tiers.map(most)).toEqual([...tiers.map(most)].sort((a, b) => b - a));
    expect(most("critical")).toBe(defaultConcurrency.critical);
  });
});

describe("the account", () => {
  function check(
    options: Partial<PerTier<TierOptions>>,
    accountConcurrency = 1000,
    profile: ProfileName = "standard",
    more: ConcurrencyOptions = {},
  ): Stack {
    const stack = new Stack(new App(), "Stack");
    checkCapacity(stack, capacityOf(profiles[profile], options, { accountConcurrency, ...more }));
    return stack;
  }
  const warnings = (stack: Stack) => stack.node.metadata.filter(({ type }) => type === "aws:cdk:warning");

  test("the defaults give no warning", () => {
    expect(warnings(check({}))).toEqual([]);
  });

  test("the account must have what the tiers may take, so that no tier takes what another needs", () => {
    expect(() => check({ low: { maxConcurrency: 496 } })).toThrow(
      "the tiers may take 1001 concurrent invocations (critical 200, high 150, normal 100, low 496, redrive, fire and notify 55), but the account has 1000",
    );
  });

  test("a warning says when little is left for the API", () => {
    const [warning, ...others] = warnings(check({ low: { maxConcurrency: 296 } }));
    expect(others).toEqual([]);
    expect(String(warning?.data)).toContain("801 of the account's 1000 concurrent invocations");
    expect(warnings(check({ low: { maxConcurrency: 295 } }))).toEqual([]);
  });

  test("requests that wait need room beside the other requests of the API", () => {
    const room = (tiers: number, waits: number) =>
      warnings(check({ low: { maxConcurrency: tiers - 450 } }, 1055, "standard", { waits }));
    expect([room(800, 100), room(900, 0), room(700, 200)]).toEqual([[], [], []]);
    expect(String(room(801, 100)[0]?.data)).toContain(
      "fewer than 200 are left for the API, 100 of them for requests that wait (waits)",
    );
    expect(String(room(901, 0)[0]?.data)).toMatch(/fewer than 100 are left for the API( \[|$)/);
  });

  test.each([-1, 0.5, 1_001, Number.NaN])("the number of requests that wait cannot be %d", (waits) => {
    expect(() => synthesize({ waits })).toThrow(`waits must be a whole number from 0 to 1000; got ${waits}`);
  });

  test("each poller counts as ten invocations", () => {
    expect(mostInvocations("critical", { provisionedPollers: { minimum: 2, maximum: 40 } })).toBe(400);
    expect(() => check({ critical: { provisionedPollers: { minimum: 2, maximum: 100 } } })).toThrow("critical 1000");
  });

  test("the account may be larger, or smaller, than usual", () => {
    expect(warnings(check({ low: { maxConcurrency: 1000 } }, 3000))).toEqual([]);
    expect(() => synthesize({ accountConcurrency: 400 })).toThrow("but the account has 400");
  });

  test("the profile small fits into 10, and leaves two invocations for the API while every tier is busy", () => {
    expect(warnings(check({}, 10, "small"))).toEqual([]);
    const small = capacityOf(profiles.small, {});
    expect(tiers.map((tier) => small.tiers[tier])).toEqual(tiers.map(() => ({ maxConcurrency: 2 })));
  });

  test("a tier may have more in the profile small only if the account has more", () => {
    const more = { normal: { maxConcurrency: 5 } };
    expect(() => check(more, 10, "small")).toThrow(
      "may take 11 concurrent invocations (critical 2, high 2, normal 5, low 2)",
    );
    expect(warnings(check(more, 13, "small"))).toEqual([]);
    expect(String(warnings(check(more, 12, "small"))[0]?.data)).toContain("fewer than 2 are left for the API");
  });
});

describe("a deployment of the profile small", () => {
  const small = synthesize({ profile: "small" });

  test("every event source has AWS's minimum of two concurrent invocations", () => {
    const sources = allOf(small.service, "AWS::Lambda::EventSourceMapping");
    expect(sources.map((source) => source.get("ScalingConfig"))).toEqual(Array(7).fill({ MaximumConcurrency: 2 }));
  });

  test("no function reserves concurrency, because such an account has none to reserve", () => {
    const functions = allOf(small.service, "AWS::Lambda::Function");
    expect(functions.map((fn) => fn.get("ReservedConcurrentExecutions"))).toEqual(functions.map(() => undefined));
  });

  test("an unknown profile is refused with the known ones", () => {
    expect(() => synthesize({ profile: "tiny" as never })).toThrow(
      'profile must be one of standard, small; got "tiny"',
    );
  });
});
