import { describe, expect, test } from "vitest";
import { epoch, expectProblem, expectStatus } from "../support/http-client.ts";
import { operator } from "./callers.ts";

const echo = { value: 1 };
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

describe.concurrent("delays", () => {
  test.for([1, 2, 5])("a task with delay_seconds %i never starts before it is due", async (seconds) => {
    const accepted = await operator.submit("probe.echo", echo, { delay_seconds: seconds });
    const first = await operator.task(accepted.task_id);
    const due = epoch(accepted.created_at) + 1000 * seconds;
    expect(epoch(first.run_at)).toBe(due);
    const task = await operator.ended(accepted.task_id);
    expect(task).toMatchObject({ status: "completed", attempts: 1 });
    const [attempt] = await operator.attempts(accepted.task_id);
    expect(epoch(attempt?.started_at)).toBeGreaterThanOrEqual(due);
  });

  test("a task with a future run_at never starts before it", async () => {
    const runAt = inMs(3000);
    const { task_id } = await operator.submit("probe.echo", echo, { run_at: runAt });
    const task = await operator.ended(task_id);
    expect(task).toMatchObject({ status: "completed", run_at: runAt });
    expect(epoch(task.started_at)).toBeGreaterThanOrEqual(epoch(runAt));
  });

  test("run_at may have an offset from UTC", async () => {
    const local = new Date(Date.now() + 2000 + 7_200_000).toISOString().replace("Z", "+02:00");
    const { task_id } = await operator.submit("probe.echo", echo, { run_at: local });
    const task = await operator.ended(task_id);
    expect(task.status).toBe("completed");
    expect(epoch(task.run_at)).toBe(Date.parse(local));
    expect(epoch(task.started_at)).toBeGreaterThanOrEqual(Date.parse(local));
  });

  test.for([{ run_at: "2020-02-29T12:00:00.000Z" }, { run_at: "2020-02-29T12:00:00Z" }, { delay_seconds: 0 }])(
    "%j means now",
    async (options) => {
      const { task_id, status } = await operator.submit("probe.echo", echo, options);
      expect(status).toBe("pending");
      expect(await operator.ended(task_id)).toMatchObject({ status: "completed", attempts: 1 });
    },
  );

  test.for([10 * 60, 16 * 60, 40 * 86_400, 31_536_000])(
    "a task with a delay of %i s is scheduled first, and can be cancelled",
    async (seconds) => {
      const accepted = await operator.submit("probe.echo", echo, { delay_seconds: seconds });
      expect(accepted.status).toBe("scheduled");
      const task = await operator.task(accepted.task_id);
      expect(task).toMatchObject({ status: "scheduled", attempts: 0, started_at: null });
      expect(epoch(task.run_at)).toBe(epoch(accepted.created_at) + 1000 * seconds);
      const answer = expectStatus(await operator.post(`/tasks/${accepted.task_id}/cancel`), 200);
      expect(answer.json()).toMatchObject({ status: "cancelled" });
    },
  );

  test("delay_seconds together with run_at is refused", async () => {
    const body = { type: "probe.echo", input: echo, delay_seconds: 1, run_at: inMs(1000) };
    expectProblem(await operator.post("/tasks", body), 422, "invalid_input");
  });
});
