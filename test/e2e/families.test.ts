import { describe, expect, test } from "vitest";
import { Families } from "../support/families.ts";
import { expectProblem } from "../support/http-client.ts";
import { operator, stranger } from "./callers.ts";

const families = new Families(operator);

describe.concurrent("a task with children", () => {
  test("completes with 50 children when one fails and 0.95 suffice", () => families.completesWithFailedChildren(50));

  test("fails when fewer than its threshold completed, and a retry runs only the failed ones again", () =>
    families.retriesFailedChildren(30));

  test("has a result for no children at all", async () => {
    const { task_id } = await families.submit({ children: 0 });
    expect(await operator.ended(task_id)).toMatchObject({
      status: "completed",
      result: { total: 0, completed: 0, failed: 0, sum: 0 },
      children: null,
    });
  });

  test("lists its children only to those who may see the task", async () => {
    const { task_id } = await families.submit({ children: 3 });
    await operator.ended(task_id, { timeoutMs: 240_000 });
    expectProblem(await stranger.get(`/tasks/${task_id}/children`), 404, "not_found");
    expectProblem(await operator.get(`/tasks/${task_id}/children?status=lost`), 422, "invalid_input");
    expectProblem(await operator.get(`/tasks/${task_id}/children?cursor=nonsense`), 400, "malformed_request");
    const { task_id: plain } = await operator.submit("probe.echo", { value: 1 });
    expect(await families.childrenOf(plain)).toEqual([]);
    expect(await operator.task(plain)).toMatchObject({ children: null });
  });
});
