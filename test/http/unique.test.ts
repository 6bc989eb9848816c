import { describe, expect, test } from "vitest";
import { type Ask, ask, olga, otto, problem, sam, served } from "../support/served.ts";

/** Posts a task with the member `unique`. */
const post = ({ submit }: ReturnType<typeof served>, unique: unknown, more: object = {}, how: Ask = {}) =>
  ask(submit, "/tasks", { json: { type: "echo", input: { value: 1 }, unique, ...more }, ...how });

describe("unique in POST /tasks", () => {
  test("a submit that finds the key is answered as a repeat, with that task", async () => {
    const app = served();
    const first = await post(app, { key: "k" });
    const second = await post(app, { key: "k" }, { input: { value: 2 } });
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.json).toEqual(first.json);
    expect(first.headers.has("idempotent-replayed")).toBe(false);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(second.headers.get("content-location")).toBe(`/tasks/${first.json.task_id}`);
  });

  test("reject is a conflict that names the task", async () => {
    const app = served();
    const { json } = await post(app, { key: "k", mode: "reject" });
    const refused = await post(app, { key: "k", mode: "reject" });
    expect(refused).toMatchObject(problem(409, "conflict"));
    expect(refused.json.task_id).toBe(json.task_id);
  });

  test("restart cancels the task that has the key, and its task waits for that end", async () => {
    const app = served();
    const { json: first } = await post(app, { key: "k" });
    const second = await post(app, { key: "k", mode: "restart" });
    expect(second).toMatchObject({ status: 202, json: { status: "pending" } });
    expect(second.json.task_id).not.toBe(first.task_id);
    const { json } = await ask(app.status, `/tasks/${first.task_id}`);
    expect(json).toMatchObject({ status: "cancelled" });
  });

  test("a debounced task is scheduled", async () => {
    const app = served();
    expect((await post(app, { key: "k", mode: "debounce", wait_seconds: 5 })).json.status).toBe("scheduled");
  });

  test("a submitter's keys are its own, and operators share theirs", async () => {
    const app = served();
    const unique = { key: "k", mode: "reject" };
    for (const as of [olga, sam]) expect((await post(app, unique, {}, { as })).status).toBe(202);
    const seen = await post(app, unique, {}, { as: otto });
    expect([202, 409]).toContain(seen.status);
  });

  const modes = ["existing", "reject", "replace", "restart"] as const;
  test.each<[string, unknown, object]>([
    ["/unique", "k", {}],
    ["/unique/key", {}, {}],
    ["/unique/key", { key: "" }, {}],
    ["/unique/key", { key: "k".repeat(257) }, {}],
    ["/unique/mode", { key: "k", mode: "merge" }, {}],
    ["/unique/colour", { key: "k", colour: "red" }, {}],
    ...modes.map((mode): [string, object, object] => ["/unique/wait_seconds", { key: "k", mode, wait_seconds: 1 }, {}]),
    ["/unique/max_wait_seconds", { key: "k", max_wait_seconds: 1 }, {}],
    ["/unique/wait_seconds", { key: "k", mode: "debounce" }, {}],
    ["/unique/wait_seconds", { key: "k", mode: "debounce", wait_seconds: 0 }, {}],
    ["/unique/wait_seconds", { key: "k", mode: "debounce", wait_seconds: 86_401 }, {}],
    ["/unique/max_wait_seconds", { key: "k", mode: "debounce", wait_seconds: 5, max_wait_seconds: 4 }, {}],
    ["/unique/max_wait_seconds", { key: "k", mode: "debounce", wait_seconds: 5, max_wait_seconds: 604_801 }, {}],
    ["/delay_seconds", { key: "k", mode: "debounce", wait_seconds: 5 }, { delay_seconds: 1 }],
    ["/run_at", { key: "k", mode: "debounce", wait_seconds: 5 }, { run_at: "2027-01-01T00:00:00Z" }],
    ["/files", { key: "k", mode: "replace" }, { files: { video: "6f1d2a52-9c1c-4f3e-8f0e-5b8d8c1d7a11" } }],
    ["/result_key", { key: "k", mode: "replace" }, { result_key: { kty: "EC" } }],
  ])("it is refused with the path %s: %j %j", async (path, unique, more) => {
    const answer = await post(served(), unique, more);
    expect(answer).toMatchObject(problem(422, "invalid_input"));
    expect((answer.json.errors as { path: string }[]).map((error) => error.path)).toContain(path);
  });

  test("an entry of a batch can be unique", async () => {
    const app = served();
    const entry = (mode: string) => ({ type: "echo", input: { value: 1 }, unique: { key: "k", mode } });
    await post(app, { key: "k" });
    const { json } = await ask(app.submit, "/tasks/batch", { json: { tasks: [entry("existing"), entry("reject")] } });
    expect(json).toMatchObject({ accepted: 1, refused: 1 });
    expect(json.tasks).toMatchObject([{ replayed: true }, { problem: { code: "conflict" } }]);
  });
});
