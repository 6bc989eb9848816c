import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Client, epoch, expectProblem, expectStatus, type Task } from "../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";
import { operator, stranger, submitter } from "./callers.ts";

const deployed = process.env.OFFLOAD_E2E_QUEUES !== undefined;

const move = (client: Client, taskId: string, priority: unknown = "high") =>
  client.post(`/tasks/${taskId}/priority`, { priority });

describe.concurrent("priority", () => {
  test("a scheduled task moves, and runs once in its new tier", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 }, { priority: "low", delay_seconds: 20 });
    const moved = expectStatus(await move(operator, task_id), 200).json<Task>();
    expect(moved).toMatchObject({ task_id, status: "scheduled", priority: "high", attempts: 0 });
    // The same tier again.
    expect(expectStatus(await move(operator, task_id), 200).json()).toEqual(moved);
    expect(await operator.ended(task_id)).toMatchObject({ status: "completed", priority: "high", attempts: 1 });
    expect(await operator.attempts(task_id)).toHaveLength(1);
  });

  test("a running task, an ended and a cancelled one keep their tiers", async () => {
    const running = await operator.submit("probe.sleep", { ms: 45_000 });
    await operator.waitFor(running.task_id, ({ status }) => status === "processing");
    const done = await operator.submit("probe.echo", { value: 1 });
    await operator.ended(done.task_id);
    const cancelled = await operator.submit("probe.echo", { value: 1 }, { delay_seconds: 600 });
    for (const { task_id } of [cancelled, running]) await operator.post(`/tasks/${task_id}/cancel`);
    for (const { task_id } of [done, cancelled]) {
      const before = await operator.task(task_id);
      expectProblem(await move(operator, task_id), 409, "conflict");
      expect(await operator.task(task_id)).toEqual(before);
    }
    expectProblem(await move(operator, running.task_id), 409, "conflict");
    expect(await operator.ended(running.task_id)).toMatchObject({ status: "cancelled", priority: "normal" });
  });

  test("a submitter moves its own tasks, and nobody those of another tenant", async () => {
    const own = await submitter.submit("probe.echo", { value: 1 }, { delay_seconds: 600 });
    const other = await operator.submit("probe.echo", { value: 1 }, { delay_seconds: 600 });
    expectStatus(await move(submitter, own.task_id), 200);
    expectStatus(await move(operator, own.task_id, "low"), 200);
    expectProblem(await move(submitter, other.task_id), 404, "not_found");
    for (const { task_id } of [own, other]) {
      expectProblem(await move(stranger, task_id), 404, "not_found");
      expectStatus(await operator.post(`/tasks/${task_id}/cancel`), 200);
    }
  });

  test.for(["urgent", "HIGH", "", 1, null])("the tier %j is refused", async (tier) => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 }, { delay_seconds: 600 });
    expectProblem(await move(operator, task_id, tier), 422, "invalid_input");
    expectStatus(await operator.post(`/tasks/${task_id}/cancel`), 200);
  });
});

/** Slow tasks of each of two tenants: more than the workers of a tier can start at once. */
const each = 60;

describe.skipIf(deployed)("priority in a full tier (a local server of the test's own)", () => {
  let server: OwnServer;
  beforeAll(async () => {
    server = await startOwnServer({ OFFLOAD_KEYS: "key-first:first:operator,key-second:second:operator" });
  });
  afterAll(() => server?.stop());

  const of = (tenant: string) => new Client(server.url, { token: `key-${tenant}`, tenant, role: "operator" });

  test("of tasks at the end of a full tier, those that are moved start before the ones that are not, and once", async () => {
    const [first, second] = [of("first"), of("second")];
    const slow = (client: Client) => client.submit("probe.sleep", { ms: 10_000 }, { priority: "low" });
    await Promise.all([first, second].flatMap((client) => Array.from({ length: each }, () => slow(client))));
    const last = () => first.submit("probe.echo", { value: 1 }, { priority: "low" });
    const stays = [await last(), await last(), await last()];
    const moves = [await last(), await last(), await last()];
    for (const { task_id } of moves) expectStatus(await move(first, task_id), 200);
    const ended = await Promise.all(moves.map(({ task_id }) => first.ended(task_id)));
    expect(ended).toMatchObject(moves.map(() => ({ status: "completed", priority: "high", attempts: 1 })));
    const rest = await Promise.all(stays.map(({ task_id }) => first.ended(task_id, { timeoutMs: 240_000 })));
    const earliest = Math.min(...rest.map(({ started_at }) => epoch(started_at)));
    for (const { started_at } of ended) expect(epoch(started_at)).toBeLessThan(earliest);
    // Their old messages have come by then, or come soon, and start nothing.
    for (const { task_id } of moves) expect(await first.attempts(task_id)).toHaveLength(1);
  });
});
