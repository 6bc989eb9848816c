import { expect, test } from "vitest";
import * as z from "zod";
import { PermanentError } from "../../../src/core/model/errors.ts";
import { defineTask } from "../../../src/core/task/task.ts";
import { ask, gina, problem, sam, served, sue } from "../../support/served.ts";

const child = defineTask({
  name: "child",
  input: z.object({ n: z.int() }),
  handler: ({ n }) => {
    if (n === 2) throw new PermanentError("no");
  },
});
const parent = defineTask({
  name: "parent",
  input: z.object({}),
  children: { threshold: 0.5 },
  handler: async (_, task) => {
    await task.spawnAll(child, [{ n: 1 }, { n: 2 }, { n: 3 }]);
  },
});

test("GET /tasks/{task_id}/children lists them page by page and by status, to those who see the parent", async () => {
  const apps = served([parent, child]);
  const { task_id } = await apps.accepted({ input: {} }, { as: sam });
  // The parent, its children, and the parent's end.
  for (const _ of [1, 2, 3]) await apps.work();
  const read = async (query: string) =>
    (await ask(apps.status, `/tasks/${task_id}/children${query}`, { as: sam })).json;
  const first = await read("?limit=2");
  const rest = await read(`?limit=2&cursor=${first.next_cursor}`);
  const all = [first, rest].flatMap(({ tasks }) => tasks as { status: string; parent_task_id: string }[]);
  expect(all.map(({ status }) => status).sort()).toEqual(["completed", "completed", "failed"]);
  expect(rest.next_cursor).toBeNull();
  expect((await read("?status=failed")).tasks).toHaveLength(1);
  expect(await ask(apps.status, `/tasks/${task_id}/children?status=lost`)).toMatchObject(problem(422, "invalid_input"));
  for (const as of [sue, gina]) {
    const answer = await ask(apps.status, `/tasks/${task_id}/children`, { as });
    expect(answer).toMatchObject(problem(404, "not_found"));
  }
});
