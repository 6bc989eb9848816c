import { aboutEach, type Check } from "./finding.ts";

/** Writes of one item in a second that DynamoDB sustains. A type also needs writes for its tasks' ends and its line. */
const startsPerSecond = 500;

export const startRate: Check = {
  id: "start-rate",
  title: "One item of the table can count the starts of a key",
  severities: ["medium"],
  find: ({ types }) =>
    aboutEach(types, (type) => {
      const { limit = 0, perSeconds = 1 } = type.rateLimit ?? {};
      if (typeof limit !== "number" || limit / perSeconds <= startsPerSecond) return;
      return {
        severity: "medium",
        found: `Its rate lets each key start ${Math.round(limit / perSeconds)} tasks a second. Each free start writes one item, and DynamoDB takes at most 1,000 writes of an item in a second: more starts than about ${startsPerSecond} a second are delayed.`,
        fix: "A lower rate, or a finer key. maxConcurrency of the tier bounds a load without these writes.",
      };
    }),
};

export const breakerRetries: Check = {
  id: "breaker-retries",
  title: "One task that always fails does not open the breaker of its type",
  severities: ["medium"],
  find: ({ types }) =>
    aboutEach(types, (type) => {
      const { breaker, maxAttempts } = type;
      if (breaker === undefined || breaker.failures > maxAttempts) return;
      return {
        severity: "medium",
        found: `Its breaker opens after ${breaker.failures} failed attempts in a row, and one task has ${maxAttempts} attempts: when few tasks run, one bad input stops all tasks of the ${breaker.keyed ? "type with its key" : "type"}.`,
        fix: `breaker.failures above ${maxAttempts}, or fewer attempts.`,
      };
    }),
};

export const flowChecks: readonly Check[] = [startRate, breakerRetries];
