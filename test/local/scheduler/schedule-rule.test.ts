import { describe, expect, test } from "vitest";
import { parseRule } from "../../../src/local/scheduler/schedule-rule.ts";

/** The next times of a rule after a time. */
function times(expression: string, options: { zone?: string; after?: string; count?: number; start?: string } = {}) {
  const { zone = "UTC", after = "2027-03-20T00:00:00Z", count = 3, start = after } = options;
  const rule = parseRule(expression, zone, Date.parse(start));
  const found: string[] = [];
  let time: number | undefined = Date.parse(after);
  for (let index = 0; index < count; index += 1) {
    time = rule.next(time);
    if (time === undefined) break;
    expect(rule.latest(time)).toBe(time);
    found.push(new Date(time).toISOString().replace(":00.000Z", ""));
  }
  return found;
}

describe("cron", () => {
  test.for([
    ["cron(0 9 * * ? *)", ["2027-03-20T09:00", "2027-03-21T09:00", "2027-03-22T09:00"]],
    ["cron(0/20 9 * * ? *)", ["2027-03-20T09:00", "2027-03-20T09:20", "2027-03-20T09:40"]],
    ["cron(*/20 9 * * ? *)", ["2027-03-20T09:00", "2027-03-20T09:20", "2027-03-20T09:40"]],
    ["cron(0 9-10,22 * * ? *)", ["2027-03-20T09:00", "2027-03-20T10:00", "2027-03-20T22:00"]],
    ["cron(0 9 1 * ? *)", ["2027-04-01T09:00", "2027-05-01T09:00", "2027-06-01T09:00"]],
    ["cron(0 9 1 JAN,JUL ? *)", ["2027-07-01T09:00", "2028-01-01T09:00", "2028-07-01T09:00"]],
    ["cron(0 9 29 2 ? *)", ["2028-02-29T09:00", "2032-02-29T09:00", "2036-02-29T09:00"]],
    ["cron(0 9 1 1 ? 2028-2029)", ["2028-01-01T09:00", "2029-01-01T09:00"]],
    ["cron(0 9 1 1 ? 2026)", []],
  ] as const)("%s has the expected times", ([expression, expected]) => {
    expect(times(expression)).toEqual(expected);
  });

  test.for([
    ["1", "SUN", "2027-03-21"],
    ["7", "SAT", "2027-03-20"],
    ["2-6", "MON-FRI", "2027-03-22"],
    ["1,4", "SUN,WED", "2027-03-21"],
    ["3#2", "TUE#2", "2027-04-13"],
    ["6L", "FRIL", "2027-03-26"],
    ["L", "7", "2027-03-20"],
  ] as const)("weekdays count from 1 for Sunday: %s is %s", ([number, name, day]) => {
    expect(times(`cron(0 9 ? * ${number} *)`, { count: 1 })).toEqual([`${day}T09:00`]);
    expect(times(`cron(0 9 ? * ${name} *)`)).toEqual(times(`cron(0 9 ? * ${number} *)`));
  });

  test.for([
    ["L", ["2027-03-31", "2027-04-30"]],
    ["15W", ["2027-04-15", "2027-05-14"]],
  ] as const)("%s is known as a day of the month", ([day, expected]) => {
    expect(times(`cron(0 9 ${day} * ? *)`, { count: 2 })).toEqual(expected.map((date) => `${date}T09:00`));
  });

  test.for([
    "cron(0 9 * * *)",
    "cron(0 9 * * * *)",
    "cron(0 9 ? * ? *)",
    "cron(60 9 * * ? *)",
    "cron(0 24 * * ? *)",
    "cron(0 9 32 * ? *)",
    "cron(0 9 ? * 0 *)",
    "cron(0 9 ? * 8 *)",
    "cron(0 9 ? * MON#6 *)",
    "cron(0 9 1 FOO ? *)",
    "cron(? 9 * * ? *)",
    "cron(@daily)",
    "rate(0 minutes)",
    "rate(1 second)",
    "rate(1.5 hours)",
    "at(2027-02-30T10:00:00)",
    "at(2027-05-01T10:00:00Z)",
    "at(2027-05-01)",
    "every day",
  ])("%s is refused", (expression) => {
    expect(() => parseRule(expression, "UTC", 0)).toThrow(`Invalid Schedule Expression ${expression}.`);
  });
});

describe("time zones", () => {
  const zone = "Europe/Berlin";

  test("a local time that is skipped when clocks go forward does not fire", () => {
    const after = "2027-03-26T12:00:00Z";
    expect(times("cron(30 2 * * ? *)", { zone, after })).toEqual([
      "2027-03-27T01:30",
      "2027-03-29T00:30",
      "2027-03-30T00:30",
    ]);
  });

  test("a local time that is repeated when clocks go back fires once", () => {
    const after = "2027-10-30T12:00:00Z";
    expect(times("cron(30 2 * * ? *)", { zone, after, count: 2 })).toEqual(["2027-10-31T00:30", "2027-11-01T01:30"]);
    expect(times("cron(0 * * * ? *)", { zone, after: "2027-10-30T23:30:00Z" })).toEqual([
      "2027-10-31T00:00",
      "2027-10-31T02:00",
      "2027-10-31T03:00",
    ]);
  });

  test("a one-off is at the local time", () => {
    expect(times("at(2027-05-01T10:00:00)", { zone: "America/New_York" })).toEqual(["2027-05-01T14:00"]);
    expect(times("at(2027-03-28T02:30:00)", { zone })).toEqual(["2027-03-28T01:30"]);
  });

  test("a time zone that does not exist is refused", () => {
    expect(() => parseRule("rate(1 hour)", "Mars/Phobos", 0)).toThrow(/Timezone Mars\/Phobos/);
  });
});

describe("rate", () => {
  test("a rate counts from its start, which is its first time", () => {
    const start = "2027-03-20T00:07:00Z";
    const expected = ["2027-03-20T00:07", "2027-03-20T02:07", "2027-03-20T04:07"];
    expect(times("rate(2 hours)", { start })).toEqual(expected);
    expect(times("rate(2 hours)", { start, after: "2027-03-20T00:06:59.999Z" })).toEqual(expected);
  });

  test("the latest time of a rate is found for any time", () => {
    const rule = parseRule("rate(1 minute)", "UTC", 0);
    expect([rule.latest(-1), rule.latest(59_999), rule.latest(60_000)]).toEqual([undefined, 0, 60_000]);
  });
});

test("the latest time of a cron rule is found across a change of clocks", () => {
  const rule = parseRule("cron(30 2 * * ? *)", "Europe/Berlin", 0);
  const latest = (until: string) => new Date(rule.latest(Date.parse(until)) ?? 0).toISOString();
  expect(latest("2027-03-28T12:00:00Z")).toBe("2027-03-27T01:30:00.000Z");
  expect(latest("2027-10-31T12:00:00Z")).toBe("2027-10-31T00:30:00.000Z");
});
