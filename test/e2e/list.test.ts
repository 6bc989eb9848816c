import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type Client, encode, epoch, expectProblem, expectStatus, type Task, until } from "../support/http-client.ts";
import { operator, stranger, submitter, uniqueTags } from "./callers.ts";

const idsOf = (tasks: { task_id: string }[]) => tasks.map(({ task_id }) => task_id);

/** The list, once it has so many tasks: an index may lag a little. */
const listOf = (client: Client, query: string, count: number): Promise<Task[]> =>
  until(`${count} tasks in the list`, async () => {
    const tasks = await client.list(query);
    return tasks.length >= count ? tasks : undefined;
  });

async function submitted(client: Client, count: number, options: Record<string, unknown>): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    ids.push((await client.submit("probe.echo", { value: index }, options)).task_id);
    await sleep(5);
  }
  return ids;
}

describe.concurrent("list", () => {
  test("the list has the newest task first, each as its status answers", async () => {
    const { tags, query } = uniqueTags();
    const ids = await submitted(operator, 4, { tags });
    for (const id of ids) await operator.ended(id);
    const tasks = await listOf(operator, query, 4);
    expect(idsOf(tasks)).toEqual(ids.toReversed());
    expect(tasks[0]).toMatchObject({ task_id: ids[3], type: "probe.echo", tags, created_at: expect.any(String) });
  });

  test("an opaque cursor leads from page to page", async () => {
    const { tags, query } = uniqueTags();
    const ids = await submitted(operator, 5, { tags });
    await listOf(operator, query, 5);
    const found: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const at: string = cursor === "" ? "" : `&cursor=${encode(cursor)}`;
      const answer = expectStatus(await operator.get(`/tasks?${query}&limit=2${at}`), 200);
      const page = answer.json<{ tasks: Task[]; next_cursor: string | null }>();
      expect(page.tasks.length).toBeLessThanOrEqual(2);
      found.push(...idsOf(page.tasks));
      cursor = page.next_cursor;
    }
    expect(found).toEqual(ids.toReversed());
  });

  test("filters combine with AND", async () => {
    const { tags, query } = uniqueTags();
    const high = await operator.submit("probe.echo", { value: 1 }, { tags: { ...tags, part: "a" }, priority: "high" });
    const normal = await operator.submit("probe.echo", { value: 1 }, { tags: { ...tags, part: "b" } });
    const failed = await operator.submit("probe.fail", { kind: "permanent" }, { tags: { ...tags, part: "a" } });
    for (const { task_id } of [high, normal, failed]) await operator.ended(task_id);
    await listOf(operator, query, 3);
    const found = async (filter: string) => new Set(idsOf(await operator.list(`${query}&${filter}`)));
    expect(await found("status=failed")).toEqual(new Set([failed.task_id]));
    expect(await found("status=completed")).toEqual(new Set([high.task_id, normal.task_id]));
    expect(await found("type=probe.fail")).toEqual(new Set([failed.task_id]));
    expect(await found("priority=high")).toEqual(new Set([high.task_id]));
    expect(await found("tag.part=a")).toEqual(new Set([high.task_id, failed.task_id]));
    expect(await found("tag.part=a&status=completed")).toEqual(new Set([high.task_id]));
    expect(await found("tag.part=a&priority=high&type=probe.fail")).toEqual(new Set());
    expect(await found("tag.part=none")).toEqual(new Set());
  });

  test("tasks can be filtered by time of creation", async () => {
    const { tags, query } = uniqueTags();
    const [first = ""] = await submitted(operator, 1, { tags });
    await sleep(100);
    const [second = ""] = await submitted(operator, 1, { tags });
    const tasks = await listOf(operator, query, 2);
    const created = tasks.map((task) => epoch(task.created_at));
    const middle = encode(new Date(created.reduce((sum, time) => sum + time, 0) / 2).toISOString());
    expect(idsOf(await operator.list(`${query}&created_after=${middle}`))).toEqual([second]);
    expect(idsOf(await operator.list(`${query}&created_before=${middle}`))).toEqual([first]);
    expect(await operator.list(`${query}&created_after=${middle}&created_before=${middle}`)).toEqual([]);
  });

  test("the list shows nothing of another tenant", async () => {
    const { tags, query } = uniqueTags();
    const [mine] = await submitted(operator, 1, { tags });
    const [theirs] = await submitted(stranger, 1, { tags });
    expect(idsOf(await listOf(operator, query, 1))).toEqual([mine]);
    expect(idsOf(await listOf(stranger, query, 1))).toEqual([theirs]);
  });

  test("a page has 50 tasks when no limit is given", async () => {
    await Promise.all(Array.from({ length: 51 }, () => operator.submit("probe.echo", { value: 1 })));
    const page = await until("a full page", async () => {
      const answer = expectStatus(await operator.get("/tasks"), 200).json<{ tasks: Task[]; next_cursor: unknown }>();
      return answer.tasks.length >= 50 ? answer : undefined;
    });
    expect(page).toMatchObject({ next_cursor: expect.stringMatching(/\S/) });
    expect(new Set(idsOf(page.tasks)).size).toBe(50);
  });

  test.for([
    ...["limit=0", "limit=101", "limit=ten", "status=done", "priority=urgent", "created_after=yesterday"],
    ...["created_after=0000-01-01T00:00:00%2B01:00", "created_before=9999-12-31T23:59:59-01:00"],
  ])("%s is refused", async (query) => {
    expectProblem(await operator.get(`/tasks?${query}`), 422, "invalid_input");
  });

  test("all tasks were created between the first and the last time that a filter accepts", async () => {
    const { tags, query } = uniqueTags();
    const [id] = await submitted(operator, 1, { tags });
    const span = "created_after=0000-01-01&created_before=9999-12-31T23:59:59.999Z";
    expect(idsOf(await listOf(operator, `${query}&${span}`, 1))).toEqual([id]);
  });

  test.each(["constructor", "tostring", "__proto", "has.own.property"])("a tag may be named %s", async (name) => {
    const tags = { [name]: uniqueTags().query };
    const [id = ""] = await submitted(operator, 1, { tags });
    const query = new URLSearchParams({ [`tag.${name}`]: tags[name] ?? "" }).toString();
    expect(await listOf(operator, query, 1)).toMatchObject([{ task_id: id, tags }]);
    expect(await operator.list("tag.constructor=none")).toEqual([]);
  });

  test.for(["forged", "AAAA", "eyJmcm9tIjoiMSJ9", "%00"])("the forged cursor %s is refused", async (cursor) => {
    expectProblem(await operator.get(`/tasks?cursor=${cursor}`), 400, "malformed_request");
  });

  test("a cursor works for its caller only, and only unchanged", async () => {
    await submitted(operator, 3, {});
    const cursor = await until("a page that another one follows", async () => {
      const { next_cursor } = expectStatus(await operator.get("/tasks?limit=1"), 200).json<{
        next_cursor: string | null;
      }>();
      return next_cursor ?? undefined;
    });
    expectStatus(await operator.get(`/tasks?limit=1&cursor=${encode(cursor)}`), 200);
    for (const other of [stranger, submitter]) {
      expectProblem(await other.get(`/tasks?limit=1&cursor=${encode(cursor)}`), 400, "malformed_request");
    }
    const middle = Math.floor(cursor.length / 2);
    const changed = `${cursor.slice(0, middle)}${cursor[middle] === "A" ? "B" : "A"}${cursor.slice(middle + 1)}`;
    expectProblem(await operator.get(`/tasks?limit=1&cursor=${encode(changed)}`), 400, "malformed_request");
  });
});
