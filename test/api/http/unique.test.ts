import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineTask } from "../../../src/core/task/task.ts";
import { type Ask, ask, olga, otto, problem, sam, served } from "../../support/served.ts";
import { echo } from "../../support/task-types.ts";

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

describe("collect in POST /tasks", () => {
  const sum = defineTask({
    name: "sum",
    input: z.int(),
    collect: { maxItems: 2, waitSeconds: 30 },
    handler: (inputs) => inputs.length,
  });
  const add = (app: ReturnType<typeof served>, input: unknown, how: Ask = {}) =>
    ask(app.submit, "/tasks", { json: { type: "sum", input, unique: { key: "k", mode: "collect" } }, ...how });

  test("each answer has the task of the list, and the number of the input in it", async () => {
    const app = served([sum]);
    const answers = [await add(app, 1), await add(app, 2), await add(app, 3)];
    expect(answers.map(({ status, json }) => [status, json.collected])).toEqual([
      [202, 1],
      [202, 2],
      [202, 1],
    ]);
    expect(answers[1]?.json.task_id).toBe(answers[0]?.json.task_id);
    expect(answers[2]?.json.task_id).not.toBe(answers[0]?.json.task_id);
    expect(answers.some(({ headers }) => headers.has("idempotent-replayed"))).toBe(false);
  });

  test("a repeat has the answer of the first request, and adds nothing", async () => {
    const app = served([sum]);
    const how = { headers: { "idempotency-key": "one" } };
    const [first, repeat] = [await add(app, 1, how), await add(app, 1, how)];
    expect(repeat.json).toEqual(first.json);
    expect(repeat.headers.get("idempotent-replayed")).toBe("true");
    expect((await add(app, 2)).json.collected).toBe(2);
  });

  test("entries of a batch gather in their order", async () => {
    const app = served([sum]);
    const tasks = [1, 2, 3].map((input) => ({ type: "sum", input, unique: { key: "k", mode: "collect" } }));
    const { json } = await ask(app.submit, "/tasks/batch", { json: { tasks } });
    expect(json).toMatchObject({ accepted: 3, tasks: [{ collected: 1 }, { collected: 2 }, { collected: 1 }] });
  });

  test.each<[string, string, object, unknown]>([
    ["a type that does not collect", "/unique/mode", { type: "echo", input: { value: 1 } }, "collect"],
    ["another mode of a type that collects", "/unique/mode", {}, "existing"],
    ["an input that does not fit", "/input", { input: "one" }, "collect"],
    ["no input", "/input", { input: undefined }, "collect"],
    ["a delay", "/delay_seconds", { delay_seconds: 1 }, "collect"],
  ])("%s is refused", async (_, path, more, mode) => {
    const app = served([sum, echo]);
    const json = { type: "sum", input: 1, unique: { key: "k", mode }, ...more };
    const answer = await ask(app.submit, "/tasks", { json });
    expect(answer).toMatchObject(problem(422, "invalid_input"));
    expect((answer.json.errors as { path: string }[]).map((error) => error.path)).toContain(path);
  });

  test("an input of more than 256 KiB is too large", async () => {
    const text = defineTask({
      name: "text",
      input: z.string(),
      collect: { maxItems: 2, waitSeconds: 30 },
      handler: () => {},
    });
    const json = { type: "text", input: "x".repeat(300_000), unique: { key: "k", mode: "collect" } };
    expect(await ask(served([text]).submit, "/tasks", { json })).toMatchObject(problem(413, "too_large"));
  });

  test("the list of a task is no input that can be changed, and GET /types shows the option", async () => {
    const app = served([sum]);
    const { json } = await add(app, 1);
    const change = await ask(app.control, `/tasks/${json.task_id}/input`, { json: { input: 5 }, as: olga });
    expect(change).toMatchObject(problem(409, "conflict"));
    const { json: listed } = await ask(app.control, "/types", { as: olga });
    expect(listed.types).toMatchObject([{ name: "sum", collect: { max_items: 2, wait_seconds: 30 } }]);
  });
});
