import { describe, expect, test } from "vitest";
import { epoch, expectProblem, expectStatus, timePattern, uuidPattern } from "../support/http-client.ts";
import { operator, uniqueTags } from "./callers.ts";

const weekMs = 604_800_000;
const textOf = (length: number) => "x".repeat(length);
/** Gives each case a title that is short, whatever it holds. */
const titled = <T>(cases: readonly T[]) => cases.map((given) => ({ given, title: JSON.stringify(given).slice(0, 70) }));
const tagsOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`t${index}`, "v"]));

describe.concurrent("submit", () => {
  test("a submit is answered by 202 with where to poll", async () => {
    const answer = expectStatus(await operator.post("/tasks", { type: "probe.echo", input: { value: 1 } }), 202);
    const accepted = answer.json();
    expect(accepted).toEqual({
      task_id: expect.stringMatching(uuidPattern),
      status: "pending",
      poll_url: `/tasks/${accepted.task_id}`,
      created_at: expect.stringMatching(timePattern),
    });
    expect(answer.headers.get("content-type")).toMatch(/^application\/json\b/);
    expect(answer.headers.get("content-location")).toBe(`/tasks/${accepted.task_id}`);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(answer.headers.get("idempotent-replayed")).toBeNull();
  });

  test("the record is readable immediately", async () => {
    const accepted = await operator.submit("probe.sleep", { ms: 500 });
    const task = await operator.task(accepted.task_id);
    expect(task).toMatchObject({ task_id: accepted.task_id, type: "probe.sleep", created_at: accepted.created_at });
    expect(["pending", "processing", "completed"]).toContain(task.status);
  });

  test("the task completes with the handler's result", async () => {
    const value = { text: "Grüße, 世界 👋", list: [1, -2.5, true, null, []], nested: { "": "", "a/b~c": "\u0000" } };
    const { task_id } = await operator.submit("probe.echo", { value });
    expect(await operator.ended(task_id)).toMatchObject({ status: "completed", result: { value } });
  });

  test.for(["critical", "high", "normal", "low"])("a task of tier %s completes", async (priority) => {
    const { task_id } = await operator.submit("probe.echo", { value: priority }, { priority });
    // A neighbour in `low` may have taken the worker down: that costs an attempt and the rest of its lease.
    const task = await operator.ended(task_id, { timeoutMs: 110_000 });
    expect(task).toMatchObject({ status: "completed", priority });
  });

  test("options are kept on the record", async () => {
    const { tags } = uniqueTags();
    const options = { max_attempts: 7, expires_in_seconds: 600, retention_seconds: 3600, tags };
    const { task_id, created_at } = await operator.submit("probe.echo", { value: 1 }, options);
    const task = await operator.ended(task_id);
    expect(task).toMatchObject({ status: "completed", max_attempts: 7, tags });
    expect(epoch(task.expires_at) - epoch(created_at)).toBe(600_000);
    expect(Math.abs(epoch(task.retained_until) - epoch(task.finished_at) - 3_600_000)).toBeLessThanOrEqual(1000);
  });

  test("options that are left out have the contract's defaults", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 });
    const task = await operator.ended(task_id);
    expect(task).toMatchObject({ max_attempts: 5, tags: {}, run_at: null, expires_at: null, schedule_id: null });
    expect(Math.abs(epoch(task.retained_until) - epoch(task.finished_at) - weekMs)).toBeLessThanOrEqual(1000);
  });

  test("a content type with parameters is JSON too", async () => {
    const raw = JSON.stringify({ type: "probe.echo", input: { value: 1 } });
    const headers = { "content-type": "application/json; charset=utf-8" };
    expectStatus(await operator.send("POST", "/tasks", { raw, headers }), 202);
  });

  test("an input of 40 KiB is accepted", async () => {
    const value = textOf(40 * 1024);
    const { task_id } = await operator.submit("probe.echo", { value });
    const task = await operator.ended(task_id);
    expect(task.status).toBe("completed");
    expect(task.result).toEqual({ value });
  });

  test.for(
    titled([
      { max_attempts: 1 },
      { max_attempts: 20 },
      { delay_seconds: 0 },
      { expires_in_seconds: 1_209_600 },
      { retention_seconds: 60 },
      { retention_seconds: 2_592_000 },
      { tags: tagsOf(10) },
      { tags: { [textOf(64)]: textOf(256), "a.b_c-9": "" } },
    ]),
  )("the ends of a range are accepted: $title", async ({ given }) => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 }, given);
    const task = await operator.ended(task_id);
    const secondsBetween = (from: string | null, to: string | null) =>
      from === null || to === null ? undefined : Math.round((epoch(to) - epoch(from)) / 1000);
    expect({
      max_attempts: task.max_attempts,
      delay_seconds: secondsBetween(task.created_at, task.run_at) ?? 0,
      expires_in_seconds: secondsBetween(task.created_at, task.expires_at),
      retention_seconds: secondsBetween(task.finished_at, task.retained_until),
      tags: task.tags,
    }).toMatchObject(given);
  });

  test.for(
    titled<readonly [string, Record<string, unknown>]>([
      ["/priority", { priority: "urgent" }],
      ["/priority", { priority: null }],
      ["/delay_seconds", { delay_seconds: -1 }],
      ["/delay_seconds", { delay_seconds: 1.5 }],
      ["/delay_seconds", { delay_seconds: "2" }],
      ["/delay_seconds", { delay_seconds: 31_536_001 }],
      ["/run_at", { run_at: "tomorrow" }],
      ["/run_at", { run_at: 1_800_000_000 }],
      ["/run_at", { run_at: "9999-12-31T23:59:59-23:00" }],
      ["/run_at", { run_at: "0000-01-01T00:00:00+00:01" }],
      ["/max_attempts", { max_attempts: 0 }],
      ["/max_attempts", { max_attempts: 21 }],
      ["/expires_in_seconds", { expires_in_seconds: 0 }],
      ["/expires_in_seconds", { expires_in_seconds: 1_209_601 }],
      ["/retention_seconds", { retention_seconds: 59 }],
      ["/retention_seconds", { retention_seconds: 2_592_001 }],
      ["/tags", { tags: ["a"] }],
      ["/tags", { tags: tagsOf(11) }],
      ["/tags/a", { tags: { a: 1 } }],
      ["/tags/a", { tags: { a: textOf(257) } }],
      ["/tags/Upper", { tags: { Upper: "v" } }],
      ["/tags/", { tags: { "": "v" } }],
      ["/type", { type: 7 }],
      ["/type", { type: undefined }],
      ["/input/ms", { input: { ms: -3 } }],
      ["/input/ms", { input: { ms: "3" } }],
      ["/input/ms", { input: {} }],
      ["/input", { input: undefined }],
      ["/input", { input: [1] }],
    ]),
  )("a wrong value is refused: $title", async ({ given: [path, fields] }) => {
    const answer = await operator.post("/tasks", { type: "probe.sleep", input: { ms: 1 }, ...fields });
    const { errors = [] } = expectProblem(answer, 422, "invalid_input");
    expect(errors.map((error) => error.path)).toContainEqual(path);
    expect(errors.every(({ message }) => /\S/.test(message))).toBe(true);
  });

  test("an unknown field is refused by its name", async () => {
    const answer = await operator.post("/tasks", { type: "probe.echo", input: { value: 1 }, colour: "red" });
    const problem = expectProblem(answer, 422, "invalid_input");
    expect(JSON.stringify([problem.detail, problem.errors])).toContain("colour");
  });
});
