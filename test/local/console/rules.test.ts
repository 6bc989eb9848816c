import { describe, expect, test } from "vitest";
import { changeEffect, ruleWords } from "../../../console/src/rule-words.ts";
import { clockChanges, dateIn, dayStart, instantOf, offsetText } from "../../../console/src/zones.ts";

describe("rules in words", () => {
  test.each([
    ["30 2 * * *", "at 02:30, every day"],
    ["0 9 * * MON-FRI", "at 09:00, Monday to Friday"],
    ["0 9,17 1,15 * *", "at 09:00 and 17:00, on day 1 and 15 of the month"],
    ["*/15 * * * *", "every 15 minutes, every day"],
    ["* * * * *", "every minute, every day"],
    ["*/15 9-17 * * MON-FRI", "every 15 minutes from 09:00 to 17:59, Monday to Friday"],
    ["0 * * * *", "every hour, every day"],
    ["20 * * * 0", "every hour at minute 20, Sunday"],
    ["0 */2 * * *", "every 2 hours, every day"],
    ["40 */3 * * *", "every 3 hours at minute 40, every day"],
    ["5 8-18 * * *", "at minute 5 of each hour from 8 to 18, every day"],
    ["5,20 * * * *", "at the minutes 5 and 20 of every hour, every day"],
    ["0 0 1 JAN,JUL *", "at 00:00, on day 1 of the month, in January and July"],
    ["no cron", ""],
  ])("%s: %s", (cron, words) => {
    expect(ruleWords({ cron })).toBe(words);
  });

  test.each([
    [60, "every minute"],
    [5400, "every 90 minutes"],
    [3600, "every hour"],
    [86_400, "every 24 hours"],
  ])("every %i seconds: %s", (every_seconds, words) => {
    expect(ruleWords({ every_seconds })).toBe(words);
  });
});

describe("changes of a zone's clocks", () => {
  const year = (zone: string) => clockChanges(zone, Date.UTC(2027, 0, 1), Date.UTC(2028, 0, 1));

  test("Berlin goes forward and back once a year, at 01:00 UTC", () => {
    expect(year("Europe/Berlin")).toMatchObject([
      { atMs: Date.UTC(2027, 2, 28, 1), byMs: 3_600_000 },
      { atMs: Date.UTC(2027, 9, 31, 1), byMs: -3_600_000 },
    ]);
    expect(year("UTC")).toEqual([]);
  });

  test("a rule is told which of its times do not exist, or come twice", () => {
    const [forward, back] = year("Europe/Berlin");
    const effects = (cron: string) => [forward, back].map((change) => change && changeEffect({ cron }, change));
    expect(effects("30 2 * * *")).toEqual([
      "clocks go forward from 02:00 to 03:00: 02:30 does not exist, and submits nothing",
      "clocks go back from 03:00 to 02:00: 02:30 comes twice, and submits once",
    ]);
    expect(effects("0 3 * * *")).toEqual([
      "clocks go forward from 02:00 to 03:00",
      "clocks go back from 03:00 to 02:00",
    ]);
    expect(effects("*/20 * * * MON")[0]).toBe("clocks go forward from 02:00 to 03:00");
    expect(effects("*/10 2 * * *")[0]).toContain("02:00 to 02:50 do not exist, and submit nothing");
  });

  test("half an hour, as on Lord Howe Island", () => {
    expect(year("Australia/Lord_Howe").map(({ byMs }) => byMs)).toEqual([-1_800_000, 1_800_000]);
    expect(offsetText(Date.UTC(2027, 6, 1), "Australia/Lord_Howe")).toBe("UTC+10:30");
    expect(offsetText(Date.UTC(2027, 6, 1), "America/St_Johns")).toBe("UTC−02:30");
  });

  test("a day begins with the change where that skips midnight", () => {
    // On 2018-11-04 the clocks of São Paulo went from 00:00 to 01:00.
    const start = dayStart(2018, 11, 4, "America/Sao_Paulo");
    expect(new Date(start).toISOString()).toBe("2018-11-04T03:00:00.000Z");
    expect(dateIn(start - 1, "America/Sao_Paulo")).toEqual([2018, 11, 3]);
  });

  test("a local time that the clocks skip is none", () => {
    expect(instantOf("2027-03-28T02:30", "Europe/Berlin")).toBeUndefined();
    expect(instantOf("2027-10-31T02:30", "Europe/Berlin")).toBe(Date.UTC(2027, 9, 31, 0, 30));
    expect(instantOf("", "Europe/Berlin")).toBeUndefined();
  });
});
