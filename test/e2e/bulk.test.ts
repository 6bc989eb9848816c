import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { expectProblem, expectStatus, until } from "../support/http-client.ts";
import { operator, stranger } from "./callers.ts";

interface Operation {
  operation_id: string;
  status: string;
  matched: number;
  done: number;
  skipped: number;
  failed: number;
}

/** Starts an operation on tasks, and follows it to its end. */
async function operate(action: "cancel" | "retry", body: object, client = operator): Promise<Operation> {
  const answer = expectStatus(await client.post(`/tasks/${action}`, body), 202);
  const { operation_id } = answer.json<Operation>();
  return until(
    `the ${action} to end`,
    async () => {
      const operation = expectStatus(await client.get(`/operations/${operation_id}`), 200).json<Operation>();
      return ["completed", "failed", "cancelled"].includes(operation.status) ? operation : undefined;
    },
    45_000,
  );
}

const retry = (id: string, body: object) => operator.post(`/tasks/${id}/retry`, body);

/** The time in which tasks were submitted: other tests submit many. */
function spanOf(tasks: readonly { created_at: string }[]) {
  const times = tasks.map(({ created_at }) => Date.parse(created_at));
  const before = Math.max(...times) + 1;
  return { created_after: new Date(Math.min(...times)).toISOString(), created_before: new Date(before).toISOString() };
}

/** The list of tasks follows the table late. */
const listed = (action: "cancel" | "retry", filter: object, matched: number) =>
  until(`${matched} matches`, async () => {
    const answer = await operator.post(`/tasks/${action}`, { filter, dry_run: true });
    return expectStatus(answer, 200).json<Operation>().matched === matched ? true : undefined;
  });

describe.concurrent("many tasks", () => {
  test("tasks with a tag are cancelled, and no other", async () => {
    const tags = { bulk: randomUUID() };
    const mine = await Promise.all(
      [1, 2, 3].map((value) => operator.submit("probe.echo", { value }, { tags, delay_seconds: 600 })),
    );
    const other = await operator.submit("probe.echo", { value: 4 }, { delay_seconds: 600 });
    const filter = { tags, ...spanOf(mine) };
    await listed("cancel", filter, 3);
    expect(await operate("cancel", { filter })).toMatchObject({ status: "completed", matched: 3, done: 3, failed: 0 });
    for (const { task_id } of mine) expect(await operator.task(task_id)).toMatchObject({ status: "cancelled" });
    expect(await operator.task(other.task_id)).toMatchObject({ status: "scheduled" });
    await operator.post(`/tasks/${other.task_id}/cancel`);
  });

  test("failed tasks are retried by ids, and unknown ids count as skipped", async () => {
    const failed = await Promise.all([1, 2].map(() => operator.submit("probe.fail", { kind: "permanent", times: 1 })));
    for (const { task_id } of failed) await operator.ended(task_id);
    const task_ids = [...failed.map(({ task_id }) => task_id), randomUUID()];
    expect(await operate("retry", { task_ids })).toMatchObject({
      status: "completed",
      matched: 2,
      done: 2,
      skipped: 1,
    });
    for (const { task_id } of failed) await operator.waitFor(task_id, ({ status }) => status === "completed");
    expect(await operate("retry", { task_ids }, stranger)).toMatchObject({ matched: 0, done: 0, skipped: 3 });
  });

  test("an operation is cancelled, and what it has not done stays", async () => {
    const tags = { bulk: randomUUID() };
    const failed = await Promise.all(
      Array.from({ length: 12 }, () => operator.submit("probe.fail", { kind: "permanent" }, { tags })),
    );
    for (const { task_id } of failed) await operator.ended(task_id);
    const filter = { tags, ...spanOf(failed) };
    await listed("retry", filter, 12);
    const answer = expectStatus(await operator.post("/tasks/retry", { filter, per_second: 1 }), 202);
    const { operation_id } = answer.json<Operation>();
    await until("its start", async () =>
      (await operator.task(operation_id)).status === "processing" ? true : undefined,
    );
    expectStatus(await operator.post(`/operations/${operation_id}/cancel`), 202);
    expectProblem(await stranger.post(`/operations/${operation_id}/cancel`), 404, "not_found");
    const ended = await until("its end", async () => {
      const operation = expectStatus(await operator.get(`/operations/${operation_id}`), 200).json<Operation>();
      return operation.status === "processing" ? undefined : operation;
    });
    expect(ended).toMatchObject({ status: "cancelled", matched: 12, failed: 0 });
    expect(ended.done).toBeLessThan(12);
    const attempts = await Promise.all(
      failed.map(({ task_id }) => operator.waitFor(task_id, (task) => task.status === "failed")),
    );
    expect(attempts).toHaveLength(12);
    const again = await Promise.all(failed.map(({ task_id }) => operator.attempts(task_id)));
    expect(again.filter((list) => list.length === 2)).toHaveLength(ended.done);
  });
});

describe.concurrent("a retry with an input", () => {
  test("the next round runs with it, after a check", async () => {
    const { task_id } = await operator.submit("probe.fail", { kind: "permanent" });
    await operator.ended(task_id);
    expectProblem(await retry(task_id, { input: { kind: "unheard_of" } }), 422, "invalid_input");
    expect(await operator.task(task_id)).toMatchObject({ status: "failed" });
    const message = `closed ${randomUUID()}`;
    expectStatus(await retry(task_id, { input: { kind: "permanent", message } }), 202);
    const again = await operator.waitFor(
      task_id,
      ({ status, error }) => status === "failed" && error?.includes(message) === true,
    );
    expect(again).toMatchObject({ attempts: 1 });
    const query = `type=probe.fail&failed_after=${encodeURIComponent(again.created_at)}&limit=100`;
    await until("the dead letter with the new input", async () => {
      const letters = await operator.all<{ task_id: string; input: unknown }>(`/dead-letters?${query}`, "dead_letters");
      const letter = letters.find((one) => one.task_id === task_id);
      return JSON.stringify(letter?.input).includes(message) ? true : undefined;
    });
  });

  test("of two at once only one is taken", async () => {
    const { task_id } = await operator.submit("probe.fail", { kind: "permanent" });
    await operator.ended(task_id);
    const answers = await Promise.all(
      ["first", "second"].map((message) => retry(task_id, { input: { kind: "permanent", message } })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 409]);
    const winner = answers[0]?.status === 202 ? "first" : "second";
    const task = await operator.waitFor(
      task_id,
      ({ status, error }) => status === "failed" && error?.includes(winner) === true,
    );
    expect(task).toMatchObject({ attempts: 1 });
    expect(await operator.attempts(task_id)).toHaveLength(2);
  });
});
