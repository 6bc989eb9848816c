import { describe, expect, test } from "vitest";
import { encode, type Task, until, uuidPattern } from "../support/http-client.ts";
import { operator } from "./callers.ts";

const type = "probe.onfailed";

interface Failed extends Task {
  caused_by: string | null;
  on_failed: { task_id: string; status: string } | null;
}

/** Waits until the `onFailed` of a failed task has ended, and returns its task. */
async function onFailedOf(taskId: string): Promise<Task> {
  const id = await until("the end of onFailed", async () => {
    const { on_failed } = (await operator.get(`/tasks/${encode(taskId)}`)).json<Failed>();
    return on_failed?.status === "completed" || on_failed?.status === "failed" ? on_failed.task_id : undefined;
  });
  expect(id).toMatch(uuidPattern);
  return operator.task(id);
}

describe("onFailed", () => {
  test.each([
    ["permanent", "permanent", "the address is wrong"],
    ["business_rule", "business_rule", "the order is closed"],
    ["exit", "crashed", expect.stringContaining("")],
  ])("runs after an end by %s, once, with the input and the error", async (how, errorKind, error) => {
    const { task_id } = await operator.submit(type, { how });
    expect(await operator.ended(task_id)).toMatchObject({ status: "failed", caused_by: null });
    expect(await onFailedOf(task_id)).toMatchObject({
      ...{ type: "offload.on_failed", status: "completed", caused_by: task_id, on_failed: null },
      result: { input: { how }, failure: { taskId: task_id, errorKind, error }, attempt: 1 },
    });
  });

  test("runs after an input that only the worker refuses, and its own failures are tried again", async () => {
    const { task_id } = await operator.submit(type, { how: "permanent", refused: true, on_failed_fails: 1 });
    expect(await operator.ended(task_id)).toMatchObject({ status: "failed", error_kind: "validation" });
    expect(await onFailedOf(task_id)).toMatchObject({
      result: { input: { refused: true }, failure: { errorKind: "validation" }, attempt: 2 },
    });
  });

  test("does not run after a cancel", async () => {
    const { task_id } = await operator.submit(type, { how: "wait" });
    await operator.post(`/tasks/${task_id}/cancel`);
    expect(await operator.ended(task_id)).toMatchObject({ status: "cancelled", on_failed: null });
  });

  test("runs again when a replayed task fails again; its failure is a dead letter; lists hide it", async () => {
    const tag = `on-failed-${Date.now()}`;
    const { task_id } = await operator.submit(type, { how: "permanent", on_failed_fails: 20 }, { tags: { of: tag } });
    await operator.ended(task_id);
    const first = await onFailedOf(task_id);
    expect(first).toMatchObject({ status: "failed", attempts: 2, error: "the mail server is away", on_failed: null });
    const letters = await operator.get("/dead-letters?type=offload.on_failed&limit=100");
    expect(letters.json<{ dead_letters: object[] }>().dead_letters).toContainEqual(
      expect.objectContaining({ task_id: first.task_id, caused_by: task_id }),
    );
    const listed = async (query: string) =>
      (await operator.get(`/tasks?limit=100&${query}`)).json<{ tasks: Failed[] }>().tasks;
    expect((await listed("type=offload.on_failed")).map((one) => one.task_id)).toContain(first.task_id);
    expect((await listed("status=failed")).map((one) => one.task_id)).not.toContain(first.task_id);
    // The index of lists follows the record. The type narrows what a page looks through.
    await until("the list to have it", async () => {
      const [row] = await listed(`type=${type}&tag=of:${tag}`);
      return row?.on_failed?.task_id === first.task_id ? row : undefined;
    });
    await operator.post(`/tasks/${task_id}/retry`);
    await until("the onFailed of the second round", async () => {
      const second = await onFailedOf(task_id);
      return second.task_id === first.task_id ? undefined : second;
    });
  });
});
