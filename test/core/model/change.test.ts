import { describe, expect, test } from "vitest";
import { applyChange, type Change, passes, type Test } from "../../../src/core/model/change.ts";
import { newRecord } from "../../support/records.ts";

const early = "2027-01-01T00:00:00.000Z";
const noon = "2027-01-01T12:00:00.000Z";
const late = "2027-01-02T00:00:00.000Z";

describe("a test of a field", () => {
  test.each<[Test, unknown, boolean]>([
    [{ is: "pending" }, "pending", true],
    [{ is: "pending" }, "failed", false],
    [{ is: 0 }, 0, true],
    [{ is: 0 }, undefined, false],
    [{ in: ["pending", "failed"] }, "failed", true],
    [{ in: ["pending", "failed"] }, "expired", false],
    [{ in: [] }, "failed", false],
    [{ in: ["failed"] }, undefined, false],
    [{ atMost: noon }, early, true],
    [{ atMost: noon }, noon, true],
    [{ atMost: noon }, late, false],
    [{ atMost: noon }, undefined, false],
    [{ atMost: noon, orAbsent: true }, undefined, true],
    [{ atMost: noon, orAbsent: true }, late, false],
    [{ above: 5 }, 6, true],
    [{ above: 5 }, 5, false],
    [{ above: 5 }, undefined, false],
    [{ above: 5, orAbsent: true }, undefined, true],
    [{ absent: true }, undefined, true],
    [{ absent: true }, "", false],
    [{ absent: true }, 0, false],
  ])("%j on %j is %j", (condition, value, expected) => {
    expect(passes(condition, value)).toBe(expected);
  });
});

describe("a change", () => {
  const attempt = { round: 1, number: 1, started_at: early, finished_at: noon, outcome: "retried" } as const;

  test("a change sets, removes, adds and appends in one step", () => {
    const record = newRecord({ progress: 40, start_by: late });
    const change: Change = {
      when: { status: { is: "pending" }, due_at: { atMost: noon } },
      set: { status: "processing", updated_at: noon },
      remove: ["progress", "start_by"],
      add: { attempts: 1, attempts_total: 1 },
      append: attempt,
    };
    const { progress, start_by, ...rest } = record;
    expect(applyChange(record, change)).toEqual({
      ...rest,
      status: "processing",
      updated_at: noon,
      attempts: 1,
      attempts_total: 1,
      history: [attempt],
    });
  });

  test("a change appends behind what exists", () => {
    const record = newRecord({ history: [attempt] });
    const next = { ...attempt, number: 2 };
    expect(applyChange(record, { when: {}, append: next })?.history).toEqual([attempt, next]);
    const set = { history: [{ ...attempt, stack_of: 1 }] };
    expect(applyChange(record, { when: {}, set, append: next })?.history).toEqual([...set.history, next]);
  });

  test("a change is refused when one of its tests fails", () => {
    const change: Change = { when: { status: { is: "pending" }, round: { is: 2 } }, set: { status: "failed" } };
    expect(applyChange(newRecord(), change)).toBeUndefined();
  });

  test("a change leaves fields alone that it sets to undefined", () => {
    const record = newRecord({ outcome: "CREATED" });
    expect(applyChange(record, { when: {}, set: { outcome: undefined, result: undefined } })).toEqual(record);
  });

  test("a change never modifies the record that it gets", () => {
    const record = newRecord({ progress: 1, history: [attempt] });
    const before = structuredClone(record);
    applyChange(record, {
      when: {},
      set: { status: "failed" },
      remove: ["progress"],
      add: { round: 1 },
      append: { ...attempt, number: 2 },
    });
    expect(record).toEqual(before);
  });
});
