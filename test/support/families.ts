import { expect } from "vitest";
import { type Client, expectStatus, type Task, until } from "./http-client.ts";

interface Family extends Omit<Task, "children"> {
  children: Record<"total" | "open" | "completed" | "failed" | "cancelled" | "expired", number> & { sealed: boolean };
}

export interface Child {
  task_id: string;
  parent_id: string;
  status: string;
  created_at: string;
  started_at: string | null;
}

const patience = { timeoutMs: 240_000 };

/** Checks of families of `probe.fanout` over HTTP. */
export class Families {
  readonly #client: Client;
  readonly #afterDeath: (taskId: string) => Promise<Task>;

  /** @param afterDeath Resolves when a task has ended whose worker died. Default: that takes the time of its lease. */
  constructor(client: Client, afterDeath = (taskId: string) => client.ended(taskId, patience)) {
    this.#client = client;
    this.#afterDeath = afterDeath;
  }

  submit(input: Record<string, unknown>) {
    return this.#client.submit("probe.fanout", input);
  }

  childrenOf(taskId: string, query = ""): Promise<Child[]> {
    return this.#client.all<Child>(`/tasks/${taskId}/children?limit=100${query}`, "tasks");
  }

  async countsOf(taskId: string): Promise<Family["children"]> {
    return expectStatus(await this.#client.get(`/tasks/${taskId}`), 200).json<Family>().children;
  }

  /** Every 27th child fails, and 0.95 suffice. */
  async completesWithFailedChildren(children: number): Promise<void> {
    const { task_id } = await this.submit({ children, fail_every: 27, threshold: 0.95 });
    const failed = Math.floor(children / 27);
    const completed = children - failed;
    expect(await this.#client.ended(task_id, patience)).toMatchObject({
      status: "completed",
      progress: 100,
      result: { total: children, completed, failed, sum: sumOf(children, 27) },
    });
    const counts = { total: children, open: 0, completed, failed, cancelled: 0, expired: 0, sealed: true };
    expect(await this.countsOf(task_id)).toEqual(counts);
    const all = await this.childrenOf(task_id);
    expect(new Set(all.map((child) => child.task_id)).size).toBe(children);
    expect(all.every(({ parent_id }) => parent_id === task_id)).toBe(true);
    expect(await this.childrenOf(task_id, "&status=failed")).toHaveLength(failed);
  }

  async retriesFailedChildren(children: number): Promise<void> {
    const { task_id } = await this.submit({ children, fail_every: 27 });
    const failed = Math.floor(children / 27);
    expect(await this.#client.ended(task_id, patience)).toMatchObject({
      status: "failed",
      error_kind: "children_failed",
      error: expect.stringContaining(`${children - failed} of ${children} children completed`),
    });
    const before = new Map((await this.childrenOf(task_id)).map((child) => [child.task_id, child]));
    expectStatus(await this.#client.post(`/tasks/${task_id}/retry`), 202);
    await this.#client.waitFor(task_id, ({ status, attempts }) => status === "failed" && attempts > 0, patience);
    const after = await this.childrenOf(task_id);
    expect(after.map((child) => child.task_id).sort()).toEqual([...before.keys()].sort());
    const again = after.filter((child) => child.started_at !== before.get(child.task_id)?.started_at);
    expect(again.map(({ status }) => status)).toEqual(Array.from({ length: failed }, () => "failed"));
    expect(await this.countsOf(task_id)).toMatchObject({
      total: children,
      completed: children - failed,
      failed,
      open: 0,
    });
  }

  async survivesItsWorker(children: number, dieAfter: number): Promise<void> {
    const { task_id } = await this.submit({ children, die_after: dieAfter });
    expect(await this.#afterDeath(task_id)).toMatchObject({
      status: "completed",
      result: { total: children, completed: children, failed: 0, sum: (children * (children + 1)) / 2 },
    });
    const all = await this.childrenOf(task_id);
    expect(all).toHaveLength(children);
    expect(new Set(all.map((child) => child.task_id)).size).toBe(children);
    const outcomes = (await this.#client.attempts(task_id)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(["crashed", "completed", "completed"]);
  }

  async cancelsItsChildren(children: number): Promise<void> {
    const { task_id } = await this.submit({ children, child_ms: 60_000 });
    await until("all children to be spawned", async () => (await this.countsOf(task_id))?.sealed || undefined);
    expectStatus(await this.#client.post(`/tasks/${task_id}/cancel`), 200);
    expect(await this.#client.task(task_id)).toMatchObject({ status: "cancelled" });
    const isOpen = ({ status }: Child) => status === "pending" || status === "processing";
    await until("the end of all children", async () =>
      (await this.childrenOf(task_id)).some(isOpen) ? undefined : true,
    );
    expect(await this.childrenOf(task_id, "&status=cancelled")).toHaveLength(children);
  }
}

/** The sum of 1 to n without every k-th number. */
const sumOf = (n: number, k: number): number =>
  Array.from({ length: n }, (_, index) => index + 1)
    .filter((number) => number % k !== 0)
    .reduce((sum, number) => sum + number, 0);
