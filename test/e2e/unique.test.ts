import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type Accepted, expectProblem, expectStatus } from "../support/http-client.ts";
import { operator, submitter } from "./callers.ts";

const echo = (value: unknown, unique: object, more: object = {}) => ({
  type: "probe.echo",
  input: { value },
  unique,
  ...more,
});

type Collected = Accepted & { collected: number };

describe.concurrent("unique tasks", () => {
  test("a hundred submits in three seconds with debounce are one run each burst, with the last input", async () => {
    const key = randomUUID();
    const unique = { key, mode: "debounce", wait_seconds: 1, max_wait_seconds: 5 };
    /** The last input that each task got, by the order of the answers. */
    const last = new Map<string, number>();
    const startedAt = Date.now();
    /** A busy machine's submits may be further apart than a burst waits. */
    let pauses = 0;
    let sentAt = startedAt;
    for (let n = 1; n <= 100; n++) {
      if (Date.now() - sentAt >= 900) pauses++;
      sentAt = Date.now();
      const { task_id } = expectStatus(await operator.post("/tasks", echo(n, unique)), 202).json<Accepted>();
      last.set(task_id, n);
      await sleep(Math.max(0, startedAt + n * 30 - Date.now()));
    }
    expect(last.size).toBeLessThanOrEqual(2 + pauses + Math.floor((Date.now() - startedAt) / 5000));
    for (const [taskId, value] of last) {
      const task = await operator.ended(taskId);
      expect(task).toMatchObject({ status: "completed", attempts: 1, result: { value } });
      const waited = Date.parse(task.started_at ?? "") - Date.parse(task.created_at);
      expect(waited).toBeGreaterThanOrEqual(900);
    }
    expect([...last.values()].at(-1)).toBe(100);
  });

  test("submits that never stop run after max_wait_seconds", async () => {
    const unique = { key: randomUUID(), mode: "debounce", wait_seconds: 2, max_wait_seconds: 4 };
    const tasks = new Set<string>();
    for (let n = 1; n <= 20; n++) {
      tasks.add(expectStatus(await operator.post("/tasks", echo(n, unique)), 202).json<Accepted>().task_id);
      await sleep(500);
    }
    expect(tasks.size).toBeGreaterThan(1);
    const results: unknown[] = [];
    for (const task of tasks) results.push((await operator.ended(task)).result);
    expect(results.at(-1)).toEqual({ value: 20 });
  });

  test("twenty submits at once make one task, and each gets it", async () => {
    const body = echo(1, { key: randomUUID() }, { delay_seconds: 20 });
    /** A busy machine may answer 503: the submit is sent again, as a client does. */
    const accepted = async (): Promise<string> => {
      const answer = await operator.post("/tasks", body);
      if (answer.status !== 503) return expectStatus(answer, 202).json<Accepted>().task_id;
      await sleep(1000);
      return accepted();
    };
    const ids = new Set(await Promise.all(Array.from({ length: 20 }, accepted)));
    expect(ids.size).toBe(1);
    for (const id of ids) expect(await operator.ended(id)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("reject answers 409 until the task has ended", async () => {
    const unique = { key: randomUUID(), mode: "reject" };
    // Until it is cancelled, it has not ended, however slow the deployment is.
    const sleeping = { type: "probe.sleep", input: { ms: 1 }, delay_seconds: 600, unique };
    const { task_id } = expectStatus(await operator.post("/tasks", sleeping), 202).json<Accepted>();
    const refused = await operator.post("/tasks", sleeping);
    expectProblem(refused, 409, "conflict");
    expect(refused.json()).toMatchObject({ task_id });
    // A submitter has keys of its own.
    expectStatus(await submitter.post("/tasks", sleeping), 202);
    expectStatus(await operator.post(`/tasks/${task_id}/cancel`), 200);
    const next = expectStatus(await operator.post("/tasks", sleeping), 202).json<Accepted>();
    expectStatus(await operator.post(`/tasks/${next.task_id}/cancel`), 200);
  });

  test("replace gives a waiting task the new input, also a large one, and leaves a running one alone", async () => {
    const unique = { key: randomUUID(), mode: "replace" };
    const large = "x".repeat(100_000);
    const first = expectStatus(
      await operator.post("/tasks", echo(1, unique, { delay_seconds: 20 })),
      202,
    ).json<Accepted>();
    for (const value of [large, "last"]) {
      const again = expectStatus(await operator.post("/tasks", echo(value, unique)), 202);
      expect(again.json()).toMatchObject({ task_id: first.task_id });
    }
    expect(await operator.ended(first.task_id)).toMatchObject({ result: { value: "last" }, attempts: 1 });
    const key = randomUUID();
    const sleeping = (ms: number) => ({ type: "probe.sleep", input: { ms }, unique: { key, mode: "replace" } });
    const running = expectStatus(await operator.post("/tasks", sleeping(10_000)), 202).json<Accepted>();
    await operator.waitFor(running.task_id, ({ status }) => status === "processing");
    const next = expectStatus(await operator.post("/tasks", sleeping(1)), 202).json<Accepted>();
    expect(next.task_id).not.toBe(running.task_id);
    expect(await operator.ended(running.task_id)).toMatchObject({ status: "completed", attempts: 1 });
    expect(await operator.ended(next.task_id)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("a task is found and cancelled by its key, and no other submitter's is", async () => {
    const key = `post/${randomUUID()}?ä`;
    const path = `/tasks/~probe.echo:${encodeURIComponent(key)}`;
    const first = expectStatus(await submitter.post("/tasks", echo(1, { key }, { delay_seconds: 600 })), 202);
    const { task_id } = first.json<Accepted>();
    expectProblem(await operator.get(path), 404, "not_found");
    expect(expectStatus(await submitter.get(path), 200).json()).toMatchObject({ task_id, status: "scheduled" });
    expect(expectStatus(await submitter.post(`${path}/cancel`), 200).json()).toMatchObject({ task_id });
    const list = await submitter.get(`/tasks?type=probe.echo&unique_key=${encodeURIComponent(key)}`);
    expect(expectStatus(list, 200).json()).toMatchObject({ tasks: [{ task_id, status: "cancelled" }] });
  });

  test("a delayed task is moved by reschedule and by replace, and starts once, at the last time", async () => {
    const unique = { key: randomUUID(), mode: "replace" };
    const submit = (value: number, delay_seconds: number) =>
      operator.post("/tasks", echo(value, unique, { delay_seconds }));
    const { task_id } = expectStatus(await submit(1, 600), 202).json<Accepted>();
    expect(expectStatus(await submit(2, 5), 202).json()).toMatchObject({ task_id });
    const moved = await operator.post(`/tasks/~probe.echo:${unique.key}/reschedule`, { delay_seconds: 8 });
    const { run_at = "" } = expectStatus(moved, 202).json<{ run_at: string }>();
    const task = await operator.ended(task_id);
    expect(task).toMatchObject({ status: "completed", attempts: 1, result: { value: 2 }, run_at });
    expect(Date.parse(task.started_at ?? "")).toBeGreaterThanOrEqual(Date.parse(run_at));
    expectProblem(await operator.post(`/tasks/${task_id}/reschedule`, { delay_seconds: 8 }), 409, "not_waiting");
  });

  test("inputs of submits at once gather: each is in exactly one list, with its number", async () => {
    const unique = { key: randomUUID(), mode: "collect" };
    const body = (value: number) => ({ type: "probe.collect", input: { value }, unique });
    const values = Array.from({ length: 35 }, (_, value) => value);
    const answers = await Promise.all(
      values.map(async (value) => {
        const headers = { "idempotency-key": randomUUID() };
        const send = async () =>
          expectStatus(await operator.post("/tasks", body(value), headers), 202).json<Collected>();
        const [first, repeat] = [await send(), await send()];
        expect(repeat).toMatchObject({ task_id: first.task_id, collected: first.collected });
        return first;
      }),
    );
    const lists = new Map<string, number[]>();
    for (const { task_id } of answers) {
      if (lists.has(task_id)) continue;
      const task = await operator.ended(task_id);
      expect(task).toMatchObject({ status: "completed", attempts: 1 });
      lists.set(task_id, (task.result as { values: number[] }).values);
    }
    expect([...lists.values()].flat().toSorted((a, b) => a - b)).toEqual(values);
    for (const list of lists.values()) expect(list.length).toBeLessThanOrEqual(10);
    for (const [value, { task_id, collected }] of answers.entries()) {
      expect(lists.get(task_id)?.[collected - 1]).toBe(value);
    }
  });

  test("an idempotency key and a unique key go together", async () => {
    const unique = { key: randomUUID() };
    const { task_id } = expectStatus(await operator.post("/tasks", echo(1, unique)), 202).json<Accepted>();
    const headers = { "idempotency-key": randomUUID() };
    const joined = expectStatus(await operator.post("/tasks", echo(2, unique), headers), 202).json<Accepted>();
    await operator.ended(joined.task_id);
    const again = expectStatus(await operator.post("/tasks", echo(2, unique), headers), 202).json<Accepted>();
    expect(again.task_id).toBe(joined.task_id);
    expectProblem(await operator.post("/tasks", echo(3, unique), headers), 422, "idempotency_key_reused");
    expect(await operator.ended(task_id)).toMatchObject({ result: { value: 1 } });
  });
});
