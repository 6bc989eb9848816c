import { describe, expect, test } from "vitest";
import { epoch, expectProblem, expectStatus } from "../support/http-client.ts";
import { operator } from "./callers.ts";

describe.concurrent("expiry", { timeout: 120_000 }, () => {
  test("a task that did not start in time expires, and its handler is never called", async () => {
    const options = { delay_seconds: 4, expires_in_seconds: 2 };
    const { task_id, created_at } = await operator.submit("probe.echo", { value: 1 }, options);
    const task = await operator.ended(task_id);
    expect(task).toMatchObject({ status: "expired", attempts: 0, started_at: null, result: null, error_kind: null });
    expect(epoch(task.expires_at)).toBe(epoch(created_at) + 2000);
    expectProblem(await operator.get(`/tasks/${task_id}/result`), 409, "conflict");
    expectProblem(await operator.post(`/tasks/${task_id}/cancel`), 409, "conflict");
    expectProblem(await operator.post(`/tasks/${task_id}/retry`), 409, "conflict");

    const later = await operator.submit("probe.echo", { value: 1 }, { delay_seconds: 5 });
    await operator.ended(later.task_id);
    expect(await operator.task(task_id)).toMatchObject({ status: "expired", attempts: 0 });
    expect(await operator.attempts(task_id)).toEqual([]);
    const { headers } = expectStatus(await operator.get(`/tasks/${task_id}`), 200);
    expect(headers.get("retry-after")).toBeNull();
  });

  test("a task that started in time does not expire, however long it takes", async () => {
    const { task_id } = await operator.submit("probe.sleep", { ms: 18_000 }, { expires_in_seconds: 15 });
    expect(await operator.ended(task_id)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("a retry after that time still runs", async () => {
    const input = { kind: "rate_limited", times: 1, retry_after_seconds: 18 };
    const { task_id } = await operator.submit("probe.fail", input, { expires_in_seconds: 15 });
    const task = await operator.ended(task_id);
    expect(task).toMatchObject({ status: "completed", attempts: 2 });
  });
});
