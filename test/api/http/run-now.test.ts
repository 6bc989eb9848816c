import { describe, expect, test } from "vitest";
import { iso } from "../../../src/core/model/record.ts";
import { operationsPipeline } from "../../support/operations-pipeline.ts";
import { appsOf, ask, olga, problem, sam, served, sue } from "../../support/served.ts";
import { typeOf } from "../../support/task-types.ts";

test("a delayed task runs now on request, and one that is due is not_waiting", async () => {
  const app = served();
  const { task_id } = await app.accepted({ delay_seconds: 3_600 });
  const runNow = () => ask(app.control, `/tasks/${task_id}/run-now`, { method: "POST" });
  expect(await runNow()).toMatchObject({ status: 202, json: { task_id, status: "pending" } });
  await app.drain();
  expect((await ask(app.status, `/tasks/${task_id}`)).json).toMatchObject({ status: "completed", attempts: 1 });
  expect(await runNow()).toMatchObject(problem(409, "not_waiting"));
});

test("an operator ends a sleep, and a submitter does not", async () => {
  const sleeper = typeOf(async (_, task) => {
    await task.sleep(86_400);
    return "awake";
  });
  const app = served([sleeper]);
  const { task_id, priority } = await app.accepted({}, { as: sam });
  await app.work(priority);
  const runNow = (as = olga) => ask(app.control, `/tasks/${task_id}/run-now`, { method: "POST", as });
  expect(await runNow(sam)).toMatchObject(problem(409, "not_waiting"));
  expect(await runNow()).toMatchObject({ status: 202, json: { task_id, waiting_for: null } });
  await app.work(priority);
  expect((await ask(app.status, `/tasks/${task_id}`)).json).toMatchObject({ status: "completed", result: "awake" });
});

describe("POST /tasks/{id}/reschedule", () => {
  test("a requester moves its delayed task, by its key, too", async () => {
    const app = served();
    const { task_id } = await app.accepted({ delay_seconds: 600, unique: { key: "k" } }, { as: sam });
    const move = (json: object, as = sam) => ask(app.control, "/tasks/~echo:k/reschedule", { json, as });
    const run_at = new Date(app.clock.now() + 7_200_000).toISOString();
    expect(await move({ run_at })).toMatchObject({ status: 202, json: { task_id, status: "scheduled", run_at } });
    expect((await move({ delay_seconds: 60 })).json).toMatchObject({ task_id, status: "scheduled" });
    expect(await move({ delay_seconds: 60 }, sue)).toMatchObject(problem(404, "not_found"));
    for (const json of [{}, { delay_seconds: 1, run_at }, { delay_seconds: -1 }, { run_at: "soon" }]) {
      expect(await move(json)).toMatchObject(problem(422, "invalid_input"));
    }
    await app.drain();
    expect((await ask(app.status, `/tasks/${task_id}`)).json).toMatchObject({ status: "completed", attempts: 1 });
    expect(await move({ delay_seconds: 60 })).toMatchObject(problem(409, "not_waiting"));
  });
});

describe("replace", () => {
  const post = (app: ReturnType<typeof served>, value: number, more: object) =>
    app.accepted({ input: { value }, unique: { key: "k", mode: "replace" }, ...more });

  test.each([
    [3_600, 600],
    [600, 3_600],
    [86_400, 60],
    [60, 86_400],
  ])("moves the start from %d seconds to %d, and without a time leaves it", async (from, to) => {
    const app = served();
    const first = await post(app, 1, { delay_seconds: from });
    const moved = await post(app, 2, { delay_seconds: to });
    expect(moved).toMatchObject({ task_id: first.task_id, due_at: iso(app.clock.now() + to * 1000) });
    expect(await post(app, 3, {})).toMatchObject({
      task_id: first.task_id,
      due_at: moved.due_at,
      run_at: moved.due_at,
    });
    const began = app.clock.now();
    await app.drain();
    const { json } = await ask(app.status, `/tasks/${first.task_id}`);
    expect(json).toMatchObject({ status: "completed", attempts: 1, result: 3 });
    expect(Date.parse(String(json.started_at)) - began).toBeGreaterThanOrEqual(to * 1000);
  });
});

test("many waiting tasks run now by filter, counted first", async () => {
  const pipeline = operationsPipeline();
  const apps = appsOf(pipeline.ports);
  const post = (json: unknown) => ask(apps.control, "/tasks/run-now", { json, as: olga });
  const waiting = await Promise.all(
    [1, 2, 3].map((n) => pipeline.accept({ type: "order.ship", input: { n }, delay_seconds: 3_600 })),
  );
  await pipeline.accept({ type: "order.ship", input: { n: 4 } });
  const filter = { type: "order.ship" };
  expect(await post({ filter, dry_run: true })).toMatchObject({ status: 200, json: { matched: 3 } });
  const { status, json } = await post({ filter });
  expect({ status, json }).toMatchObject({ status: 202, json: { matched: 3 } });
  await pipeline.run("high");
  expect((await ask(apps.status, `/operations/${json.operation_id}`, { as: olga })).json).toMatchObject({ done: 3 });
  const due = await Promise.all(waiting.map((record) => pipeline.recordOf(record)));
  for (const record of due) expect(Date.parse(record.due_at)).toBeLessThanOrEqual(pipeline.clock.now());
});
