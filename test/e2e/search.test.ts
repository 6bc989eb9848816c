import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type Client, encode, expectProblem, expectStatus, until } from "../support/http-client.ts";
import { operator, stranger, submitter } from "./callers.ts";

/** All tasks that a text finds, page by page. */
const found = async (client: Client, text: string, more = ""): Promise<string[]> => {
  const tasks = await client.all<{ task_id: string }>(`/tasks?q=${encode(text)}&limit=3${more}`, "tasks");
  return tasks.map(({ task_id }) => task_id);
};
/** An index may lag a little. */
const finds = (client: Client, text: string, ids: readonly string[]) =>
  until(`${text} is found`, async () => {
    const all = await found(client, text);
    return all.length >= ids.length ? all : undefined;
  });

describe.concurrent("search", () => {
  test("finds by a tag, in its first answer, whoever of the tenant has submitted it", async () => {
    const value = `Order-${randomUUID()}`;
    const { task_id } = await submitter.submit("probe.echo", { value: 1 }, { tags: { order: value } });
    const answer = await operator.get(`/tasks?q=${encode(value.toUpperCase())}`);
    expect(answer.json<{ tasks: { task_id: string }[] }>().tasks.map((task) => task.task_id)).toEqual([task_id]);
    expect(await finds(operator, `order=${value}`, [task_id])).toEqual([task_id]);
    expect(await finds(submitter, value, [task_id])).toEqual([task_id]);
    expect(await found(operator, `other=${value}`)).toEqual([]);
    expect(await found(stranger, value)).toEqual([]);
  });

  test("finds by a correlation id, by the start of an id, and by the error's text", async () => {
    const correlation = `night:${randomUUID()}`;
    const message = `no toner in ${randomUUID()}`;
    const input = { kind: "permanent", message, times: null };
    const answer = await operator.post("/tasks", { type: "probe.fail", input }, { "x-correlation-id": correlation });
    const { task_id } = expectStatus(answer, 202).json<{ task_id: string }>();
    await operator.ended(task_id);
    for (const text of [correlation, task_id, task_id.slice(0, 30), message.toUpperCase()]) {
      expect(await finds(operator, text, [task_id])).toEqual([task_id]);
    }
    expect(await found(submitter, correlation)).toEqual([]);
    expect(await found(operator, correlation, "&status=completed")).toEqual([]);
    expect(await found(operator, correlation, "&type=probe.fail")).toEqual([task_id]);
  });

  test("pages through every task of a tag exactly once, while others come", async () => {
    const value = `batch-${randomUUID()}`;
    const task = { type: "probe.echo", input: { value: 1 }, tags: { batch: value } };
    const batch = async (count: number) => {
      const answer = await operator.post("/tasks/batch", { tasks: Array.from({ length: count }, () => task) });
      return answer.json<{ tasks: { task_id: string }[] }>().tasks.map(({ task_id }) => task_id);
    };
    const before = await batch(40);
    await finds(operator, value, before);
    const [ids] = await Promise.all([found(operator, value), batch(20)]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(before.filter((id) => !ids.includes(id))).toEqual([]);
  });

  test("finds a value that looks like a name and a value; names that every object has harm nothing", async () => {
    const value = `page=${randomUUID()}#~ü`;
    const { task_id } = await submitter.submit("probe.echo", { value: 1 }, { tags: { query: value } });
    const answer = await operator.get(`/tasks?q=${encode(value)}`);
    expect(answer.json<{ tasks: { task_id: string }[] }>().tasks.map((task) => task.task_id)).toEqual([task_id]);
    for (const name of ["constructor", "__proto__"]) {
      expect((await operator.get(`/tasks?q=${encode(`${name}=${value}`)}`)).status).toBe(200);
    }
  });

  test.each(["", " ", "x".repeat(129), "a\u0000b"])("%j is refused", async (text) => {
    expectProblem(await operator.get(`/tasks?q=${encode(text)}`), 422, "invalid_input");
  });
});
