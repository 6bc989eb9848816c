import { describe, expect, test } from "vitest";
import { expectProblem, expectStatus, type Task, until } from "../support/http-client.ts";
import { operator, stranger } from "./callers.ts";
import { deployed } from "./command-line.ts";

interface Family extends Omit<Task, "children"> {
  children: Record<"total" | "open" | "completed" | "failed" | "cancelled" | "expired", number> & { sealed: boolean };
}

interface Child {
  task_id: string;
  parent_id: string;
  status: string;
  created_at: string;
  started_at: string | null;
}

/** An emulated account works on a few tasks a second, and all suites share it. */
const many = deployed ? 50 : 1_000;
const some = deployed ? 50 : 300;

const fanout = (input: Record<string, unknown>) => operator.submit("probe.fanout", input);
const childrenOf = (taskId: string, query = "") =>
  operator.all<Child>(`/tasks/${taskId}/children?limit=100${query}`, "tasks");
const family = async (taskId: string) => (await operator.task(taskId)) as unknown as Family;

/** The sum of 1 to n without every k-th number. */
function sumOf(n: number, k: number): number {
  return Array.from({ length: n }, (_, index) => index + 1)
    .filter((number) => number % k !== 0)
    .reduce((sum, number) => sum + number, 0);
}

const patience = { timeoutMs: 240_000 };

describe.concurrent("a task with children", { timeout: 300_000 }, () => {
  test(`completes with ${many} children when every 27th fails and 0.95 suffice`, async () => {
    const { task_id } = await fanout({ children: many, fail_every: 27, threshold: 0.95 });
    const failed = Math.floor(many / 27);
    expect(await operator.ended(task_id, patience)).toMatchObject({
      status: "completed",
      progress: 100,
      result: { total: many, completed: many - failed, failed, sum: sumOf(many, 27) },
    });
    const counts = { total: many, open: 0, completed: many - failed, failed, cancelled: 0, expired: 0, sealed: true };
    expect((await family(task_id)).children).toEqual(counts);
    const children = await childrenOf(task_id);
    expect(new Set(children.map((child) => child.task_id)).size).toBe(many);
    expect(children.every(({ parent_id }) => parent_id === task_id)).toBe(true);
    expect(await childrenOf(task_id, "&status=failed")).toHaveLength(failed);
  });

  test("fails when fewer than its threshold completed, and a retry runs only the failed ones again", async () => {
    const { task_id } = await fanout({ children: some, fail_every: 27 });
    const failed = Math.floor(some / 27);
    const first = await operator.ended(task_id, patience);
    expect(first).toMatchObject({
      status: "failed",
      error_kind: "children_failed",
      error: expect.stringContaining(`${some - failed} of ${some} children completed`),
    });
    const before = new Map((await childrenOf(task_id)).map((child) => [child.task_id, child]));
    expectStatus(await operator.post(`/tasks/${task_id}/retry`), 202);
    await operator.waitFor(task_id, ({ status, attempts }) => status === "failed" && attempts > 0, patience);
    const after = await childrenOf(task_id);
    expect(after.map((child) => child.task_id).sort()).toEqual([...before.keys()].sort());
    const again = after.filter((child) => child.started_at !== before.get(child.task_id)?.started_at);
    expect(again.map(({ status }) => status)).toEqual(Array.from({ length: failed }, () => "failed"));
    expect((await family(task_id)).children).toMatchObject({ total: some, completed: some - failed, failed, open: 0 });
  });

  test("spawns nothing twice when its worker dies in between", async () => {
    const dieAfter = Math.floor(some * 0.4);
    const { task_id } = await fanout({ children: some, die_after: dieAfter });
    expect(await operator.ended(task_id, patience)).toMatchObject({
      status: "completed",
      result: { total: some, completed: some, failed: 0, sum: (some * (some + 1)) / 2 },
    });
    const children = await childrenOf(task_id);
    expect(children).toHaveLength(some);
    expect(new Set(children.map((child) => child.task_id)).size).toBe(some);
    const outcomes = (await operator.attempts(task_id)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(["crashed", "completed", "completed"]);
  });

  test("that is cancelled cancels its open children", async () => {
    const { task_id } = await fanout({ children: 60, child_ms: 60_000 });
    await operator.waitFor(task_id, (task) => (task as unknown as Family).children?.sealed === true, patience);
    expectStatus(await operator.post(`/tasks/${task_id}/cancel`), 200);
    expect(await operator.task(task_id)).toMatchObject({ status: "cancelled" });
    const isOpen = ({ status }: Child) => status === "pending" || status === "processing";
    await until("the end of all children", async () => ((await childrenOf(task_id)).some(isOpen) ? undefined : true));
    expect((await childrenOf(task_id, "&status=cancelled")).length).toBeGreaterThan(50);
  });

  test("has a result for no children at all", async () => {
    const { task_id } = await fanout({ children: 0 });
    expect(await operator.ended(task_id)).toMatchObject({
      status: "completed",
      result: { total: 0, completed: 0, failed: 0, sum: 0 },
      children: null,
    });
  });

  test("lists its children only to those who may see the task", async () => {
    const { task_id } = await fanout({ children: 3 });
    await operator.ended(task_id, patience);
    expectProblem(await stranger.get(`/tasks/${task_id}/children`), 404, "not_found");
    expectProblem(await operator.get(`/tasks/${task_id}/children?status=lost`), 422, "invalid_input");
    expectProblem(await operator.get(`/tasks/${task_id}/children?cursor=nonsense`), 400, "malformed_request");
    const { task_id: plain } = await operator.submit("probe.echo", { value: 1 });
    expect(await childrenOf(plain)).toEqual([]);
    expect(await operator.task(plain)).toMatchObject({ children: null });
  });
});
