import { describe, expect, test } from "vitest";
import { iso, statusAt } from "../../../src/core/model/record.ts";
import { isTerminal, type Status, statuses, transitions } from "../../../src/core/model/words.ts";
import { newRecord } from "../../support/records.ts";

const now = "2027-01-01T12:00:00.000Z";
const before = "2027-01-01T11:59:59.999Z";
const later = "2027-01-01T12:00:00.001Z";

describe("transitions", () => {
  test("transitions lead from every status to known statuses", () => {
    expect(Object.keys(transitions).sort()).toEqual([...statuses].sort());
    for (const next of Object.values(transitions).flat()) expect(statuses).toContain(next);
  });

  test("a status that has ended leads only to pending, for a new round, and completed leads nowhere", () => {
    expect(transitions.completed).toEqual([]);
    for (const status of ["failed", "cancelled", "expired"] as const) expect(transitions[status]).toEqual(["pending"]);
  });

  test("transitions reach every status from scheduled and pending", () => {
    const reached = new Set<Status>(["scheduled", "pending"]);
    for (const status of reached) for (const next of transitions[status]) reached.add(next);
    expect(reached).toEqual(new Set(statuses));
  });

  test.each([
    ["scheduled", false],
    ["pending", false],
    ["processing", false],
    ["completed", true],
    ["failed", true],
    ["cancelled", true],
    ["expired", true],
  ] as const)("%s is terminal: %s", (status, terminal) => {
    expect(isTerminal(status)).toBe(terminal);
  });
});

describe("the status as of now", () => {
  test.each([
    ["a task without a requested time", {}, "pending"],
    ["a delayed one before its time", { run_at: later, due_at: later }, "scheduled"],
    ["a delayed one at its time", { run_at: now, due_at: now }, "pending"],
    ["a delayed one after an attempt", { run_at: before, due_at: later, attempts_total: 1 }, "pending"],
    ["one that waits for its next attempt", { due_at: later, attempts: 1, attempts_total: 1 }, "pending"],
    ["one with time left to start", { start_by: later }, "pending"],
    ["one that did not start in time", { start_by: now }, "expired"],
    ["a delayed one that can never start in time", { run_at: later, due_at: later, start_by: before }, "expired"],
    ["one that started in time", { status: "processing", start_by: before }, "processing"],
    ["one that ended", { status: "failed", due_at: later, run_at: later }, "failed"],
  ] as const)("the status of %s is right", (_, fields, status) => {
    expect(statusAt(newRecord(fields), now)).toBe(status);
  });
});

test("times are ISO 8601 UTC with milliseconds", () => {
  expect(iso(Date.UTC(2026, 3, 7, 10, 2, 14, 120))).toBe("2026-04-07T10:02:14.120Z");
});
