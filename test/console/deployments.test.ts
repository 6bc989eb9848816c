import { describe, expect, test } from "vitest";
import { deploymentName, lastOf, marksIn, marksText, newSince } from "../../console/src/deployments.ts";

const at = (clock: string): string => new Date(`2027-03-23T${clock}:00`).toISOString();
const nowMs = Date.parse(at("15:00"));
const deployment = (clock: string, rolled_back = false) => ({
  started_at: at(clock),
  deployed_at: at(clock),
  version: "1.0.0",
  rolled_back,
});
const [last, before] = [deployment("14:02"), deployment("09:30")];

test("the last deployment counts where one before it is known, and none of a time to come", () => {
  expect(lastOf([], nowMs)).toBeUndefined();
  expect(lastOf([last], nowMs)).toBeUndefined();
  expect(lastOf([last, before], nowMs)).toBe(last);
  expect(lastOf([deployment("15:01"), last, before], nowMs)).toBe(last);
  expect(lastOf([deployment("15:01"), last], nowMs)).toBeUndefined();
});

test("new are the groups whose tasks have all failed since then, where all dead letters were read", () => {
  const [old, same, young] = ["13:59", "14:02", "14:40"].map((clock) => ({ first_failed_at: at(clock) }));
  const groups = [old, same, young].filter((group) => group !== undefined);
  expect(newSince(last, { groups, complete: true })).toEqual([same, young]);
  expect(newSince(last, { groups, complete: false })).toBeUndefined();
  expect(newSince(undefined, { groups, complete: true })).toBeUndefined();
});

test("a deployment is named by its time, with its day unless that is today", () => {
  expect(deploymentName(last, nowMs)).toBe("the deployment of 14:02");
  expect(deploymentName(deployment("14:02", true), nowMs)).toBe("the roll-back of 14:02");
  expect(deploymentName(last, nowMs + 86_400_000)).toMatch(/^the deployment of .*23.*14:02$/);
});

describe("marks in a picture of times", () => {
  const marks = (...clocks: string[]) =>
    marksIn(
      clocks.map((clock) => deployment(clock)),
      Date.parse(at("12:00")),
      Date.parse(at("14:00")),
      nowMs,
    );

  test("stand where their times are, and those of other times are left out", () => {
    expect(marks("15:01", "13:00", "11:59")).toEqual([{ id: at("13:00"), at: 50, text: "13:00", isWritten: true }]);
    expect(marks("14:02").map((mark) => mark.at)).toEqual([100]);
  });

  test("have their times beside them, unless these would cover each other or the scale", () => {
    expect(marks("14:00", "13:58", "13:30", "12:05").map(({ isWritten }) => isWritten)).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  test("are three in words, and a number of others", () => {
    expect(marksText(marks("13:00"))).toBe("deployment at 13:00");
    expect(marksText(marks("13:40", "13:30", "13:20", "13:10", "13:00"))).toBe(
      "deployments at 13:40, 13:30, 13:20 and 2 more",
    );
    expect(marksText(marksIn([deployment("13:00", true)], Date.parse(at("12:00")), nowMs, nowMs))).toBe(
      "deployment at 13:00 (rolled back)",
    );
  });
});
