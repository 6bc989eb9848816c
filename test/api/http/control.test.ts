import { describe, expect, test } from "vitest";
import { z } from "zod";
import { PermanentError } from "../../../src/core/model/errors.ts";
import { iso } from "../../../src/core/model/record.ts";
import { gate } from "../../support/gate.ts";
import { type Ask, ask, gina, olga, problem, sam, served, sue } from "../../support/served.ts";
import { typeOf } from "../../support/task-types.ts";

const post = ({ control }: ReturnType<typeof served>, path: string, more: Ask = {}) =>
  ask(control, path, { method: "POST", ...more });

const failing = () => served([typeOf(() => Promise.reject(new PermanentError("closed")))]);

describe("POST /tasks/{task_id}/cancel", () => {
  test("a cancelled task is answered by 200 with the task", async () => {
    const app = served();
    const { task_id } = await app.accepted();
    const answer = await post(app, `/tasks/${task_id}/cancel`);
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ task_id, status: "cancelled", finished_at: iso(app.clock.now()) });
    expect(answer.headers.get("cache-control")).toBe("private, max-age=60");
    expect(answer.headers.has("retry-after")).toBe(false);
  });

  test("a handler that still has to stop is answered by 202, as often as the client asks", async () => {
    const open = gate();
    const app = served([typeOf(() => open.opened)]);
    const { task_id } = await app.accepted();
    const working = app.work();
    await app.clock.advance(0);
    for (const _ of [1, 2]) {
      const answer = await post(app, `/tasks/${task_id}/cancel`);
      expect(answer.status).toBe(202);
      expect(answer.json).toMatchObject({ task_id, status: "processing" });
      expect(answer.headers.get("content-location")).toBe(`/tasks/${task_id}`);
      expect(answer.headers.get("retry-after")).toBe("1");
    }
    open.open();
    await working;
    expect(await post(app, `/tasks/${task_id}/cancel`)).toMatchObject(problem(409, "conflict"));
  });

  test("a cancel now is for operators, and says nothing of other callers' tasks", async () => {
    const open = gate();
    const app = served([typeOf(() => open.opened)]);
    const record = await app.accepted({}, { as: sam });
    const working = app.work();
    await app.clock.advance(0);
    const path = `/tasks/${record.task_id}/cancel`;
    const json = { now: true };
    expect(await post(app, path, { json, as: sam })).toMatchObject(problem(403, "forbidden"));
    expect(await post(app, path, { json, as: sue })).toMatchObject(problem(404, "not_found"));
    expect(await post(app, path, { json: { now: "yes" } })).toMatchObject(problem(422, "invalid_input"));
    expect(await app.records.get(record)).not.toHaveProperty("cancel_now");
    expect(await post(app, path, { json })).toMatchObject({ status: 202, json: { status: "processing" } });
    expect(await app.records.get(record)).toMatchObject({ cancel_now: true });
    open.open();
    await working;
    expect(await post(app, path, { json })).toMatchObject(problem(409, "conflict"));
  });

  test("a task that has ended, or whose type forbids it, is answered by 409", async () => {
    const app = served();
    const { task_id } = await app.accepted();
    await app.drain();
    expect(await post(app, `/tasks/${task_id}/cancel`)).toMatchObject(problem(409, "conflict"));
    const strict = served([typeOf(() => 1, { cancellable: false })]);
    const record = await strict.accepted();
    expect(await post(strict, `/tasks/${record.task_id}/cancel`)).toMatchObject(problem(409, "conflict"));
  });
});

describe("POST /tasks/{task_id}/retry", () => {
  test("a retry is answered by 202 with the task in its new round", async () => {
    const app = failing();
    const { task_id } = await app.accepted();
    await app.drain();
    const answer = await post(app, `/tasks/${task_id}/retry`);
    expect(answer.status).toBe(202);
    expect(answer.json).toMatchObject({ task_id, status: "pending", attempts: 0, error: "closed", finished_at: null });
    expect(answer.headers.get("content-location")).toBe(`/tasks/${task_id}`);
    expect(await post(app, `/tasks/${task_id}/retry`)).toMatchObject(problem(409, "conflict"));
  });

  test("a retry may bring the input of the next round", async () => {
    const strict = typeOf(
      (input: { n: number }) => {
        if (input.n === 1) throw new PermanentError("closed");
        return input;
      },
      { input: z.strictObject({ n: z.number() }) },
    );
    const app = served([strict]);
    const { task_id } = await app.accepted({ input: { n: 1 } }, { as: sam });
    await app.drain();
    const wrong = await post(app, `/tasks/${task_id}/retry`, { json: { input: { n: "2" } } });
    expect(wrong).toMatchObject(problem(422, "invalid_input"));
    expect(wrong.json.errors).toMatchObject([{ path: "/input/n" }]);
    const none = await post(app, `/tasks/${task_id}/retry`, { json: { input: null } });
    expect(none).toMatchObject(problem(422, "invalid_input"));
    expect((await post(app, `/tasks/${task_id}/retry`, { json: { input: { n: 2 } }, as: sam })).status).toBe(202);
    await app.drain();
    const read = await ask(app.status, `/tasks/${task_id}`);
    expect(read.json).toMatchObject({ status: "completed", result: { n: 2 } });
  });

  test("no audit entry has the input of a retry", async () => {
    const app = failing();
    const { task_id } = await app.accepted();
    await app.drain();
    expect((await post(app, `/tasks/${task_id}/retry`, { json: { input: "secret" } })).status).toBe(202);
    const { json } = await ask(app.status, "/audit");
    expect(json.entries).toMatchObject([{ action: "retryTask", request: null, status: 202 }]);
    expect(JSON.stringify(json)).not.toContain("secret");
  });

  test("a task that has not failed is answered by 409", async () => {
    const app = served();
    const { task_id } = await app.accepted();
    expect(await post(app, `/tasks/${task_id}/retry`)).toMatchObject(problem(409, "conflict"));
  });
});

describe("POST /tasks/{task_id}/extend", () => {
  test("an extension is answered by 200 with the task and its retention", async () => {
    const app = served();
    const { task_id } = await app.accepted({ retention_seconds: 60 });
    await app.drain();
    const answer = await post(app, `/tasks/${task_id}/extend`, { json: { retention_seconds: 600 } });
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ status: "completed", retained_until: iso(app.clock.now() + 600_000) });
    const shorter = await post(app, `/tasks/${task_id}/extend`, { json: { retention_seconds: 60 } });
    expect(shorter.json.retained_until).toBe(answer.json.retained_until);
  });

  test.each([{}, { retention_seconds: 59 }, { retention_seconds: 2_592_001 }, { retention_seconds: 60, more: 1 }])(
    "%j is refused",
    async (json) => {
      const app = served();
      const { task_id } = await app.accepted();
      expect(await post(app, `/tasks/${task_id}/extend`, { json })).toMatchObject(problem(422, "invalid_input"));
    },
  );

  test("an extension needs a body", async () => {
    const app = served();
    const { task_id } = await app.accepted();
    expect(await post(app, `/tasks/${task_id}/extend`)).toMatchObject(problem(415, "unsupported_media_type"));
  });
});

describe("POST /tasks/{task_id}/acknowledge", () => {
  const acknowledge = (app: ReturnType<typeof served>, task_id: string, more: Ask = {}) =>
    post(app, `/tasks/${task_id}/acknowledge`, more);

  test("an acknowledged result is deleted, as often as the client asks", async () => {
    const app = served();
    const { task_id } = await app.accepted();
    await app.drain();
    for (const _ of [1, 2]) {
      expect(await acknowledge(app, task_id)).toMatchObject({ status: 204, text: "" });
      expect(await ask(app.status, `/tasks/${task_id}/result`)).toMatchObject(problem(410, "gone"));
    }
    const { json } = await ask(app.status, `/tasks/${task_id}`);
    expect(json).toMatchObject({ status: "completed", result: null, result_url: `/tasks/${task_id}/result` });
  });

  test("a task that is not completed is answered by 409", async () => {
    const app = served();
    const { task_id } = await app.accepted();
    expect(await acknowledge(app, task_id)).toMatchObject(problem(409, "conflict"));
  });

  test.each([sue, gina, {}])("the result stays for a caller that may not see the task: %j", async (as) => {
    const app = served();
    const { task_id } = await app.accepted({}, { as: sam });
    await app.drain();
    expect((await acknowledge(app, task_id, { as })).status).toBe("role" in as ? 404 : 401);
    expect((await ask(app.status, `/tasks/${task_id}/result`, { as: sam })).status).toBe(200);
  });
});

describe.each(["cancel", "retry", "extend"])("callers of %s", (verb) => {
  const json = verb === "extend" ? { retention_seconds: 600 } : {};

  test("a caller needs a token", async () => {
    const app = served();
    const { task_id } = await app.accepted();
    expect(await post(app, `/tasks/${task_id}/${verb}`, { json, as: {} })).toMatchObject(
      problem(401, "unauthenticated"),
    );
  });

  test.each([
    ["another tenant", gina],
    ["another submitter", sue],
  ])("a caller of %s gets 404, and changes nothing", async (_, as) => {
    const app = failing();
    const record = await app.accepted({}, { as: sam });
    if (verb === "retry") await app.drain();
    const before = await app.recordOf(record);
    expect(await post(app, `/tasks/${record.task_id}/${verb}`, { json, as })).toMatchObject(problem(404, "not_found"));
    expect(await app.recordOf(record)).toEqual(before);
  });

  test.each([sam, olga])("$principal, its $role, is allowed", async (as) => {
    const app = failing();
    const record = await app.accepted({}, { as: sam });
    if (verb === "retry") await app.drain();
    const { status } = await post(app, `/tasks/${record.task_id}/${verb}`, { json, as });
    expect(status).toBe(verb === "retry" ? 202 : 200);
  });
});

test.each(["cancel", "retry", "acknowledge"])("%s refuses fields in its body", async (verb) => {
  const app = served();
  const { task_id } = await app.accepted();
  expect(await post(app, `/tasks/${task_id}/${verb}`, { json: { force: true } })).toMatchObject(
    problem(422, "invalid_input"),
  );
});
