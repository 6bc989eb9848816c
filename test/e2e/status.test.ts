import { describe, expect, test } from "vitest";
import { epoch, expectStatus, timePattern, uuidPattern } from "../support/http-client.ts";
import { operator } from "./callers.ts";

describe.concurrent("status", () => {
  test("a completed task has every field", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 }, { tags: { a: "b" } });
    const time = expect.stringMatching(timePattern);
    expect(await operator.ended(task_id)).toMatchObject({
      task_id: expect.stringMatching(uuidPattern),
      type: "probe.echo",
      status: "completed",
      priority: "normal",
      attempts: 1,
      max_attempts: 5,
      tags: { a: "b" },
      created_at: time,
      updated_at: time,
      started_at: time,
      finished_at: time,
      run_at: null,
      next_attempt_at: null,
      expires_at: null,
      retained_until: time,
      outcome: null,
      result: { value: 1 },
      result_url: null,
      error: null,
      error_type: null,
      error_kind: null,
      correlation_id: expect.stringMatching(/\S/),
      requested_by: expect.stringMatching(/\S/),
      schedule_id: null,
      parent_id: null,
      children: null,
    });
  });

  test("fields without a value are null, not left out", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 }, { delay_seconds: 600 });
    const task = await operator.task(task_id);
    await operator.post(`/tasks/${task_id}/cancel`);
    expect(task).toMatchObject({ status: "scheduled", progress: null, started_at: null, finished_at: null });
    expect(task).toMatchObject({ retained_until: null, result: null, attempts: 0 });
  });

  test("a task goes from pending over processing to completed, with progress that never falls", async () => {
    const accepted = await operator.submit("probe.sleep", { ms: 8000, steps: 20 });
    const statuses: string[] = [accepted.status];
    const progress: number[] = [];
    const last = await operator.ended(accepted.task_id, {
      seen: (task) => {
        if (statuses.at(-1) !== task.status) statuses.push(task.status);
        if (task.progress !== null) progress.push(task.progress);
      },
    });
    expect(statuses).toEqual(["pending", "processing", "completed"]);
    expect(last).toMatchObject({ progress_message: "step 20 of 20", progress_data: { step: 20 } });
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    expect(progress.some((value) => value > 0 && value < 100)).toBe(true);
    expect(progress.every((value) => value >= 0 && value <= 100)).toBe(true);
    expect(epoch(last.started_at)).toBeGreaterThanOrEqual(epoch(last.created_at));
    expect(epoch(last.finished_at)).toBeGreaterThanOrEqual(epoch(last.started_at));
  });

  test("the advice when to poll again never gets shorter while the task is open", async () => {
    const { task_id } = await operator.submit("probe.sleep", { ms: 2500 });
    const hints: number[] = [];
    await operator.ended(task_id, {
      seen: ({ status }, { headers }) => {
        if (status === "completed") return;
        expect(headers.get("cache-control")).toBe("no-store");
        expect(headers.get("retry-after")).toMatch(/^\d+$/);
        hints.push(Number(headers.get("retry-after")));
      },
    });
    expect(hints.length).toBeGreaterThan(0);
    expect(hints).toEqual(hints.toSorted((a, b) => a - b));
    expect(Math.min(...hints)).toBeGreaterThanOrEqual(1);
    expect(Math.max(...hints)).toBeLessThanOrEqual(60);
  });

  test("the answer of a task that has ended may be cached for a minute", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 });
    await operator.ended(task_id);
    const { headers } = expectStatus(await operator.get(`/tasks/${task_id}`), 200);
    expect(headers.get("cache-control")).toBe("private, max-age=60");
    expect(headers.get("retry-after")).toBeNull();
    expect(headers.get("content-type")).toMatch(/^application\/json\b/);
  });

  test("the answer has a strong ETag, and is 304 for a client that has it", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 });
    await operator.ended(task_id);
    const path = `/tasks/${task_id}`;
    const etag = (await operator.get(path)).headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[^"]+"$/);
    for (const tag of [etag, `"other", ${etag}`]) {
      const answer = expectStatus(await operator.get(path, { "if-none-match": tag }), 304);
      expect(answer.bytes).toHaveLength(0);
      expect(answer.headers.get("etag")).toBe(etag);
    }
    expectStatus(await operator.get(path, { "if-none-match": '"other"' }), 200);
  });

  test("the ETag differs after a change", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 }, { delay_seconds: 600 });
    const path = `/tasks/${task_id}`;
    const before = expectStatus(await operator.get(path), 200).headers.get("etag") ?? "";
    expectStatus(await operator.post(`${path}/cancel`), 200);
    const after = expectStatus(await operator.get(path, { "if-none-match": before }), 200).headers.get("etag");
    expect(after).toMatch(/^"[^"]+"$/);
    expect(after).not.toBe(before);
  });

  test("the history has the one attempt of a good task", async () => {
    const { task_id } = await operator.submit("probe.sleep", { ms: 200 });
    const task = await operator.ended(task_id);
    const attempts = await operator.attempts(task_id);
    expect(attempts).toHaveLength(1);
    const [attempt] = attempts;
    expect(attempt).toMatchObject({ round: 1, number: 1, outcome: "completed", started_at: task.started_at });
    expect(attempt?.duration_ms).toBe(epoch(attempt?.finished_at) - epoch(attempt?.started_at));
    expect([attempt?.error, attempt?.error_kind, attempt?.next_attempt_at].every((field) => field == null)).toBe(true);
  });

  test("the history is empty before the first attempt", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 }, { delay_seconds: 600 });
    expect(await operator.attempts(task_id)).toEqual([]);
    await operator.post(`/tasks/${task_id}/cancel`);
  });

  test("an error stays visible while the task waits for its next attempt, and is null once it completed", async () => {
    const input = { kind: "rate_limited", times: 1, message: "slow down, please", retry_after_seconds: 4 };
    const { task_id } = await operator.submit("probe.fail", input);
    const waiting = await operator.waitFor(task_id, ({ status, attempts }) => status === "pending" && attempts === 1);
    expect(waiting).toMatchObject({ error_kind: "rate_limited", error_type: expect.stringMatching(/\S/) });
    expect(waiting.error).toContain("slow down, please");
    expect(waiting.next_attempt_at).toMatch(timePattern);
    expect(waiting.finished_at).toBeNull();
    const completed = await operator.ended(task_id);
    expect(completed).toMatchObject({ status: "completed", attempts: 2, next_attempt_at: null });
    expect(completed).toMatchObject({ error: null, error_type: null, error_kind: null });
  });
});
