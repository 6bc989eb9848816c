import { describe, expect, test } from "vitest";
import { expectProblem, expectStatus } from "../support/http-client.ts";
import { operator } from "./callers.ts";

describe.concurrent("result", () => {
  test("the result of a task that has not ended gets 202 with Retry-After", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 }, { delay_seconds: 600 });
    const answer = expectStatus(await operator.get(`/tasks/${task_id}/result`), 202);
    expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    await operator.post(`/tasks/${task_id}/cancel`);
  });

  test.for([[{ a: [1, "two", null] }], [null], ["text"], [0], [false]])(
    "the answer is 200 with the bare result: %j",
    async ([value]) => {
      const { task_id } = await operator.submit("probe.echo", { value });
      await operator.ended(task_id);
      const answer = expectStatus(await operator.get(`/tasks/${task_id}/result`), 200);
      expect(answer.headers.get("content-type")).toMatch(/^application\/json\b/);
      expect(answer.headers.get("content-disposition")).toBeNull();
      expect(answer.headers.get("retry-after")).toBeNull();
      expect(answer.json()).toEqual({ value });
    },
  );

  test("a result too large for the record is shown inline, up to 64 KiB", async () => {
    const value = "0123456789abcdef".repeat(2500);
    const { task_id } = await operator.submit("probe.echo", { value });
    const task = await operator.ended(task_id);
    expect(task).toMatchObject({ status: "completed", result_url: null });
    expect(task.result).toEqual({ value });
    expect(expectStatus(await operator.get(`/tasks/${task_id}/result`), 200).json()).toEqual({ value });
  });

  test("the result of a failed task gets 409 with the cause", async () => {
    const { task_id } = await operator.submit("probe.fail", { kind: "permanent", message: "no such account" });
    const task = await operator.ended(task_id);
    const problem = expectProblem(await operator.get(`/tasks/${task_id}/result`), 409, "conflict");
    expect(problem).toMatchObject({ error: task.error, error_type: task.error_type, error_kind: "permanent" });
    expect(problem.error).toContain("no such account");
  });

  test("the result of a cancelled task gets 409", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 }, { delay_seconds: 600 });
    expectStatus(await operator.post(`/tasks/${task_id}/cancel`), 200);
    expectProblem(await operator.get(`/tasks/${task_id}/result`), 409, "conflict");
  });
});
