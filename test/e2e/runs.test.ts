import { describe, expect, test } from "vitest";
import { encode, type Task } from "../support/http-client.ts";
import { operator } from "./callers.ts";

const run = (input: object, options = {}) => operator.submit("probe.fanout", { runs: true, ...input }, options);

const childrenOf = async (taskId: string): Promise<Task[]> =>
  (await operator.get(`/tasks/${encode(taskId)}/children?limit=100`)).json<{ tasks: Task[] }>().tasks;

describe.concurrent("a task that runs children", () => {
  test("gets their results, in one attempt", async () => {
    const { task_id } = await run({ children: 20 });
    expect(await operator.ended(task_id)).toMatchObject({
      ...{ status: "completed", attempts: 1 },
      result: Array.from({ length: 20 }, (_, index) => ({ number: index + 1 })),
      children: { total: 20, open: 0, completed: 20, sealed: true },
    });
    const children = await childrenOf(task_id);
    expect(children).toHaveLength(20);
    for (const child of children) expect(child).toMatchObject({ type: "probe.child", parent_id: task_id, attempts: 1 });
    const { steps } = (await operator.get(`/tasks/${task_id}/steps`)).json<{ steps: { kind: string }[] }>();
    expect(steps.map(({ kind }) => kind)).toEqual(Array(20).fill("run"));
  });

  test("runs none of them again after its process has died", async () => {
    const { task_id } = await run({ children: 3, die_after: 3 }, { priority: "low" });
    expect(await operator.ended(task_id)).toMatchObject({
      ...{ status: "completed", attempts: 2, result: [{ number: 1 }, { number: 2 }, { number: 3 }] },
      children: { total: 3, completed: 3 },
    });
    for (const child of await childrenOf(task_id)) expect(child).toMatchObject({ attempts: 1 });
  });

  test("catches the failure of a child, or fails for good with it", async () => {
    const caught = await run({ children: 3, fail_every: 2, threshold: 0 });
    expect(await operator.ended(caught.task_id)).toMatchObject({
      ...{ status: "completed", children: { total: 3, failed: 1 } },
      result: [{ number: 1 }, { status: "failed", errorKind: "permanent" }, { number: 3 }],
    });
    const { task_id } = await run({ children: 1, fail_every: 1 });
    expect(await operator.ended(task_id)).toMatchObject({
      ...{ status: "failed", attempts: 1, error_kind: "children_failed", error_type: "ChildFailed" },
      error: expect.stringContaining("child 1 fails, as its input requested"),
    });
  });

  test("waits for them without a worker, and is cancelled with them", async () => {
    const { task_id } = await run({ children: 2, child_ms: 60_000 });
    const waiting = await operator.waitFor(task_id, (task) => task.waiting_for != null);
    expect(waiting).toMatchObject({ status: "pending", attempts: 1, children: { total: 2, open: 2, sealed: false } });
    const ids = (await childrenOf(task_id)).map((child) => child.task_id);
    expect(waiting.waiting_for?.kind).toBe("child");
    expect(waiting.waiting_for?.children?.toSorted()).toEqual(ids.toSorted());
    await operator.post(`/tasks/${task_id}/cancel`, {});
    for (const id of ids) expect(await operator.ended(id)).toMatchObject({ status: "cancelled" });
    expect(await operator.task(task_id)).toMatchObject({ status: "cancelled" });
  });
});
