import { describe, expect, test, vi } from "vitest";
import { Problem } from "../../../../src/core/model/problem.ts";
import type { Attempt, TaskRecord } from "../../../../src/core/model/record.ts";
import {
  attemptsOf,
  attemptView,
  pollAfterSeconds,
  resultOf,
  viewOf,
  viewTask,
} from "../../../../src/core/pipeline/end/view.ts";
import { MemoryBlobs } from "../../../../src/memory/blobs.ts";
import { FakeClock } from "../../../../src/memory/clock.ts";
import { MemoryFamilies } from "../../../../src/memory/families.ts";
import { MemoryRecords } from "../../../../src/memory/records.ts";
import fc from "../../../support/fast-check.ts";
import { newRecord } from "../../../support/records.ts";

const now = "2027-01-01T12:00:00.000Z";
const before = "2027-01-01T11:00:00.000Z";
const later = "2027-01-01T13:00:00.000Z";
const view = (more: Partial<TaskRecord>) => viewOf(newRecord(more), now);

/** Ports at `now`. */
function newPorts() {
  const clock = new FakeClock(Date.parse(now));
  return { families: new MemoryFamilies(), records: new MemoryRecords(), clock, blobs: new MemoryBlobs(clock) };
}

const ended = { finished_at: before, retained_until: later } as const;
const reference = (more: object) => ({ part: 1, bytes: 5000, content_type: "application/json", ...more });

describe("a task as clients see it", () => {
  test("a view has exactly the contract's fields, in its order, with null for what is absent", () => {
    const record = newRecord();
    const shown = viewOf(record, now);
    expect(JSON.stringify(shown)).toBe(
      JSON.stringify({
        task_id: record.task_id,
        type: "echo",
        status: "pending",
        priority: "normal",
        progress: null,
        progress_message: null,
        progress_data: null,
        attempts: 0,
        max_attempts: 5,
        tags: {},
        created_at: record.created_at,
        updated_at: record.updated_at,
        started_at: null,
        finished_at: null,
        run_at: null,
        next_attempt_at: null,
        waiting_for: null,
        expires_at: null,
        retained_until: null,
        cancel_requested_at: null,
        outcome: null,
        result: null,
        result_url: null,
        error: null,
        error_type: null,
        error_kind: null,
        correlation_id: record.correlation_id,
        requested_by: "olga",
        schedule_id: null,
        scheduled_for: null,
        parent_id: null,
        children: null,
        caused_by: null,
        on_failed: null,
      }),
    );
  });

  test("a view has the note of the newest attempt's progress, and no earlier one", () => {
    const note = { attempt: 2, message: "page 4 of 10", data: '{"page":4}' };
    const shown = (more: object) => {
      const { progress_message, progress_data } = viewOf(newRecord({ progress_note: note, ...more }), now);
      return [progress_message, progress_data];
    };
    expect(shown({ progress: 40, attempts_total: 2 })).toEqual(["page 4 of 10", { page: 4 }]);
    expect(shown({ progress: 10, attempts_total: 3 })).toEqual([null, null]);
    expect(shown({ attempts_total: 2 })).toEqual([null, null]);
  });

  test("a view shows what the record has", () => {
    const shown = {
      priority: "low",
      progress: 34,
      attempts: 1,
      tags: { a: "b" },
      started_at: before,
      run_at: before,
      expires_at: later,
      correlation_id: "c",
      schedule_id: "s",
      scheduled_for: before,
      parent_id: "p",
    } as const;
    expect(view({ ...shown, status: "processing" })).toMatchObject(shown);
  });

  test("a view shows no internal field", () => {
    const inside = { tenant_id: "acme", request_hash: "h", lease_until: later, lease_token: "t", purge_at: 7 };
    const shown = JSON.stringify(view({ ...inside, status: "processing", due_at: later, start_by: later }));
    for (const name of [...Object.keys(inside), "due_at", "start_by", "history", "attempts_total", "round"]) {
      expect(shown).not.toContain(`"${name}"`);
    }
  });

  test("a view of a waiting task shows the last error and the time of the next attempt", () => {
    const failure = { error: "down", error_type: "Unavailable", error_kind: "unavailable" } as const;
    expect(view({ ...failure, attempts: 1, attempts_total: 1, due_at: later })).toMatchObject({
      ...failure,
      status: "pending",
      next_attempt_at: later,
    });
  });

  test("a view has no next attempt before the first one, and none after the end", () => {
    expect(view({ due_at: later }).next_attempt_at).toBeNull();
    expect(view({ ...ended, status: "failed", attempts: 1, due_at: later }).next_attempt_at).toBeNull();
  });

  test("a view is scheduled until its time, then pending", () => {
    expect(view({ run_at: later, due_at: later })).toMatchObject({ status: "scheduled", run_at: later });
    expect(view({ run_at: before, due_at: before })).toMatchObject({ status: "pending", run_at: before });
  });

  test("a view is expired as soon as the task can no longer start, and finished then", () => {
    expect(view({ start_by: before, expires_at: before })).toMatchObject({ status: "expired", finished_at: before });
  });

  test("a view of a completed task is at 100 %", () => {
    expect(view({ ...ended, status: "completed", progress: 60 }).progress).toBe(100);
    expect(view({ ...ended, status: "failed", progress: 60 }).progress).toBe(60);
  });

  test("of a family, progress never goes back", () => {
    const none = { completed: 0, failed: 0, cancelled: 0, expired: 0 };
    const shown = (more: Partial<TaskRecord>, open: number, total: number, sealed = true) =>
      viewOf(newRecord({ status: "processing", ...more }), now, { children: { ...none, open, total, sealed } })
        .progress;
    const all = [
      shown({ progress: 40 }, 10, 10, false),
      shown({ progress: 40 }, 10, 10),
      shown({ progress: 40 }, 5, 10),
      shown({ progress: 40 }, 0, 10),
      // Its attempt that aggregates spawns ten more.
      shown({ closing_from: 1 }, 0, 10),
      shown({ closing_from: 1 }, 10, 20, false),
      shown({ closing_from: 1 }, 10, 20),
    ];
    expect(all).toEqual([40, 40, 50, 100, 100, 100, 100]);
    expect(shown({}, 10, 10, false)).toBeNull();
  });
});

describe("a result", () => {
  const completed = { ...ended, status: "completed" } as const;

  test.each([[{ a: 1 }], ["text"], [0], [false], [null]])("%j of the record is shown inline", async (result) => {
    const ports = newPorts();
    const record = newRecord({ ...completed, result });
    expect(await viewTask(ports, record)).toMatchObject({ result, result_url: null });
    expect(await resultOf(ports, record)).toEqual({ body: JSON.stringify(result), contentType: "application/json" });
  });

  test("a result that was never set is null", async () => {
    const ports = newPorts();
    const record = newRecord(completed);
    expect((await viewTask(ports, record)).result).toBeNull();
    expect(await resultOf(ports, record)).toEqual({ body: "null", contentType: "application/json" });
  });

  test("a result beside the record is shown inline up to 64 KiB", async () => {
    const ports = newPorts();
    const record = newRecord({ ...completed, result_ref: reference({ bytes: 65_536 }) });
    await ports.records.savePart(record, "result#1", '{"a":1}', 0);
    expect(await viewTask(ports, record)).toMatchObject({ result: { a: 1 }, result_url: null });
  });

  test.each([
    ["larger JSON", { bytes: 65_537 }],
    ["a file", { content_type: "text/plain", file_name: "a.txt" }],
  ])("a result that is %s has a URL instead", async (_, more) => {
    const ports = newPorts();
    const record = newRecord({ ...completed, result_ref: reference(more) });
    await ports.records.savePart(record, "result#1", '{"a":1}', 0);
    expect(await viewTask(ports, record)).toMatchObject({
      result: null,
      result_url: `/tasks/${record.task_id}/result`,
    });
  });

  test("a result beside the record that was not read has a URL", () => {
    const record = newRecord({ ...completed, result_ref: reference({}) });
    expect(viewOf(record, now)).toMatchObject({ result: null, result_url: `/tasks/${record.task_id}/result` });
  });

  test("a result is read from the newest attempt's part", async () => {
    const ports = newPorts();
    const record = newRecord({ ...completed, result_ref: reference({ part: 3 }) });
    await ports.records.savePart(record, "result#2", '"late"', 0);
    await ports.records.savePart(record, "result#3", '"mine"', 0);
    expect((await viewTask(ports, record)).result).toBe("mine");
  });

  test("a result that is a file has its bytes, content type and name", async () => {
    const ports = newPorts();
    const result_ref = reference({ content_type: "application/pdf", file_name: "a.pdf" });
    const record = newRecord({ ...completed, result_ref });
    const bytes = new Uint8Array([0, 255, 10]);
    await ports.records.savePart(record, "result#1", bytes, 0);
    expect(await resultOf(ports, record)).toEqual({ body: bytes, contentType: "application/pdf", fileName: "a.pdf" });
  });

  test("an encrypted result is never inline, and has its content type", async () => {
    const ports = newPorts();
    const record = newRecord({ ...completed, result_ref: reference({ content_type: "application/jose" }) });
    await ports.records.savePart(record, "result#1", "a.b.c.d.e", 0);
    const view = await viewTask(ports, record);
    expect(view).toMatchObject({ result: null, result_url: `/tasks/${record.task_id}/result` });
    expect(await resultOf(ports, record)).toEqual({ body: "a.b.c.d.e", contentType: "application/jose" });
  });

  test("a result in the bucket is at a URL with its content type and name, for 15 minutes", async () => {
    const ports = newPorts();
    const blob = "acme/1/result-1";
    const result_ref = reference({ blob, content_type: "video/mp4", file_name: "a.mp4" });
    const record = newRecord({ ...completed, result_ref });
    await ports.blobs.put(blob, new Uint8Array([1, 2]), { contentType: "text/plain" });
    expect(await viewTask(ports, record)).toMatchObject({ result: null, result_url: expect.any(String) });
    const served = await resultOf(ports, record);
    const url = served !== undefined && "location" in served ? served.location : "";
    expect(await ports.blobs.request({ method: "GET", url })).toMatchObject({
      status: 200,
      headers: { "content-type": "video/mp4", "content-disposition": 'attachment; filename="a.mp4"' },
    });
    await ports.clock.advance(900_001);
    expect(await ports.blobs.request({ method: "GET", url })).toMatchObject({ status: 403 });
  });

  test("the URL of a result in the bucket ends with the task's retention", async () => {
    const ports = newPorts();
    const sign = vi.spyOn(ports.blobs, "presignGet");
    const purge_at = Date.parse(now) / 1000 + 60;
    await resultOf(ports, newRecord({ ...completed, purge_at, result_ref: reference({ blob: "k" }) }));
    expect(sign).toHaveBeenCalledWith("k", expect.objectContaining({ expiresSeconds: 60 }));
  });

  test("a result with a location is there", async () => {
    const record = newRecord({ ...completed, result: { id: 42 }, location: "/orders/42" });
    expect(await resultOf(newPorts(), record)).toEqual({ location: "/orders/42" });
    expect((await viewTask(newPorts(), record)).result).toEqual({ id: 42 });
  });

  test.each([{ location: "/orders/42" }, {}])("an acknowledged result is gone, with %j", async (more) => {
    const record = newRecord({ ...completed, ...more, acknowledged_at: before });
    await expect(resultOf(newPorts(), record)).rejects.toMatchObject({ code: "gone" });
    // So that a client asks for the result, and is not given null.
    expect(view(record).result_url).toBe(`/tasks/${record.task_id}/result`);
  });

  test("a result that is no longer kept is gone", async () => {
    const record = newRecord({ ...completed, result_ref: reference({}) });
    await expect(resultOf(newPorts(), record)).rejects.toMatchObject({ code: "gone" });
  });

  test.each(["pending", "processing"] as const)("a task that is %s has no result yet", async (status) => {
    expect(await resultOf(newPorts(), newRecord({ status }))).toBeUndefined();
  });

  test.each(["failed", "cancelled", "expired"] as const)(
    "the result of a task that is %s is a conflict",
    async (status) => {
      const failure = { error: "closed", error_type: "PermanentError", error_kind: "permanent" } as const;
      const error = await resultOf(newPorts(), newRecord({ ...ended, status, ...failure })).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(Problem);
      expect(error).toMatchObject({ code: "conflict", options: { extra: { task_status: status, ...failure } } });
    },
  );

  test("the result of a task that did not start in time is a conflict, although the record still says pending", async () => {
    await expect(resultOf(newPorts(), newRecord({ start_by: before }))).rejects.toMatchObject({ code: "conflict" });
  });
});

describe("attempts", () => {
  const attempt = (round: number, number: number): Attempt => ({
    round,
    number,
    started_at: before,
    finished_at: now,
    outcome: "failed",
  });

  test("attempts have exactly the contract's fields", () => {
    const failed: Attempt = {
      ...attempt(1, 2),
      outcome: "retried",
      error: "down",
      error_type: "Unavailable",
      error_kind: "unavailable",
      next_attempt_at: later,
    };
    expect(attemptView(failed, false)).toEqual({ ...failed, duration_ms: 3_600_000 });
    expect(attemptView({ ...failed, stack: "Error\n    at place" }, false)).not.toHaveProperty("stack");
    expect(attemptView({ ...failed, stack: "Error\n    at place" }, true)).toMatchObject({
      stack: "Error\n    at place",
    });
    expect(attemptView(failed, true)).toMatchObject({ stack: null });
    expect(attemptView({ ...attempt(1, 1), outcome: "completed" }, false)).toEqual({
      ...attempt(1, 1),
      outcome: "completed",
      duration_ms: 3_600_000,
      error: null,
      error_type: null,
      error_kind: null,
      next_attempt_at: null,
    });
  });

  test("attempts of all rounds come oldest first", async () => {
    const ports = newPorts();
    const record = newRecord({ round: 3, history: [attempt(3, 1)] });
    await ports.records.savePart(record, "round#1", [attempt(1, 1), attempt(1, 2)], 0);
    await ports.records.savePart(record, "round#2", [attempt(2, 1)], 0);
    const order = (await attemptsOf(ports, record, { stacks: true })).map(({ round, number }) => [round, number]);
    expect(order).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
      [3, 1],
    ]);
  });
});

describe("the advice when to poll again", () => {
  test("the wait until the next poll is a tenth of the task's age, from 1 to 60 s", () => {
    const record = newRecord({ created_at: now });
    const after = (seconds: number) => pollAfterSeconds(record, Date.parse(now) + seconds * 1000);
    expect([-5, 0, 9, 20, 100, 600, 1e9].map(after)).toEqual([1, 1, 1, 2, 10, 60, 60]);
  });

  test("the wait until the next poll never falls as the task ages", () => {
    const record = newRecord({ created_at: now });
    fc.assert(
      fc.property(fc.nat(10_000_000), fc.nat(10_000_000), (ageMs, laterMs) => {
        const [first, second] = [ageMs, ageMs + laterMs].map((ms) => pollAfterSeconds(record, Date.parse(now) + ms));
        expect(second).toBeGreaterThanOrEqual(first ?? 0);
        expect(first).toBeGreaterThanOrEqual(1);
        expect(second).toBeLessThanOrEqual(60);
        expect(Number.isInteger(second)).toBe(true);
      }),
    );
  });
});
