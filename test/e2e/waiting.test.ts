import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { expectProblem, expectStatus, type Task } from "../support/http-client.ts";
import { operator, submitter } from "./callers.ts";

const sleeping = async (ms: number) => (await operator.submit("probe.sleep", { ms })).task_id;

describe.concurrent("requests that wait", () => {
  test.each<[string, string, Record<string, string>]>([
    ["?wait=20", "?wait=20", {}],
    ["Prefer: wait=20", "", { prefer: "wait=20" }],
  ])("with %s the answer is the ended task", async (_, query, headers) => {
    const id = await sleeping(4_000);
    const wait = async () => expectStatus(await operator.get(`/tasks/${id}${query}`, headers), 200);
    let answer = await wait();
    // A busy machine may not have come to the task within 20 s.
    while (answer.json<Task>().status !== "completed") answer = await wait();
    expect(answer.json()).toMatchObject({ task_id: id, result: { slept_ms: expect.any(Number) } });
    expect(answer.headers.has("retry-after")).toBe(false);
    expect(answer.headers.get("preference-applied")).toBe(headers.prefer ?? null);
  });

  test("a task that has not ended is answered after the given time, as it is then", async () => {
    const id = await sleeping(600_000);
    await operator.waitFor(id, ({ status }) => status === "processing");
    const begunAt = performance.now();
    const answer = expectStatus(await operator.get(`/tasks/${id}?wait=3`), 200);
    const tookMs = performance.now() - begunAt;
    expect(answer.json()).toMatchObject({ status: "processing" });
    expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    expect(tookMs).toBeGreaterThan(2_900);
    await operator.post(`/tasks/${id}/cancel`);
  });

  test("a task that is retried during the wait is answered after its last attempt", async () => {
    const { task_id } = await operator.submit("probe.fail", { kind: "transient", times: 1 });
    const wait = async () => expectStatus(await operator.get(`/tasks/${task_id}?wait=20`), 200).json<Task>();
    let task = await wait();
    // A busy machine may not have come to the retry within 20 s.
    while (task.status === "pending") task = await wait();
    expect(task).toMatchObject({ status: "completed", attempts: 2 });
  });

  test("a task that has ended is answered, with 304 for its ETag", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 });
    await operator.ended(task_id);
    const answer = expectStatus(await operator.get(`/tasks/${task_id}?wait=20`), 200);
    const etag = answer.headers.get("etag") ?? "";
    expectStatus(await operator.get(`/tasks/${task_id}?wait=20`, { "if-none-match": etag }), 304);
  });

  test("a cancel ends the wait", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 }, { delay_seconds: 300 });
    const waiting = operator.get(`/tasks/${task_id}?wait=20`);
    await operator.post(`/tasks/${task_id}/cancel`);
    expect(expectStatus(await waiting, 200).json()).toMatchObject({ status: "cancelled" });
  });

  test("a wait that is not from 1 to 20 is refused", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 });
    for (const wait of ["0", "21", "soon", ""]) {
      const problem = expectProblem(await operator.get(`/tasks/${task_id}?wait=${wait}`), 422, "invalid_input");
      expect(problem.errors?.[0]?.path).toBe("/wait");
    }
  });

  test("a submitter waits only for its own tasks", async () => {
    const id = await sleeping(30_000);
    const hidden = expectProblem(await submitter.get(`/tasks/${id}?wait=20`), 404, "not_found");
    const missing = expectProblem(await submitter.get(`/tasks/${randomUUID()}?wait=20`), 404, "not_found");
    expect(hidden.detail).toBe(missing.detail);
    await operator.post(`/tasks/${id}/cancel`);
  });
});
