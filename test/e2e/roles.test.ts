import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { Client, expectProblem, expectStatus, until } from "../support/http-client.ts";
import { admin, baseUrl, operator, stranger, submitter, uniqueTags } from "./callers.ts";

const later = { delay_seconds: 600 };
const idsOf = (tasks: { task_id: string }[]) => tasks.map(({ task_id }) => task_id);

/** The ids in a list, once it has any: an index may lag a little. */
const listed = (client: Client, query: string) =>
  until("a task in the list", async () => {
    const tasks = await client.list(query);
    return tasks.length > 0 ? idsOf(tasks) : undefined;
  });

describe.concurrent("roles", () => {
  test("a submitter sees and controls the tasks it submitted itself", async () => {
    const { tags, query } = uniqueTags();
    const { task_id } = await submitter.submit("probe.echo", { value: 1 }, { ...later, tags });
    expect(await submitter.task(task_id)).toMatchObject({ task_id, status: "scheduled" });
    expect(await submitter.attempts(task_id)).toEqual([]);
    expect(await listed(submitter, query)).toEqual([task_id]);
    expectStatus(await submitter.get(`/tasks/${task_id}/result`), 202);
    expectStatus(await submitter.post(`/tasks/${task_id}/cancel`), 200);
    expect(await submitter.task(task_id)).toMatchObject({ status: "cancelled" });
  });

  test("a submitter does not see the tasks of others in its tenant", async () => {
    const { tags, query } = uniqueTags();
    const theirs = await operator.submit("probe.echo", { value: 1 }, { ...later, tags });
    const own = await submitter.submit("probe.echo", { value: 1 }, { ...later, tags });
    await until("both tasks in the operator's list", async () =>
      (await operator.list(query)).length === 2 ? true : undefined,
    );
    expect(idsOf(await submitter.list(query))).toEqual([own.task_id]);
    expectProblem(await submitter.get(`/tasks/${theirs.task_id}`), 404, "not_found");
    expectProblem(await submitter.post(`/tasks/${theirs.task_id}/cancel`), 404, "not_found");
    expect(await operator.task(theirs.task_id)).toMatchObject({ status: "scheduled" });
    for (const { task_id } of [theirs, own]) await operator.post(`/tasks/${task_id}/cancel`);
  });

  test("a viewer reads what its tenant has, inputs only with a key that says so, and changes nothing", async () => {
    const { task_id } = await submitter.submit("probe.echo", { value: 1 }, later);
    const viewer = async (inputs: boolean): Promise<Client> => {
      const { key } = expectStatus(await admin.post("/keys", { role: "viewer", inputs }), 201).json<{ key: string }>();
      return new Client(baseUrl, { token: key, tenant: operator.tenant, role: "viewer" });
    };
    const [plain, reading] = [await viewer(false), await viewer(true)];
    expect(await plain.task(task_id)).toMatchObject({ task_id, status: "scheduled" });
    expectStatus(await plain.get("/dead-letters?limit=1"), 200);
    expect(expectStatus(await reading.get("/identity"), 200).json()).toMatchObject({ role: "viewer", inputs: true });
    expectProblem(await plain.get(`/tasks/${task_id}/input`), 403, "forbidden");
    expectProblem(await plain.get(`/tasks/${task_id}/logs`), 403, "forbidden");
    expect(expectStatus(await reading.get(`/tasks/${task_id}/input`), 200).json()).toEqual({ input: { value: 1 } });
    expectStatus(await reading.get(`/tasks/${task_id}/logs`), 200);
    for (const path of ["/tasks", `/tasks/${task_id}/cancel`, "/dead-letters/replay", "/types/probe.echo/pause"]) {
      expectProblem(await reading.post(path, {}), 403, "forbidden");
    }
    expect(await operator.task(task_id)).toMatchObject({ status: "scheduled" });
    await operator.post(`/tasks/${task_id}/cancel`);
  });

  test("an operator sees and controls all tasks of its tenant, and none of another", async () => {
    const { tags, query } = uniqueTags();
    const own = await submitter.submit("probe.echo", { value: 1 }, { ...later, tags });
    const foreign = await stranger.submit("probe.echo", { value: 1 }, { ...later, tags });
    expect(await listed(operator, query)).toEqual([own.task_id]);
    expectStatus(await operator.post(`/tasks/${own.task_id}/cancel`), 200);
    expectProblem(await operator.post(`/tasks/${foreign.task_id}/cancel`), 404, "not_found");
    expectStatus(await stranger.post(`/tasks/${foreign.task_id}/cancel`), 200);
  });

  test("requested_by tells principals apart", async () => {
    const mine = await operator.submit("probe.echo", { value: 1 });
    const also = await operator.submit("probe.echo", { value: 1 });
    const theirs = await submitter.submit("probe.echo", { value: 1 });
    const { requested_by } = await operator.task(mine.task_id);
    expect((await operator.task(also.task_id)).requested_by).toBe(requested_by);
    expect((await operator.task(theirs.task_id)).requested_by).not.toBe(requested_by);
  });

  test("an admin can name any tenant", async () => {
    const { tags, query } = uniqueTags();
    const { task_id } = await stranger.submit("probe.echo", { value: 1 }, { ...later, tags });
    const tenant = `tenant=${stranger.tenant}`;
    expect(expectStatus(await admin.get(`/tasks/${task_id}?${tenant}`), 200).json()).toMatchObject({ task_id });
    expect(await listed(admin, `${query}&${tenant}`)).toEqual([task_id]);
    expect(idsOf(await admin.list(query))).toEqual([]);
    expectStatus(await admin.post(`/tasks/${task_id}/cancel?${tenant}`), 200);
    expect(await stranger.task(task_id)).toMatchObject({ status: "cancelled" });
  });

  test("an operator or submitter cannot name another tenant", async () => {
    const { task_id } = await stranger.submit("probe.echo", { value: 1 });
    for (const client of [operator, submitter]) {
      for (const path of ["/tasks?limit=1&", `/tasks/${task_id}?`]) {
        const answer = await client.get(`${path}tenant=${stranger.tenant}`);
        expectProblem(answer, 403, "forbidden");
        expect(answer.text).not.toContain(task_id);
      }
    }
  });

  test.for([
    ["GET", "/dead-letters"],
    ["POST", "/dead-letters/replay"],
    ["POST", "/dead-letters/discard"],
    ["GET", `/operations/${randomUUID()}`],
    ["GET", "/schedules"],
    ["POST", "/schedules"],
    ["POST", "/schedules/preview"],
    ["GET", "/queues"],
    ["POST", "/queues/low/pause"],
    ["POST", "/types/probe.echo/pause"],
    ["POST", `/tenants/${submitter.tenant}/resume`],
    ["PATCH", "/types/probe.keyed/limits"],
  ] as const)("a submitter gets 403: %s %s", async ([method, path]) => {
    const options = method === "GET" ? {} : { body: {} };
    expectProblem(await submitter.send(method, path, options), 403, "forbidden");
  });

  test("only an admin sees the queues", async () => {
    expectProblem(await operator.get("/queues"), 403, "forbidden");
    const { queues } = expectStatus(await admin.get("/queues"), 200).json<{ queues: Record<string, unknown> }>();
    expect(Object.keys(queues).toSorted()).toEqual(["critical", "high", "low", "normal"]);
    for (const queue of Object.values(queues)) {
      expect(queue).toMatchObject({
        visible: expect.any(Number),
        in_flight: expect.any(Number),
        delayed: expect.any(Number),
        dead_letters: expect.any(Number),
        paused: false,
      });
      expect(queue).toHaveProperty("oldest_age_seconds");
    }
  });
});
