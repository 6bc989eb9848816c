import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { expectProblem, expectStatus } from "../support/http-client.ts";
import { admin, anonymous, operator, stranger, submitter } from "./callers.ts";

const parts = ["steps", "input"];
const hostile = ["..%2F..%2Fqueues", "%00", "%F0%9F%92%A5", "x".repeat(1_000), "'%20or%201=1"];

describe.concurrent("what is stored beside a task", () => {
  test("steps of a task that has ended are in the order of its calls, with results", async () => {
    const { task_id } = await operator.submit("probe.steps", { steps: 3 }, { priority: "low" });
    expect(await operator.ended(task_id)).toMatchObject({ status: "completed" });
    const { steps } = expectStatus(await operator.get(`/tasks/${task_id}/steps`), 200).json<{ steps: object[] }>();
    const done = { kind: "step", until: null, at: null, timed_out: false, result_bytes: expect.any(Number) };
    expect(steps).toMatchObject([1, 2, 3].map((order) => ({ ...done, order })));
  });

  test("a waiting task's small input is shown, and a failed one's", async () => {
    const later = await submitter.submit("probe.echo", { value: "small" }, { delay_seconds: 600 });
    for (const client of [submitter, operator, admin]) {
      const answer = expectStatus(await client.get(`/tasks/${later.task_id}/input`), 200);
      expect(answer.json()).toEqual({ input: { value: "small" } });
    }
    await operator.post(`/tasks/${later.task_id}/cancel`);
    const input = { kind: "permanent", message: "no paper" };
    const { task_id } = await operator.submit("probe.fail", input);
    expect(await operator.ended(task_id)).toMatchObject({ status: "failed" });
    expect(expectStatus(await operator.get(`/tasks/${task_id}/input`), 200).json()).toMatchObject({ input });
  });

  test("one that is not kept is told in words", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: "x".repeat(1_000) });
    expect(await operator.ended(task_id)).toMatchObject({ status: "completed" });
    expect(expectProblem(await operator.get(`/tasks/${task_id}/input`), 404, "input_not_kept").detail).toMatch(
      /cannot be read/,
    );
  });

  test("a task of another caller is answered exactly as an unknown one", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: "theirs" }, { delay_seconds: 600 });
    const same = async (client: typeof operator, part: string) => {
      const [theirs, unknown] = await Promise.all(
        [task_id, randomUUID()].map(async (id) =>
          expectProblem(await client.get(`/tasks/${id}/${part}`), 404, "not_found"),
        ),
      );
      expect(theirs?.detail).toBe(unknown?.detail);
      expect(JSON.stringify(theirs)).not.toContain("theirs");
    };
    for (const part of parts) await same(stranger, part);
    await same(submitter, "input");
    await operator.post(`/tasks/${task_id}/cancel`);
  });

  test.for(parts)("%s: roles, and hostile ids", async (part) => {
    const path = `/tasks/${randomUUID()}/${part}`;
    expectProblem(await anonymous.get(path), 401, "unauthenticated");
    expectProblem(await operator.get(`${path}?tenant=${stranger.tenant}`), 403, "forbidden");
    for (const id of hostile) expectProblem(await operator.get(`/tasks/${id}/${part}`), 404, "not_found");
    if (part === "steps") expectProblem(await submitter.get(path), 403, "forbidden");
  });
});
