import { expect, test } from "vitest";
import { operationsPipeline } from "../support/operations-pipeline.ts";
import { appsOf, ask, olga, problem, served } from "../support/served.ts";

test("a delayed task runs now on request, and one that is due is not_waiting", async () => {
  const app = served();
  const { task_id } = await app.accepted({ delay_seconds: 3_600 });
  const runNow = () => ask(app.control, `/tasks/${task_id}/run-now`, { method: "POST" });
  expect(await runNow()).toMatchObject({ status: 202, json: { task_id, status: "pending" } });
  await app.drain();
  expect((await ask(app.status, `/tasks/${task_id}`)).json).toMatchObject({ status: "completed", attempts: 1 });
  expect(await runNow()).toMatchObject(problem(409, "not_waiting"));
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
