import { expect, test } from "vitest";
import { scheduleFault } from "../../console/src/pages/schedule-fault.ts";
import type { ScheduleView } from "../../src/client/schedule-calls.ts";

const now = Date.parse("2026-11-26T12:00:00.000Z");
const types = [{ name: "report.daily" }];

const schedule: ScheduleView = {
  ...{
    schedule_id: "s-1",
    name: "daily",
    source: "api",
    for_each_tenant: false,
    cron: "0 2 * * *",
    every_seconds: null,
  },
  ...{ timezone: "UTC", enabled: true, paused_since: null, paused_by: null, starts_at: null, ends_at: null },
  ...{
    overlap: "skip",
    alarm: false,
    task: { type: "report.daily", input: {} },
    next_run_at: "2026-11-27T02:00:00.000Z",
  },
  ...{ last_run_at: "2026-11-26T02:00:00.000Z", last_task_id: "t-1", skipped: 0, last_skipped_at: null },
  ...{ last_skip_reason: null, last_error: null, last_error_at: null, created_by: "olga" },
  ...{ created_at: "2026-11-01T00:00:00.000Z", updated_at: "2026-11-01T00:00:00.000Z" },
};

test.each<[string, Partial<ScheduleView>, object | undefined]>([
  ["runs", {}, undefined],
  [
    "is paused by somebody",
    { enabled: false, paused_by: "eve", paused_since: "2026-11-20T00:00:00.000Z" },
    { text: "paused by eve", since: "2026-11-20T00:00:00.000Z" },
  ],
  [
    "is of a type that is gone",
    { task: { type: "gone", input: {} } },
    { text: "its type gone does not exist any more" },
  ],
  ["was refused", { last_error: "no", last_error_at: "2026-11-26T02:00:00.000Z" }, { text: "no" }],
  [
    "has skipped its last time",
    { skipped: 8, last_skipped_at: "2026-11-26T03:00:00.000Z", last_skip_reason: "overlap: task t-1 has not ended" },
    { text: "its last time was skipped: overlap: task t-1 has not ended", since: "2026-11-26T03:00:00.000Z" },
  ],
  ["skipped a time before its last one", { skipped: 1, last_skipped_at: "2026-11-25T02:00:00.000Z" }, undefined],
  ["is past its end", { ends_at: "2026-11-26T10:00:00.000Z" }, { text: "past its end: it does not run any more" }],
  ["has ended long ago", { ends_at: "2026-11-20T10:00:00.000Z" }, undefined],
])("a schedule that %s", (_, more, expected) => {
  const fault = scheduleFault({ ...schedule, ...more }, types, now);
  if (expected === undefined) expect(fault).toBeUndefined();
  else expect(fault).toMatchObject(expected);
});

test("a list of types that is not read yet hides nothing and invents nothing", () => {
  expect(scheduleFault({ ...schedule, task: { type: "gone", input: {} } }, undefined, now)).toBeUndefined();
});
