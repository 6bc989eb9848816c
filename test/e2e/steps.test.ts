import { describe, expect, test } from "vitest";
import { Client, epoch, expectProblem, expectStatus, type Task } from "../support/http-client.ts";
import { baseUrl, operator, stranger, submitter } from "./callers.ts";

type Waiting = Task & { waiting_for: { kind: string; until: string; signals?: string[] } | null };

const options = { priority: "low" };
const signal = (id: string, name: string, body: unknown, client = operator) =>
  client.post(`/tasks/${id}/signals/${name}`, body);

/** A task of `probe.wait`, once it waits. */
async function waiting(name: string, timeout_seconds: number): Promise<Waiting> {
  const { task_id } = await operator.submit("probe.wait", { name, timeout_seconds }, options);
  return (await operator.waitFor(task_id, (task) => (task as Waiting).waiting_for != null)) as Waiting;
}

describe.concurrent("steps and waits", () => {
  test.each([1, 3, 5])(
    "five steps are done once each when the first attempt fails after step %i",
    async (fail_after) => {
      const { task_id } = await operator.submit("probe.steps", { steps: 5, fail_after }, options);
      const task = await operator.ended(task_id);
      expect(task).toMatchObject({ status: "completed", attempts: 2, result: { counts: [1, 1, 1, 1, 1] } });
      expect((await operator.attempts(task_id)).map(({ outcome }) => outcome)).toEqual(["retried", "completed"]);
    },
  );

  test("sleeps between steps are no attempts, and never end early", async () => {
    const { task_id } = await operator.submit("probe.steps", { steps: 3, sleep_seconds: 3 }, options);
    const asleep = (await operator.waitFor(task_id, (task) => (task as Waiting).waiting_for != null)) as Waiting;
    expect(asleep).toMatchObject({ status: "pending", attempts: 1, next_attempt_at: null });
    expect(asleep.waiting_for).toMatchObject({ kind: "sleep", until: expect.stringMatching(/Z$/) });
    const task = await operator.ended(task_id);
    expect(task).toMatchObject({ status: "completed", attempts: 1, result: { counts: [1, 1, 1] } });
    expect(epoch(task.finished_at) - epoch(task.created_at)).toBeGreaterThanOrEqual(6_000);
    expect(await operator.attempts(task_id)).toMatchObject([{ number: 1, outcome: "completed" }]);
  });

  test("a task that waits shows for what, and gets the signal's body", async () => {
    const task = await waiting("approved", 3600);
    expect(task).toMatchObject({ status: "pending", attempts: 1 });
    expect(task.waiting_for).toMatchObject({ kind: "signal", signals: ["approved"] });
    expect(epoch(task.waiting_for?.until) - epoch(task.created_at)).toBeGreaterThanOrEqual(3_600_000);
    const answer = expectStatus(await signal(task.task_id, "approved", { by: "ada", amounts: [1, null] }), 202);
    expect(answer.json()).toMatchObject({ task_id: task.task_id });
    expect(await operator.ended(task.task_id)).toMatchObject({
      status: "completed",
      attempts: 1,
      result: { signal: { by: "ada", amounts: [1, null] } },
    });
    expectProblem(await signal(task.task_id, "approved", { by: "ada", amounts: [1, null] }), 409, "conflict");
  });

  test("a wait without a signal times out", async () => {
    const { task_id } = await operator.submit("probe.wait", { name: "never", timeout_seconds: 2 }, options);
    const task = await operator.ended(task_id);
    expect(task).toMatchObject({ status: "completed", attempts: 1, result: { signal: null } });
    expect(epoch(task.finished_at) - epoch(task.created_at)).toBeGreaterThanOrEqual(2_000);
  });

  test("a signal that comes before the task starts is kept", async () => {
    const input = { name: "early", timeout_seconds: 3600 };
    const { task_id } = await operator.submit("probe.wait", input, { ...options, delay_seconds: 20 });
    for (const _ of [1, 2]) expectStatus(await signal(task_id, "early", "first"), 202);
    expectProblem(await signal(task_id, "early", "second"), 409, "conflict");
    expect(await operator.ended(task_id)).toMatchObject({ status: "completed", result: { signal: "first" } });
  });

  test("a step is tried again by itself, and its task's attempts do not move", async () => {
    const input = { failures: 2, base_seconds: 2 };
    const { task_id } = await operator.submit("probe.tries", input, options);
    const waiting = (await operator.waitFor(task_id, (task) => (task as Waiting).waiting_for != null)) as Waiting;
    expect(waiting).toMatchObject({ status: "pending", attempts: 1, error: null });
    expect(waiting.waiting_for).toMatchObject({ step: "fails", until: expect.stringMatching(/Z$/) });
    const task = await operator.ended(task_id);
    expect(task).toMatchObject({ status: "completed", attempts: 1, result: { attempts: [3, 1], failed: null } });
    expect(epoch(task.finished_at)).toBeGreaterThanOrEqual(epoch(waiting.waiting_for?.until));
    expect(await operator.attempts(task_id)).toMatchObject([{ number: 1, outcome: "completed" }]);
    const { steps } = expectStatus(await operator.get(`/tasks/${task_id}/steps`), 200).json<{ steps: Task[] }>();
    expect(steps.map(({ error }) => error).filter((error) => error !== null)).toHaveLength(2);
  });

  test.each([true, false])("a step that fails for good can be caught (%s), or fails its task", async (catches) => {
    const input = { failures: 100, max_attempts: 2, catches };
    const { task_id } = await operator.submit("probe.tries", input, options);
    const task = await operator.ended(task_id);
    const cause = "attempt 2 of the step fails, as its input requested";
    const error = `step "fails" failed after 2 attempts: ${cause}`;
    if (catches) expect(task).toMatchObject({ status: "completed", result: { failed: { step: "fails", cause } } });
    else expect(task).toMatchObject({ status: "failed", attempts: 1, error_type: "StepFailed", error });
  });

  test("signals of one name are read one after the other: each request is one more, and a repeat under its key is none", async () => {
    const { task_id } = await operator.submit("probe.signals", { timeout_seconds: 3600 }, options);
    const once = { "idempotency-key": "once" };
    for (const body of ["a", "a"]) expectStatus(await signal(task_id, "message", body), 202);
    for (const _ of [1, 2]) expectStatus(await operator.post(`/tasks/${task_id}/signals/message`, "b", once), 202);
    expectProblem(await operator.post(`/tasks/${task_id}/signals/message`, "c", once), 422, "idempotency_key_reused");
    await operator.waitFor(task_id, (task) => (task as Waiting).waiting_for != null);
    expectStatus(await signal(task_id, "message", "end"), 202);
    expect(await operator.ended(task_id)).toMatchObject({
      ...{ status: "completed", attempts: 1 },
      result: { read: ["a", "a", "b"] },
    });
    expectProblem(await signal(task_id, "message", "late"), 409, "conflict");
  });

  test("one of several signals ends a wait, and a date ends one, too", async () => {
    const input = { names: ["approve", "reject"], timeout_seconds: 3600 };
    const { task_id } = await operator.submit("probe.any", input, options);
    const task = (await operator.waitFor(task_id, (task) => (task as Waiting).waiting_for != null)) as Waiting;
    expect(task.waiting_for).toMatchObject({ kind: "signal", signals: ["approve", "reject"] });
    expectStatus(await signal(task_id, "reject", { by: "eve" }), 202);
    const ended = await operator.ended(task_id);
    expect(ended).toMatchObject({ status: "completed", result: { signal: { name: "reject", body: { by: "eve" } } } });
    const until = new Date(Date.now() + 3_000).toISOString();
    const late = await operator.submit("probe.any", { names: ["never"], until }, options);
    const { status, result } = await operator.ended(late.task_id);
    expect({ status, result }).toMatchObject({ status: "completed", result: { signal: null } });
    expect(Date.parse((result as { now: string }).now)).toBeGreaterThanOrEqual(Date.parse(until));
  });

  test("a link sends its signal once, without a key", async () => {
    const input = { names: ["approve"], timeout_seconds: 3600, link_seconds: 600 };
    const { task_id } = await operator.submit("probe.any", input, options);
    await operator.waitFor(task_id, (task) => (task as Waiting).waiting_for != null);
    const steps = expectStatus(await operator.get(`/tasks/${task_id}/steps`), 200).json();
    const link = JSON.stringify(steps).match(/https?:[^"\\]+(\/signals\/ofs_[\w-]{43})/);
    const path = link?.[1] ?? "";
    const anybody = new Client(baseUrl);
    expect((await anybody.get(path)).status).toBe(200);
    expect(await operator.task(task_id)).toMatchObject({ status: "pending" });
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const send = async (by: string) => (await anybody.send("POST", path, { raw: `by=${by}`, headers: form })).status;
    expect([await send("ada"), await send("ada"), await send("eve")]).toEqual([202, 202, 409]);
    const ended = await operator.ended(task_id);
    expect(ended).toMatchObject({
      status: "completed",
      result: { signal: { name: "approve", body: { by: "ada" } } },
    });
  });

  test("a task that waits can be cancelled", async () => {
    const { task_id } = await waiting("approved", 3600);
    expectStatus(await operator.post(`/tasks/${task_id}/cancel`, {}), 200);
    expect(await operator.task(task_id)).toMatchObject({ status: "cancelled", waiting_for: null });
    expectProblem(await signal(task_id, "approved", 1), 409, "conflict");
  });

  test("nobody else can send a signal", async () => {
    const { task_id } = await waiting("approved", 60);
    expectProblem(await signal(task_id, "approved", 1, stranger), 404, "not_found");
    expectProblem(await signal(task_id, "approved", 1, submitter), 404, "not_found");
    expectProblem(await signal(task_id, "not%20a%20name", 1), 422, "invalid_input");
    expectStatus(await signal(task_id, "approved", 1), 202);
    expect(await operator.ended(task_id)).toMatchObject({ result: { signal: 1 } });
  });
});
