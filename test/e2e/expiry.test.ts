import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, epoch, expectProblem, expectStatus } from "../support/http-client.ts";
import { takeKey } from "../support/taken-key.ts";
import { startTimelyServer, type TimelyServer } from "../support/timely-server.ts";
import { operator as caller } from "./callers.ts";
import { deployed } from "./command-line.ts";

// On a machine, the tests let the time to expire pass; in a deployment, they wait.
describe("expiry", () => {
  let server: TimelyServer | undefined;
  let operator: Client;
  beforeAll(async () => {
    server = deployed ? undefined : await startTimelyServer();
    operator = server?.operator ?? caller;
  });
  afterAll(() => server?.stop());
  const ended = (taskId: string) => server?.ended(taskId) ?? operator.ended(taskId);

  test("a task that did not start in time expires, and its handler is never called", async () => {
    const taken = await takeKey(operator);
    const { task_id, created_at } = await operator.submit("probe.keyed", taken.input, { expires_in_seconds: 2 });
    const task = await operator.ended(task_id);
    expect(task).toMatchObject({ status: "expired", attempts: 0, started_at: null, result: null, error_kind: null });
    expect(epoch(task.expires_at)).toBe(epoch(created_at) + 2000);
    await taken.free();
    expectProblem(await operator.get(`/tasks/${task_id}/result`), 409, "conflict");
    expectProblem(await operator.post(`/tasks/${task_id}/cancel`), 409, "conflict");
    expectProblem(await operator.post(`/tasks/${task_id}/retry`), 409, "conflict");

    const later = await operator.submit("probe.echo", { value: 1 }, { delay_seconds: 5 });
    await ended(later.task_id);
    expect(await operator.task(task_id)).toMatchObject({ status: "expired", attempts: 0 });
    expect(await operator.attempts(task_id)).toEqual([]);
    const { headers } = expectStatus(await operator.get(`/tasks/${task_id}`), 200);
    expect(headers.get("retry-after")).toBeNull();
  });

  test("a task that started in time does not expire, however long it takes", async () => {
    const ms = server === undefined ? 18_000 : 3_000;
    const { task_id } = await operator.submit("probe.sleep", { ms }, { expires_in_seconds: 15 });
    await operator.waitFor(task_id, ({ status }) => status !== "pending");
    await server?.pass(16);
    expect(await operator.ended(task_id)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("a retry after that time still runs", async () => {
    const input = { kind: "rate_limited", times: 1, retry_after_seconds: 18 };
    const { task_id } = await operator.submit("probe.fail", input, { expires_in_seconds: 15 });
    await operator.waitFor(task_id, ({ status, attempts }) => status !== "pending" || attempts > 0);
    const task = await ended(task_id);
    expect(task).toMatchObject({ status: "completed", attempts: 2 });
  });
});
