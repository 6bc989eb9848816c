import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CallTimeout, TaskCancelled, TaskExpired, TaskFailed, type TaskView } from "../../src/client/index.ts";
import { accepted, ended, errorOf, FakeApi, fakeTime, json, notModified, problem, realTime, task } from "./fake-api.ts";

beforeEach(fakeTime);
afterEach(realTime);

describe("polls", () => {
  test("each poll waits for Retry-After, and sends the last ETag", async () => {
    const api = new FakeApi(
      task("pending", {}, { "retry-after": "1" }),
      notModified({ "retry-after": "3" }),
      task("processing", {}, { "retry-after": "2" }),
      task("completed", { result: { ok: true } }),
    );
    expect(await ended(api.client().result("t1"))).toEqual({ ok: true });
    expect(api.seen.map(({ at }) => at)).toEqual([0, 1_000, 4_000, 6_000]);
    const tags = api.seen.map(({ headers }) => headers.get("if-none-match"));
    expect(tags).toEqual([null, '"pending"', '"pending"', '"processing"']);
  });

  test("a task that is named by its key is followed by its id from the first answer on", async () => {
    const named = (status: "pending" | "completed") => task(status, { task_id: "t1", result: 1 });
    const api = new FakeApi(named("pending"), named("pending"), named("completed"));
    const client = api.client();
    expect(await ended(client.result(client.task({ type: "post.publish", key: "a/b ä" })))).toBe(1);
    expect(api.paths).toEqual(["GET /tasks/~post.publish%3Aa%2Fb%20%C3%A4", "GET /tasks/t1", "GET /tasks/t1"]);
  });

  test("the first poll after a submit waits as the submit's answer says", async () => {
    const api = new FakeApi(accepted({ "retry-after": "2" }), task("completed"));
    const client = api.client();
    await ended(client.result(await client.submit("mail.send", {})));
    expect(api.seen.map(({ at }) => at)).toEqual([0, 2_000]);
  });

  test("pollMs sets the pace", async () => {
    const api = new FakeApi(
      accepted({ "retry-after": "1" }),
      task("pending", {}, { "retry-after": "9" }),
      task("completed"),
    );
    const client = api.client();
    await ended(client.result(await client.submit("mail.send", {}), { pollMs: 200 }));
    expect(api.seen.map(({ at }) => at)).toEqual([0, 200, 400]);
  });

  test("a poll that fails is repeated within its bounds", async () => {
    const api = new FakeApi(problem(503, "unavailable", { "retry-after": "5" }), task("completed", { result: 1 }));
    expect(await ended(api.client().result("t1"))).toBe(1);
  });

  test("a task that does not exist is a problem", async () => {
    const api = new FakeApi(problem(404, "not_found"));
    expect(await errorOf(api.client().result("t1"))).toMatchObject({ code: "not_found" });
  });

  test("timeoutMs ends the wait", async () => {
    const api = new FakeApi(task("pending"));
    expect(await errorOf(api.client().result("t1", { timeoutMs: 2_500 }))).toBeInstanceOf(CallTimeout);
    expect(api.seen).toHaveLength(3);
  });

  test("a signal ends the wait with its reason, and leaves no listener on the signal", async () => {
    const api = new FakeApi(task("pending"));
    const controller = new AbortController();
    const { signal } = controller;
    const listeners: number[] = [];
    setTimeout(() => listeners.push(getEventListeners(signal, "abort").length), 500);
    setTimeout(() => controller.abort(new Error("the user left")), 1_500);
    expect(await errorOf(api.client().result("t1", { signal }))).toMatchObject({ message: "the user left" });
    listeners.push(getEventListeners(signal, "abort").length);
    expect(listeners).toEqual([1, 0]);
  });
});

describe("the end of a task", () => {
  const failure = { error: "no such account", error_kind: "permanent", attempts: 3, expires_at: "2027-01-01" };

  test.each([
    ["failed", TaskFailed, "task t1 (mail.send) failed after 3 attempts: no such account"],
    ["cancelled", TaskCancelled, "task t1 (mail.send) was cancelled"],
    ["expired", TaskExpired, "task t1 (mail.send) expired at 2027-01-01 before its first attempt"],
  ] as const)("%s is an error of its own", async (status, type, message) => {
    const error = await errorOf(new FakeApi(task(status, failure)).client().result("t1"));
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({ message, name: type.name, task: { task_id: "t1", status } });
  });

  test("a failure has its kind, error and attempts", async () => {
    const error = await errorOf(new FakeApi(task("failed", failure)).client().result("t1"));
    expect(error).toMatchObject({ kind: "permanent", error: "no such account", attempts: 3 });
  });
});

describe("a result that the status does not show", () => {
  const stored = task("completed", { result_url: "/tasks/t1/result" });
  const fileAnswer = (type: string, disposition: string) => () =>
    new Response("text", { headers: { "content-type": type, "content-disposition": disposition } });

  test("larger JSON is fetched", async () => {
    const api = new FakeApi(stored, json(["large"]));
    expect(await ended(api.client().result("t1"))).toEqual(["large"]);
    expect(api.paths).toEqual(["GET /tasks/t1", "GET /tasks/t1/result"]);
  });

  test.each([
    ["application/pdf", 'attachment; filename="a.pdf"', "a.pdf"],
    ["application/json", 'attachment; filename="a.json"', "a.json"],
    ["text/plain", `attachment; filename="_.txt"; filename*=UTF-8''%C3%BC.txt`, "ü.txt"],
  ])("a file of type %s becomes a File", async (type, disposition, name) => {
    const file = (await ended(new FakeApi(stored, fileAnswer(type, disposition)).client().result("t1"))) as File;
    expect(file).toBeInstanceOf(File);
    expect(file).toMatchObject({ name, type, size: 4 });
    expect(await file.text()).toBe("text");
  });

  test("an answer that is behind the status is asked for again", async () => {
    const api = new FakeApi(stored, json({ status: "processing" }, 202, { "retry-after": "2" }), json("late"));
    expect(await ended(api.client().result("t1"))).toBe("late");
    expect(api.seen.map(({ at }) => at)).toEqual([0, 0, 2_000]);
  });

  test("a deleted result is the problem gone", async () => {
    const api = new FakeApi(stored, problem(410, "gone"));
    expect(await errorOf(api.client().result("t1"))).toMatchObject({ code: "gone" });
  });
});

describe("progress", () => {
  const statesOf = async (states: AsyncIterable<TaskView>) => {
    const seen: [string, number | null][] = [];
    for await (const { status, progress } of states) seen.push([status, progress]);
    return seen;
  };

  test("each change is one item, and the end is the last", async () => {
    const api = new FakeApi(
      task("pending", { progress: null }),
      notModified(),
      task("processing", { progress: 10 }),
      // A page of another origin may not read the ETag, so that the same state arrives twice.
      task("processing", { progress: 10 }),
      task("processing", { progress: 20 }),
      task("failed", { progress: 20 }),
    );
    expect(await ended(statesOf(api.client().progress("t1")))).toEqual([
      ["pending", null],
      ["processing", 10],
      ["processing", 20],
      ["failed", 20],
    ]);
  });

  test("a loop that ends early sends no further request", async () => {
    const api = new FakeApi(task("pending"));
    const first = async () => {
      for await (const state of api.client().progress("t1")) return state.status;
    };
    expect(await ended(first())).toBe("pending");
    expect(api.seen).toHaveLength(1);
  });

  test("timeoutMs ends it", async () => {
    const api = new FakeApi(task("pending"));
    expect(await errorOf(statesOf(api.client().progress("t1", { timeoutMs: 1_500 })))).toBeInstanceOf(CallTimeout);
  });
});
