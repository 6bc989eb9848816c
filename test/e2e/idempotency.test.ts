import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type Accepted, expectProblem, expectStatus } from "../support/http-client.ts";
import { operator, stranger, submitter, uniqueTags } from "./callers.ts";

const request = (value: unknown = 1) => ({ type: "probe.echo", input: { value } });

describe.concurrent("idempotency", () => {
  test("the same key and request return the same task with its present status", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const first = expectStatus(await operator.post("/tasks", request(), headers), 202);
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    const { task_id, created_at } = first.json<Accepted>();
    await operator.ended(task_id);
    const second = expectStatus(await operator.post("/tasks", request(), headers), 202);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(second.headers.get("content-location")).toBe(`/tasks/${task_id}`);
    expect(second.json()).toMatchObject({ task_id, status: "completed", created_at, poll_url: `/tasks/${task_id}` });
    expect(await operator.task(task_id)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("requests are compared as JSON values, not as text", async () => {
    const headers = { "idempotency-key": randomUUID(), "content-type": "application/json" };
    const one = '{"type":"probe.echo","input":{"value":{"a":1,"b":[2,3]}},"tags":{"x":"1","y":"2"}}';
    const two =
      ' { "tags": {"y":"2","x":"1"}, "input": {"value": {"b":[2,3],"a":1.0}},\n "type": "probe.ech\\u006f" } ';
    const first = expectStatus(await operator.send("POST", "/tasks", { raw: one, headers }), 202).json();
    const second = expectStatus(await operator.send("POST", "/tasks", { raw: two, headers }), 202);
    expect(second.json().task_id).toBe(first.task_id);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
  });

  test.for([
    ["input", { input: { value: 2 } }],
    ["type", { type: "probe.sleep", input: { ms: 1 } }],
    ["options", { max_attempts: 3 }],
    ["tags", { tags: { a: "b" } }],
    ["priority", { priority: "high" }],
  ] as const)("the same key with another request is refused: %s", async ([, change]) => {
    const headers = { "idempotency-key": randomUUID() };
    const { task_id } = expectStatus(await operator.post("/tasks", request(), headers), 202).json<Accepted>();
    const answer = await operator.post("/tasks", { ...request(), ...change }, headers);
    expectProblem(answer, 422, "idempotency_key_reused");
    expect(await operator.ended(task_id)).toMatchObject({ status: "completed", result: { value: 1 } });
  });

  test("a refused request does not use up its key", async () => {
    const headers = { "idempotency-key": randomUUID() };
    expectProblem(await operator.post("/tasks", { ...request(), colour: "red" }, headers), 422, "invalid_input");
    const answer = expectStatus(await operator.post("/tasks", request(), headers), 202);
    expect(answer.headers.get("idempotent-replayed")).toBeNull();
  });

  test("a key belongs to its tenant and principal", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const ids = new Set<string>();
    for (const client of [operator, submitter, stranger]) {
      const answer = expectStatus(await client.post("/tasks", request(client.tenant), headers), 202);
      expect(answer.headers.get("idempotent-replayed")).toBeNull();
      const { task_id } = answer.json<Accepted>();
      ids.add(task_id);
      expect(await client.ended(task_id)).toMatchObject({ result: { value: client.tenant } });
    }
    expect(ids.size).toBe(3);
  });

  test.for([
    ["one character", "~"],
    ["punctuation", "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~"],
    ["255 characters", "k".repeat(255)],
  ] as const)("a key of %s is accepted", async ([, key]) => {
    // The tag keeps a second run on the same server a different request; either answer shows that the key is valid.
    const answer = await operator.post("/tasks", { ...request(), tags: uniqueTags().tags }, { "idempotency-key": key });
    if (answer.status === 422) expectProblem(answer, 422, "idempotency_key_reused");
    else expectStatus(answer, 202);
  });

  test.for([
    ["too long", "k".repeat(256)],
    ["not ASCII", "clé"],
    ["a tab", "a\tb"],
  ] as const)("a key that is %s is refused", async ([, key]) => {
    const answer = await operator.post("/tasks", request(), { "idempotency-key": key });
    expectProblem(answer, 400, "malformed_request");
  });

  test("fifty submits at once with one key make one task, executed once", async () => {
    const { tags, query } = uniqueTags();
    const headers = { "idempotency-key": randomUUID() };
    const body = { type: "probe.sleep", input: { ms: 300 }, tags };
    const answers = await Promise.all(Array.from({ length: 50 }, () => operator.post("/tasks", body, headers)));
    for (const answer of answers) expectStatus(answer, 202);
    const ids = new Set(answers.map((answer) => answer.json<Accepted>().task_id));
    expect(ids.size).toBe(1);
    expect(answers.filter((answer) => answer.headers.get("idempotent-replayed") === null)).toHaveLength(1);
    const [taskId = ""] = ids;
    expect(await operator.ended(taskId)).toMatchObject({ status: "completed", attempts: 1 });
    expect(await operator.attempts(taskId)).toHaveLength(1);
    expect((await operator.list(query)).map(({ task_id }) => task_id)).toEqual([taskId]);
  });
});
