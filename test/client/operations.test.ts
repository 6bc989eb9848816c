import { describe, expect, test } from "vitest";
import { Operations, Receivers, type TaskSelection } from "../../src/client/index.ts";
import { FakeApi, json } from "./fake-api.ts";

const page = (member: string, items: unknown[], next_cursor: string | null) => json({ [member]: items, next_cursor });

describe("lists", () => {
  test("iteration reads page after page until there is no cursor", async () => {
    const api = new FakeApi(page("tasks", [1, 2], "c1"), page("tasks", [], "c2"), page("tasks", [3], null));
    const seen: unknown[] = [];
    for await (const item of api.client().list()) seen.push(item);
    expect(seen).toEqual([1, 2, 3]);
    expect(api.paths).toEqual([
      "GET /tasks?limit=100",
      "GET /tasks?limit=100&cursor=c1",
      "GET /tasks?limit=100&cursor=c2",
    ]);
  });

  test("the receivers of all tenants are read page after page: the tenant is a further parameter", async () => {
    const api = new FakeApi(page("webhooks", [1], "c1"), page("webhooks", [2], null));
    const receivers = new Receivers({ url: "https://tasks.test", key: "a-key", fetch: api.fetch, tenant: "*" });
    expect(await receivers.list()).toEqual([1, 2]);
    expect(api.paths).toEqual(["GET /webhooks?tenant=*", "GET /webhooks?cursor=c1&tenant=*"]);
  });

  test("a loop that ends early reads no further page", async () => {
    const api = new FakeApi(page("tasks", [1, 2], "c1"));
    for await (const _ of api.client().list()) break;
    expect(api.seen).toHaveLength(1);
  });

  test("a page is read with its limit and cursor, and the filter under the API's names", async () => {
    const api = new FakeApi(page("tasks", [1], "c2"));
    const createdAfter = new Date("2027-01-01T00:00:00Z");
    const filter = {
      status: "failed",
      type: "a",
      priority: undefined,
      tags: { orderId: "1&2" },
      createdAfter,
    } as const;
    const list = api.client().list(filter);
    expect(await list.page({ limit: 2, cursor: "c1" })).toEqual({ items: [1], nextCursor: "c2" });
    expect(Object.fromEntries(new URLSearchParams(api.seen[0]?.path.split("?")[1]))).toEqual({
      status: "failed",
      type: "a",
      created_after: "2027-01-01T00:00:00.000Z",
      "tag.orderId": "1&2",
      limit: "2",
      cursor: "c1",
    });
  });

  test("dead letters and schedules are lists, too", async () => {
    const letters = new FakeApi(page("dead_letters", ["a"], null));
    const { deadLetters } = letters.client();
    expect((await deadLetters.list({ errorKind: "permanent" }).page()).items).toEqual(["a"]);
    expect(letters.paths).toEqual(["GET /dead-letters?error_kind=permanent"]);
    const schedules = new FakeApi(page("schedules", ["b"], null));
    expect((await schedules.client().schedules.list().page()).items).toEqual(["b"]);
  });
});

describe("each call has its request", () => {
  type Client = ReturnType<FakeApi["client"]>;
  const filter = { failedAfter: "2027-01-01", type: "a" } as const;
  const scheduled = { type: "a", input: { oneField: 1 }, maxAttempts: 2, tags: { aB: "c" } };

  test.each<[string, (client: Client) => Promise<unknown>, unknown?]>([
    ["GET /tasks/t1", (client) => client.status({ task_id: "t1" })],
    ["GET /tasks/t1/attempts", (client) => client.attempts("t1")],
    ["POST /tasks/t1/cancel", (client) => client.cancel("t1"), {}],
    ["POST /tasks/t1/retry", (client) => client.retry("t1"), {}],
    ["POST /tasks/t1/extend", (client) => client.extend("t1", 60), { retention_seconds: 60 }],
    ["POST /tasks/t1/priority", (client) => client.setPriority("t1", "high"), { priority: "high" }],
    ["GET /queues", (client) => client.queues()],
    ["GET /types", (client) => client.types()],
    ["GET /health", (client) => client.health()],
    [
      "POST /dead-letters/replay",
      (client) => client.deadLetters.replay({ filter }, { perSecond: 5 }),
      { filter: { failed_after: "2027-01-01", type: "a" }, per_second: 5 },
    ],
    ["POST /dead-letters/discard", (client) => client.deadLetters.discard({ taskIds: ["t1"] }), { task_ids: ["t1"] }],
    [
      "POST /dead-letters/replay",
      (client) => client.deadLetters.count("replay", { filter: {} }),
      { filter: {}, dry_run: true },
    ],
    ["GET /operations/o1", (client) => client.deadLetters.operation("o1")],
    ["POST /tasks/t1/retry", (client) => client.retry("t1", { input: { oneField: 1 } }), { input: { oneField: 1 } }],
    ["GET /schedules/s1", (client) => client.schedules.get("s1")],
    [
      "POST /schedules",
      (client) => client.schedules.create({ name: "n", everySeconds: 60, task: scheduled }),
      { name: "n", every_seconds: 60, task: { type: "a", input: { oneField: 1 }, max_attempts: 2, tags: { aB: "c" } } },
    ],
    ["PATCH /schedules/s1", (client) => client.schedules.change("s1", { enabled: false }), { enabled: false }],
    ["DELETE /schedules/s1", (client) => client.schedules.delete("s1")],
    ["POST /schedules/s1/run", (client) => client.schedules.run("s1"), {}],
    ["GET /schedules/s1/next?count=2", (client) => client.schedules.next("s1", { count: 2 })],
    [
      "POST /schedules/preview",
      (client) => client.schedules.preview({ cron: "0 2 * * *", startsAt: "2027-01-01" }, { count: 3 }),
      { cron: "0 2 * * *", starts_at: "2027-01-01", count: 3 },
    ],
  ])("%s", async (request, call, body) => {
    const api = new FakeApi(json({}));
    await call(api.client());
    expect(api.paths).toEqual([request]);
    expect(api.seen[0]?.body).toEqual(body);
  });
});

describe("operations", () => {
  const selection: TaskSelection = { filter: { type: "a", tags: { oneTag: "b" }, createdAfter: "2027-01-01" } };
  const filter = { type: "a", tags: { oneTag: "b" }, created_after: "2027-01-01" };

  test.each<[string, (operations: Operations) => Promise<unknown>, unknown?]>([
    ["POST /tasks/cancel", (operations) => operations.count("cancel", selection), { filter, dry_run: true }],
    ["POST /tasks/cancel", (operations) => operations.cancelTasks(selection), { filter }],
    [
      "POST /tasks/retry",
      (operations) => operations.retryTasks({ taskIds: ["t1"] }, { perSecond: 5 }),
      { task_ids: ["t1"], per_second: 5 },
    ],
    [
      "GET /dead-letters/groups?error_kind=permanent",
      (operations) => operations.deadLetterGroups({ errorKind: "permanent" }),
    ],
    ["GET /operations/o1", (operations) => operations.get("o1")],
    ["POST /operations/o1/cancel", (operations) => operations.cancel("o1"), {}],
  ])("%s", async (request, call, body) => {
    const api = new FakeApi(json({}));
    await call(new Operations({ url: "https://tasks.test", key: "a-key", fetch: api.fetch }));
    expect(api.paths).toEqual([request]);
    expect(api.seen[0]?.body).toEqual(body);
  });
});
