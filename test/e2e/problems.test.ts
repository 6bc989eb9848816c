import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type Answer, expectProblem, expectStatus, until } from "../support/http-client.ts";
import { anonymous, operator, stranger, submitter, uniqueTags } from "./callers.ts";

const json = { "content-type": "application/json" };
const echo = { type: "probe.echo", input: { value: 1 } };

/** What two answers that must look the same are compared by: all but what differs from answer to answer anyway. */
function appearance({ status, headers, text }: Answer) {
  const passing = /^(date|connection|keep-alive|apigw-requestid|x-amz.*)$/;
  return { status, text, headers: [...headers].filter(([name]) => !passing.test(name)) };
}

describe.concurrent("problems", () => {
  test.for(['{"type":', "", "{}}", "[]", '"text"', "null", "7", "type=probe.echo"])(
    "a body that is not a JSON object gets 400: %s",
    async (raw) => {
      const answer = await operator.send("POST", "/tasks", { raw, headers: json });
      expectProblem(answer, 400, "malformed_request");
    },
  );

  test("an unknown task type gets 422", async () => {
    const answer = await operator.post("/tasks", { ...echo, type: "no.such.type" });
    expect(expectProblem(answer, 422, "unknown_task_type").detail).toContain("no.such.type");
  });

  test("a request over 1 MiB gets 413", async () => {
    const body = { ...echo, input: { value: "x".repeat(2 * 1024 * 1024) } };
    expectProblem(await operator.post("/tasks", body), 413, "too_large");
  });

  test.for(["text/plain", "application/x-www-form-urlencoded", "application/jsonp", undefined])(
    "content type %s gets 415",
    async (type) => {
      const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
      const answer = await operator.send("POST", "/tasks", { raw: JSON.stringify(echo), headers });
      expectProblem(answer, 415, "unsupported_media_type");
    },
  );

  test("JSON that is nested too deeply gets 400", async () => {
    const raw = `{"type":"probe.echo","input":{"value":${"[".repeat(10_000)}${"]".repeat(10_000)}}}`;
    const answer = await operator.send("POST", "/tasks", { raw, headers: json });
    expectProblem(answer, 400, "malformed_request");
  });

  test.for([
    [undefined, "no header"],
    ["Bearer", "no token"],
    ["Bearer wrong", "an unknown token"],
    ["Bearer ofl_0123456789abcdef_0123456789abcdef0123456789abcdef", "an unknown key"],
    ["Basic ZGV2OmFjbWU=", "another scheme"],
    ["Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4IiwidGVuYW50IjoiYWNtZSJ9.", "an unsigned JWT"],
  ] as const)("a request with the authorization %s gets 401", async ([authorization]) => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    for (const path of ["/tasks", `/tasks/${randomUUID()}`, "/dead-letters"]) {
      const answer = await anonymous.get(path, headers);
      expectProblem(answer, 401, "unauthenticated");
      expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer\b/);
    }
    expectProblem(await anonymous.post("/tasks", echo, headers), 401, "unauthenticated");
  });

  test.for([
    ["GET", ""],
    ["GET", "/attempts"],
    ["GET", "/result"],
    ["POST", "/cancel"],
    ["POST", "/retry"],
    ["POST", "/extend"],
  ] as const)(
    "the task of another tenant or principal looks like one that never existed: %s %s",
    async ([method, rest]) => {
      const { task_id } = await operator.submit("probe.fail", { kind: "permanent" });
      await operator.ended(task_id);
      const before = await operator.task(task_id);
      const options = {
        headers: { "x-correlation-id": `same-${randomUUID()}` },
        ...(rest === "/extend" ? { body: { retention_seconds: 1_000_000 } } : {}),
      };
      for (const client of [stranger, submitter]) {
        const theirs = await client.send(method, `/tasks/${task_id}${rest}`, options);
        expectProblem(theirs, 404, "not_found");
        const none = await client.send(method, `/tasks/${randomUUID()}${rest}`, options);
        expect(appearance(theirs)).toEqual(appearance(none));
      }
      expect(await operator.task(task_id)).toEqual(before);
    },
  );

  test.for(["no-uuid", "%20", "..%2Ftasks", "0", "a".repeat(100)])("the task id %s gets 404", async (id) => {
    expectProblem(await operator.get(`/tasks/${id}`), 404, "not_found");
  });

  test.for(["/nope", "/task", `/tasks/${randomUUID()}/nope`, "/tasks/a/b/c/d"])(
    "the route %s gets 404",
    async (path) => {
      expectProblem(await operator.get(path), 404, "not_found");
      expectProblem(await operator.post(path, {}), 404, "not_found");
    },
  );

  test.for([
    ["PUT", "/tasks", ["GET", "POST"]],
    ["DELETE", "/tasks", ["GET", "POST"]],
    ["DELETE", `/tasks/${randomUUID()}`, ["GET"]],
    ["POST", `/tasks/${randomUUID()}/result`, ["GET"]],
    ["PUT", `/tasks/${randomUUID()}/attempts`, ["GET"]],
    ["GET", `/tasks/${randomUUID()}/cancel`, ["POST"]],
    ["PUT", "/dead-letters", ["GET"]],
  ] as const)("%s %s gets 405 with Allow", async ([method, path, allowed]) => {
    const answer = await operator.send(method, path);
    expectProblem(answer, 405, "method_not_allowed");
    const allow = (answer.headers.get("allow") ?? "").split(/\s*,\s*/);
    expect(allow).toEqual(expect.arrayContaining([...allowed]));
    expect(allow).not.toContain(method);
  });

  test.for(["a", "Req:2026-04-07_10.02", "z".repeat(128)])("the correlation id %s is kept", async (id) => {
    const headers = { "x-correlation-id": id };
    const accepted = expectStatus(await operator.post("/tasks", echo, headers), 202);
    expect(accepted.headers.get("x-correlation-id")).toBe(id);
    const { correlation_id } = await operator.task(String(accepted.json().task_id));
    expect(correlation_id).toBe(id);
    expect(expectProblem(await operator.get("/nope", headers), 404, "not_found").correlation_id).toBe(id);
    expect(expectProblem(await anonymous.get("/tasks", headers), 401, "unauthenticated").correlation_id).toBe(id);
  });

  test.for(["has space", "a/b", "z".repeat(129), "né", "a\tb", '"quoted"'])(
    "the correlation id %s is replaced",
    async (id) => {
      const answer = expectStatus(await operator.get("/tasks?limit=1", { "x-correlation-id": id }), 200);
      expect(answer.headers.get("x-correlation-id")).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
      expect(answer.headers.get("x-correlation-id")).not.toBe(id);
    },
  );

  test("each answer to a request without a correlation id has one of its own", async () => {
    const ids = new Set<string | null>();
    for (const path of ["/tasks?limit=1", "/tasks?limit=1", "/nope"]) {
      ids.add((await operator.get(path)).headers.get("x-correlation-id"));
    }
    expect(ids.size).toBe(3);
    expect(ids).not.toContain(null);
  });

  test("a refused submit writes nothing", async () => {
    const { tags, query } = uniqueTags();
    const refused = [
      { ...echo, type: "no.such.type" },
      { ...echo, colour: "red" },
      { ...echo, max_attempts: 99 },
      { type: "probe.sleep", input: { ms: -3 } },
      { ...echo, input: { value: "x".repeat(1024 * 1024) } },
    ];
    for (const body of refused) {
      const { status } = await operator.post("/tasks", { ...body, tags });
      expect([413, 422]).toContain(status);
    }
    const { task_id } = await operator.submit("probe.echo", { value: 1 }, { tags });
    const tasks = await until("the good task in the list", async () => {
      const found = await operator.list(query);
      return found.length > 0 ? found : undefined;
    });
    expect(tasks.map((task) => task.task_id)).toEqual([task_id]);
  });
});
