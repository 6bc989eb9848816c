import { describe, expect, test } from "vitest";
import { parseCron, RuleRefused, toAwsCron } from "../../../src/core/schedules/cron.ts";

const translated = (cron: string) => toAwsCron(parseCron(cron));

/** Why a rule is refused. */
function reason(cron: string): string {
  try {
    translated(cron);
  } catch (error) {
    if (error instanceof RuleRefused) return error.message;
    throw error;
  }
  throw new Error(`${cron} is not refused`);
}

describe("the translation of a crontab rule for EventBridge Scheduler", () => {
  test.each([
    ["* * * * *", "* * * * ? *"],
    ["0 2 * * *", "0 2 * * ? *"],
    ["30 2 1 1 *", "30 2 1 1 ? *"],
    ["  5   4\t3 2  * ", "5 4 3 2 ? *"],
    ["00 09 01 02 *", "0 9 1 2 ? *"],
  ])("%s becomes %s", (cron, aws) => expect(translated(cron)).toBe(`cron(${aws})`));

  test.each([
    ["*/15 9-17 * * MON-FRI", "0/15 9-17 ? * MON-FRI *"],
    ["*/7 * * * *", "0/7 * * * ? *"],
    ["5-59/20 */6 * * *", "5/20 0/6 * * ? *"],
    ["10-40/10 * * * *", "10,20,30,40 * * * ? *"],
    ["0 0 */2 * *", "0 0 1/2 * ? *"],
    ["0 0 1 */3 *", "0 0 1 1/3 ? *"],
    ["0 */24 * * *", "0 0 * * ? *"],
    ["*/1 0-23/1 1-31 1-12 *", "* * * * ? *"],
  ])("with steps and ranges, %s becomes %s", (cron, aws) => expect(translated(cron)).toBe(`cron(${aws})`));

  test.each([
    ["0 6,18 1 JAN,JUL *", "0 6,18 1 1,7 ? *"],
    ["3,1,2,1 * * * *", "1-3 * * * ? *"],
    ["0 0 1,2,3,7,9-10 feb-apr *", "0 0 1-3,7,9,10 2-4 ? *"],
    ["1,3,5 * * * *", "1,3,5 * * * ? *"],
  ])("with lists and names, %s becomes %s", (cron, aws) => expect(translated(cron)).toBe(`cron(${aws})`));

  test.each([
    ["0", "SUN"],
    ["7", "SUN"],
    ["1", "MON"],
    ["sat", "SAT"],
    ["0,7", "SUN"],
    ["5-7", "SUN,FRI,SAT"],
    ["SUN-TUE", "SUN-TUE"],
    ["*/2", "SUN,TUE,THU,SAT"],
    ["1-5/2", "MON,WED,FRI"],
  ])("the day-of-week %s becomes %s", (weekday, aws) =>
    expect(translated(`0 9 * * ${weekday}`)).toBe(`cron(0 9 ? * ${aws} *)`),
  );

  test.each(["0-6", "0-7", "*/1", "SUN-SAT"])("every day of the week becomes any day: %s", (weekday) => {
    expect(translated(`0 9 * * ${weekday}`)).toBe("cron(0 9 * * ? *)");
  });
});

describe("the refusal of a rule that is not crontab", () => {
  test.each([
    ["", "five fields"],
    ["* * * *", "found 4"],
    ["* * * * * *", "found 6"],
    ["@daily", 'write "0 0 * * *" in place of @daily'],
    ["60 * * * *", "minute: expected 0 to 59"],
    ["* 24 * * *", "hour: expected 0 to 23"],
    ["0 0 0 * *", "day-of-month: expected 1 to 31"],
    ["0 0 32 * *", 'found "32"'],
    ["0 0 * 13 *", "month: expected 1 to 12, JAN to DEC"],
    ["0 0 * * 8", "day-of-week: expected 0 to 7, SUN to SAT"],
    ["-5 * * * *", "minute"],
    ["1.5 * * * *", "minute"],
    ["1,,2 * * * *", 'found ""'],
    ["1- * * * *", "minute"],
    ["*-5 * * * *", "minute"],
    ["JAN * * * *", "minute"],
    ["0 0 * JANUARY *", "month"],
    ["0 0 * * WEDNESDAY", "day-of-week"],
    ["100 * * * *", "minute"],
    ["*/0 * * * *", "a step from 1 to 60, found 0"],
    ["*/61 * * * *", "a step from 1 to 60, found 61"],
    ["9-5 * * * *", "ends before it starts"],
    ["0 22-6/2 * * *", "ends before it starts; write 22,0,2,4,6"],
    ["50-10/7 * * * *", "ends before it starts; write 50,57,4"],
    ["0 0 1 NOV-FEB/2 *", "ends before it starts; write 11,1"],
    ["0 0 * * FRI-MON/2", "ends before it starts; write 5,0"],
    ["0 0 * * FRI-MON", "ends before it starts; write FRI-7,1"],
    ["0 0 * * SAT-TUE", "write SAT-7,1-2"],
    ["0 0 * * FRI-SUN", "write FRI-7"],
    ["0 0 * * 7-3", "write 7,1-3"],
    ["0 22-6 * * *", "write 22-23,0-6"],
    ["50-10 * * * *", "write 50-59,0-10"],
    ["0 0 1 NOV-FEB *", "write NOV-12,1-2"],
    ["0 0 25-1 * *", "write 25-31,1"],
    ["0 0 ? * MON", "write * in place of ?"],
    ["0 0 12 * * *", "found 6: write no seconds and no year"],
    ["0 0 12 * * ? 2027", "found 7: write no seconds and no year"],
    [
      "cron(0 12 * * ? *)",
      'write five fields, as in crontab, without cron( ) and the year, and * in place of ?: "0 12 * * *"',
    ],
    ["cron(0 12 ? * 2-6 *)", "without cron( ) and the year, and * in place of ?"],
    ["rate(5 minutes)", "every_seconds"],
    ["CRON_TZ=Europe/Berlin 0 2 * * *", "write it in the field timezone"],
    ["TZ=UTC 0 2 * * *", "write it in the field timezone"],
    ["@yearly", '"0 0 1 1 *"'],
    ["@annually", '"0 0 1 1 *"'],
    ["@monthly", '"0 0 1 * *"'],
    ["@weekly", '"0 0 * * 0"'],
    ["@midnight", '"0 0 * * *"'],
    ["@HOURLY", '"0 * * * *"'],
    ["@every_minute", '"* * * * *"'],
    ["@every 5m", "every_seconds"],
    ["@reboot", "is no time"],
    ["0 7 */2 * 1", "days that match both fields"],
    ["0 7 1 * 1", "either field"],
    ["5/15 * * * *", "such as 5-59/15"],
  ])("%j is refused with %s", (cron, words) => expect(reason(cron)).toContain(words));

  test.each(["0 12 * * 5L", "0 12 * * L", "0 0 L * *", "0 0 LW * *", "0 0 15W * *", "0 0 * * MON#2", "0 0 ? * MON"])(
    "signs of other crons are refused: %s",
    (cron) => expect(reason(cron)).toContain("L, W, # and ? are not part of crontab"),
  );
});

describe("a rule that EventBridge Scheduler cannot express", () => {
  test.each(["0 0 1 * MON", "0 0 */2 * MON", "0 0 1 * 0-6", "0 0 1-31 * MON"])(
    "a rule with two kinds of day is refused: %s",
    (cron) => {
      expect(reason(cron)).toContain("day-of-month and day-of-week are both restricted");
    },
  );
});

test("the longest rule is no longer than EventBridge Scheduler allows", () => {
  const twoOfThree = (least: number, most: number) =>
    Array.from({ length: most - least + 1 }, (_, index) => least + index).filter((_, index) => index % 3 < 2);
  const fields = [twoOfThree(0, 59), twoOfThree(0, 23), twoOfThree(1, 31), twoOfThree(1, 12)];
  expect(translated(`${fields.map((numbers) => numbers.join(",")).join(" ")} *`)).toHaveLength(238);
});

describe("a rule that never fires", () => {
  test.each(["0 0 31 2 *", "0 0 30 FEB *", "0 0 31 4,6,9,11 *", "0 0 30-31 2 *"])("%s is refused", (cron) => {
    expect(reason(cron)).toContain("never fires");
  });

  test.each(["0 0 29 2 *", "0 0 31 4,5 *", "0 0 28-31 2 *", "0 0 * 2 *"])(
    "a rule that fires rarely is accepted: %s",
    (cron) => {
      expect(translated(cron)).toMatch(/^cron/);
    },
  );
});
