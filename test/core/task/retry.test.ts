import { describe, expect, test } from "vitest";
import { type ErrorKind, errorKinds } from "../../../src/core/model/errors.ts";
import {
  type Backoff,
  decideRetry,
  defaultWaitsSeconds,
  type Failure,
  type RetryPolicy,
} from "../../../src/core/task/retry.ts";
import fc from "../../support/fast-check.ts";

const finalKinds: readonly ErrorKind[] = ["not_found", "validation", "business_rule", "permanent"];
const plainKinds: readonly ErrorKind[] = ["transient", "rate_limited", "crashed", "timed_out"];

const failed = (more: Partial<Failure> = {}): Failure => ({
  kind: "transient",
  attempt: 1,
  maxAttempts: 20,
  earlierOfKind: 0,
  ...more,
});

/** The wait in seconds; undefined when there is no retry. */
function wait(policy: RetryPolicy, failure: Failure, random = 0, timeScale = 1): number | undefined {
  const decision = decideRetry(policy, failure, () => random, timeScale);
  return decision.retry ? decision.waitSeconds : undefined;
}

const anyRandom = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const anyBackoff: fc.Arbitrary<Backoff> = fc.record(
  {
    waitsSeconds: fc.array(fc.nat(100_000), { minLength: 1, maxLength: 6 }),
    baseSeconds: fc.nat(10_000),
    factor: fc.double({ min: 1, max: 10, noNaN: true }),
    capSeconds: fc.integer({ min: 1, max: 200_000 }),
    jitter: fc.constantFrom("additive", "full", "none"),
    jitterRatio: fc.double({ min: 0, max: 1, noNaN: true }),
    maxRetries: fc.nat(20),
  },
  { requiredKeys: [] },
);
const anyPolicy: fc.Arbitrary<RetryPolicy> = fc
  .tuple(anyBackoff, fc.dictionary(fc.constantFrom(...errorKinds), fc.oneof(anyBackoff, fc.constant("stop" as const))))
  .map(([backoff, kinds]) => ({ ...backoff, kinds }));
const anyFailure: fc.Arbitrary<Failure> = fc
  .record({
    kind: fc.constantFrom(...errorKinds),
    attempt: fc.integer({ min: 1, max: 25 }),
    maxAttempts: fc.integer({ min: 1, max: 20 }),
    earlier: fc.nat(25),
    retryAfterSeconds: fc.option(fc.nat(2_592_000), { nil: undefined }),
  })
  .map(({ earlier, ...failure }) => ({ ...failure, earlierOfKind: Math.min(earlier, failure.attempt - 1) }));
const anyScale = fc.constantFrom(0.01, 0.5, 1, 10);

describe("the default policy", () => {
  test.each(plainKinds)("the default waits after %s are 30, 120, 480, 1800 and 7200 s, then 7200 s again", (kind) => {
    const waits = [1, 2, 3, 4, 5, 6, 19].map((attempt) => wait({}, failed({ kind, attempt })));
    expect(waits).toEqual([...defaultWaitsSeconds, 7200, 7200]);
  });

  test("the default jitter lengthens each wait by up to half", () => {
    fc.assert(
      fc.property(anyRandom, fc.integer({ min: 1, max: 5 }), (random, attempt) => {
        const plain = defaultWaitsSeconds[attempt - 1] ?? 0;
        const waited = wait({}, failed({ attempt }), random) ?? 0;
        expect(waited).toBeGreaterThanOrEqual(plain);
        expect(waited).toBeLessThanOrEqual(plain * 1.5);
      }),
    );
  });

  test.each(finalKinds)("the default policy never retries after %s", (kind) => {
    expect(wait({}, failed({ kind }))).toBeUndefined();
  });

  test("a conflict is retried after about 1, 2 and 4 s, and at most three times", () => {
    const waits = [0, 1, 2, 3].map((earlierOfKind) =>
      wait({}, failed({ kind: "conflict", attempt: 8, earlierOfKind }), 0),
    );
    expect(waits).toEqual([1, 2, 4, undefined]);
  });

  test("an unavailable dependency is retried after the type's own waits, but at least 60 s", () => {
    const waits = [1, 2, 3].map((attempt) => wait({}, failed({ kind: "unavailable", attempt })));
    expect(waits).toEqual([60, 120, 480]);
  });
});

describe("any policy", () => {
  test("no policy retries when the attempts are used up", () => {
    fc.assert(
      fc.property(anyPolicy, anyFailure, anyRandom, (policy, failure, random) => {
        const attempt = failure.maxAttempts + failure.earlierOfKind;
        expect(wait(policy, { ...failure, attempt }, random)).toBeUndefined();
      }),
    );
  });

  test("every wait is whole seconds, at least one", () => {
    fc.assert(
      fc.property(anyPolicy, anyFailure, anyRandom, anyScale, (policy, failure, random, scale) => {
        const waited = wait(policy, failure, random, scale) ?? 1;
        expect(Number.isInteger(waited)).toBe(true);
        expect(waited).toBeGreaterThanOrEqual(1);
      }),
    );
  });

  test("no retry starts before Retry-After, which no time scale shortens", () => {
    fc.assert(
      fc.property(anyPolicy, anyFailure, anyRandom, anyScale, (policy, failure, random, scale) => {
        const waited = wait(policy, failure, random, scale);
        if (waited !== undefined) expect(waited).toBeGreaterThanOrEqual(failure.retryAfterSeconds ?? 0);
      }),
    );
  });

  test("an unavailable dependency is left alone for at least 60 s", () => {
    fc.assert(
      fc.property(anyPolicy, anyFailure, anyRandom, (policy, failure, random) => {
        const unasked = { ...failure, kind: "unavailable" as const, retryAfterSeconds: undefined };
        expect(wait(policy, unasked, random) ?? 60).toBeGreaterThanOrEqual(60);
      }),
    );
  });

  test("a shorter Retry-After than the own wait is heeded: about as asked at first, twice as long after each failure", () => {
    const asked = (earlierOfKind: number, kind: Failure["kind"] = "rate_limited") =>
      wait({}, failed({ kind, attempt: earlierOfKind + 1, earlierOfKind, retryAfterSeconds: 5 }), 0.99);
    expect([0, 1, 2, 3, 9].map((earlier) => asked(earlier))).toEqual([6, 12, 24, 48, 3067]);
    expect(asked(0, "unavailable")).toBe(6);
    expect(wait({}, failed({ kind: "rate_limited", retryAfterSeconds: 0 }))).toBe(30);
  });

  test("a bug of the handler's own code is tried once more, soon, unless the type says otherwise", () => {
    const bug = (policy: RetryPolicy, earlierOfBug: number) => wait(policy, failed({ earlierOfBug }));
    expect([bug({}, 0), bug({}, 1)]).toEqual([2, undefined]);
    expect([bug({ waitsSeconds: [7] }, 0), bug({ kinds: { transient: { waitsSeconds: [9] } } }, 1)]).toEqual([7, 9]);
    expect(bug({ kinds: { conflict: "stop" } }, 1)).toBeUndefined();
  });

  test("the same failure gets the same decision, and the arguments stay unchanged", () => {
    fc.assert(
      fc.property(anyPolicy, anyFailure, anyRandom, anyScale, (policy, failure, random, scale) => {
        const before = structuredClone({ policy, failure });
        const first = decideRetry(policy, failure, () => random, scale);
        expect(decideRetry(policy, failure, () => random, scale)).toEqual(first);
        expect({ policy, failure }).toEqual(before);
      }),
    );
  });

  test("a decision draws at most one random number", () => {
    fc.assert(
      fc.property(anyPolicy, anyFailure, (policy, failure) => {
        let drawn = 0;
        decideRetry(policy, failure, () => {
          drawn += 1;
          return 0.5;
        });
        expect(drawn).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe("a type's own waits", () => {
  test("a list of waits is followed, and its last entry repeats", () => {
    const policy = { waitsSeconds: [5, 7], jitter: "none" } as const;
    expect([1, 2, 3, 9].map((attempt) => wait(policy, failed({ attempt })))).toEqual([5, 7, 7, 7]);
  });

  test("exponential waits grow by the factor, up to the cap", () => {
    const policy = { baseSeconds: 10, factor: 3, capSeconds: 100, jitter: "none" } as const;
    expect([1, 2, 3, 4, 19].map((attempt) => wait(policy, failed({ attempt })))).toEqual([10, 30, 90, 100, 100]);
  });

  test("exponential waits double and are capped at 12 h by default", () => {
    const policy = { baseSeconds: 60, jitter: "none" } as const;
    expect([1, 2, 3, 19].map((attempt) => wait(policy, failed({ attempt })))).toEqual([60, 120, 240, 43_200]);
  });

  test.each([
    ["none", 0.99, 100],
    ["additive", 0, 100],
    ["additive", 0.999_999, 125],
    ["full", 0, 1],
    ["full", 0.25, 25],
  ] as const)("jitter %s with the random number %d waits %d s", (jitter, random, expected) => {
    const policy = { waitsSeconds: [100], jitter, jitterRatio: 0.25 };
    expect(wait(policy, failed(), random)).toBe(expected);
  });

  test("each jitter stays within its bounds", () => {
    const bounds = { none: [1, 1], additive: [1, 1.5], full: [0, 1] } as const;
    fc.assert(
      fc.property(
        fc.constantFrom("none", "additive", "full"),
        fc.integer({ min: 1, max: 43_200 }),
        anyRandom,
        (jitter, seconds, random) => {
          const waited = wait({ waitsSeconds: [seconds], jitter }, failed(), random) ?? 0;
          const [least, most] = bounds[jitter];
          expect(waited).toBeGreaterThanOrEqual(Math.max(1, Math.floor(seconds * least)));
          expect(waited).toBeLessThanOrEqual(Math.max(1, Math.ceil(seconds * most)));
        },
      ),
    );
  });

  test("a kind's own backoff counts the failures of that kind", () => {
    const policy = { kinds: { timed_out: { waitsSeconds: [1, 2, 3], jitter: "none" } } } as const;
    const waits = [0, 1, 2].map((earlierOfKind) =>
      wait(policy, failed({ kind: "timed_out", attempt: 9, earlierOfKind })),
    );
    expect(waits).toEqual([1, 2, 3]);
  });

  test("a kind's own bound stops its retries before the attempts are used up", () => {
    const policy = { kinds: { transient: { maxRetries: 2 } } } as const;
    const waits = [0, 1, 2].map((earlierOfKind) => wait(policy, failed({ attempt: earlierOfKind + 1, earlierOfKind })));
    expect(waits).toEqual([30, 120, undefined]);
  });

  test("a kind can be made final, and a final kind can be retried", () => {
    const policy = { kinds: { transient: "stop", not_found: { waitsSeconds: [9], jitter: "none" } } } as const;
    expect(wait(policy, failed())).toBeUndefined();
    expect(wait(policy, failed({ kind: "not_found" }))).toBe(9);
  });
});

test("a time scale shortens waits to whole seconds, at least one", () => {
  const waits = [1, 2, 3, 4].map((attempt) => wait({}, failed({ attempt }), 0, 0.01));
  expect(waits).toEqual([1, 1, 5, 18]);
});
