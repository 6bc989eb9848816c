import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { QueueAges } from "../../../src/core/ports/tasks.ts";
import { MemoryRetryCounts } from "../../../src/memory/retry-counts.ts";
import { operationsPipeline } from "../../support/operations-pipeline.ts";
import { rescue } from "../../support/parts/rescue.ts";
import { newRecord } from "../../support/records.ts";
import { requestTo } from "../../support/request-to.ts";
import { appsOf } from "../../support/served.ts";

const olga = { tenant_id: "acme", principal: "olga", role: "operator" };
const gina = { tenant_id: "globex", principal: "gina", role: "operator" };
const sam = { tenant_id: "acme", principal: "sam", role: "submitter" };
const ada = { tenant_id: "acme", principal: "ada", role: "admin" };

type Who = typeof olga;

/** Both functions over one pipeline, called as the gateway calls them. */
function served(ofTiers: QueueAges["ofTiers"] = async () => ({ normal: 42, low: 7 })) {
  const pipeline = operationsPipeline({}, [rescue]);
  const { status, control } = appsOf({
    ...pipeline.ports,
    ages: { ofTiers },
    retries: new MemoryRetryCounts(pipeline.records),
  });
  const get = async (path: string, who: Who | undefined = olga) => {
    const api = path.startsWith("/queues") ? control : status;
    return answerOf(await requestTo(api, path, {}, who));
  };
  const post = async (path: string, body: unknown, who: Who | undefined = olga) => {
    const headers = { "content-type": "application/json" };
    return answerOf(await requestTo(control, path, { method: "POST", headers, body: JSON.stringify(body) }, who));
  };
  return { ...pipeline, get, post };
}

/** What the answers of these routes have, each some of it. */
interface Json extends Record<string, unknown> {
  dead_letters: { task_id: string; fingerprint: string }[];
  next_cursor: string | null;
  operation_id: string;
  matched: number;
}

async function answerOf(response: Response): Promise<{ status: number; headers: Headers; json: Json }> {
  return { status: response.status, headers: response.headers, json: (await response.json()) as Json };
}

const problem = (status: number, code: string) => ({ status, json: { code, status } });

const ids = (items: readonly { task_id: string }[]) => items.map(({ task_id }) => task_id);

describe("GET /dead-letters", () => {
  test("the list has the tenant's dead letters, newest first, filtered", async () => {
    const { deadLetter, get } = served();
    const [first, second] = await deadLetter(2);
    await deadLetter(1, { type: "mail.send" });
    const { status, headers, json } = await get("/dead-letters?type=order.ship");
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(json).toMatchObject({ next_cursor: null, dead_letters: [{ input: { n: 1 } }, { input: { n: 0 } }] });
    expect(ids(json.dead_letters)).toEqual([second?.task_id, first?.task_id]);
  });

  test("a cursor is good for its list and filter only", async () => {
    const { deadLetter, get } = served();
    const [first, second] = await deadLetter(2);
    const page = (await get("/dead-letters?limit=1")).json;
    expect(ids(page.dead_letters)).toEqual([second?.task_id]);
    const next = await get(`/dead-letters?limit=1&cursor=${page.next_cursor}`);
    expect(ids(next.json.dead_letters)).toEqual([first?.task_id]);
    const cursor = `cursor=${page.next_cursor}`;
    expect(await get(`/dead-letters?type=order.ship&${cursor}`)).toMatchObject(problem(400, "malformed_request"));
    expect(await get(`/dead-letters?${cursor}`, gina)).toMatchObject(problem(400, "malformed_request"));
    expect(await get(`/tasks?${cursor}`)).toMatchObject(problem(400, "malformed_request"));
  });

  test("an operator sees nothing of another tenant, and an admin sees the tenant that it names", async () => {
    const { deadLetter, get } = served();
    const [record] = await deadLetter(1);
    expect((await get("/dead-letters", gina)).json.dead_letters).toEqual([]);
    const admin = { ...ada, tenant_id: "globex" };
    expect(ids((await get("/dead-letters?tenant=acme", admin)).json.dead_letters)).toEqual([record?.task_id]);
    expect(await get("/dead-letters?tenant=acme", gina)).toMatchObject(problem(403, "forbidden"));
  });

  test.for([
    "error_kind=unheard_of",
    "fingerprint=x",
    "priority=urgent",
    "failed_after=yesterday",
    "limit=0",
    "limit=101",
  ])("?%s is refused", async (query) => {
    expect(await served().get(`/dead-letters?${query}`)).toMatchObject(problem(422, "invalid_input"));
  });
});

describe("GET /dead-letters/groups", () => {
  test("the groups have the tenant's dead letters by error, and their fingerprint is a filter everywhere", async () => {
    const { deadLetter, get, post } = served();
    await deadLetter(2);
    const [mail] = await deadLetter(1, { type: "mail.send" });
    const answer = await get("/dead-letters/groups");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.json).toMatchObject({
      groups: [
        { type: "order.ship", count: 2, error: "broken", error_type: "PermanentError", error_kind: "permanent" },
        { type: "mail.send", count: 1, task_id: mail?.task_id },
      ],
      complete: true,
    });
    const [{ fingerprint } = { fingerprint: "" }] = (await get("/dead-letters")).json.dead_letters;
    const counted = async (filter: object) =>
      (await post("/dead-letters/discard", { filter, dry_run: true })).json.matched;
    expect(await counted({ fingerprint })).toBe(3);
    expect(await counted({ fingerprint: "0123456789abcdef" })).toBe(0);
    expect((await get("/dead-letters?fingerprint=0123456789abcdef")).json.dead_letters).toEqual([]);
    expect((await get("/dead-letters/groups?type=mail.send")).json).toMatchObject({ groups: [{ count: 1 }] });
    expect((await get("/dead-letters/groups", gina)).json).toMatchObject({ groups: [] });
  });
});

describe("roles", () => {
  test("a submitter gets 403 for all routes of dead letters", async () => {
    const { get, post } = served();
    const body = { filter: {} };
    expect(await get("/dead-letters", sam)).toMatchObject(problem(403, "forbidden"));
    expect(await get("/dead-letters/groups", sam)).toMatchObject(problem(403, "forbidden"));
    expect(await get(`/operations/${randomUUID()}`, sam)).toMatchObject(problem(403, "forbidden"));
    expect(await post("/dead-letters/replay", body, sam)).toMatchObject(problem(403, "forbidden"));
    expect(await post("/dead-letters/discard", body, sam)).toMatchObject(problem(403, "forbidden"));
  });

  test("a request without a token gets 401", async () => {
    const { get } = served();
    expect(await get("/dead-letters", {} as Who)).toMatchObject(problem(401, "unauthenticated"));
  });

  test("only an admin sees the queues", async () => {
    const { get } = served();
    expect(await get("/queues")).toMatchObject(problem(403, "forbidden"));
    expect(await get("/queues", ada)).toMatchObject({ status: 200 });
  });
});

describe("an operation over HTTP", () => {
  test("an operation is accepted with its id and number, and can be followed to its end", async () => {
    const { deadLetter, post, get, run, broken } = served();
    await deadLetter(3);
    await deadLetter(1, { type: "mail.send" });
    broken.mended = true;
    const { status, headers, json } = await post("/dead-letters/replay", { filter: { type: "order.ship" } });
    expect({ status, json }).toEqual({ status: 202, json: { operation_id: expect.any(String), matched: 3 } });
    const path = `/operations/${json.operation_id}`;
    expect(headers.get("content-location")).toBe(path);
    const before = await get(path);
    expect(before.headers.get("retry-after")).toBe("1");
    expect(before.json).toMatchObject({ status: "pending", matched: 3, done: 0 });
    await run();
    const after = await get(path);
    expect(after.headers.get("retry-after")).toBeNull();
    expect(after.json).toEqual({
      operation_id: json.operation_id,
      status: "completed",
      matched: 3,
      done: 3,
      skipped: 0,
      failed: 0,
    });
    expect((await get("/dead-letters")).json.dead_letters).toMatchObject([{ type: "mail.send" }]);
  });

  test("a dry run only counts", async () => {
    const { deadLetter, post, queues, deadLetters } = served();
    await deadLetter(2);
    const answer = await post("/dead-letters/discard", { filter: {}, dry_run: true });
    expect(answer).toMatchObject({ status: 200, json: { matched: 2 } });
    expect(Object.keys(answer.json)).toEqual(["matched"]);
    expect(queues.waiting("high")).toEqual([]);
    expect(await deadLetters()).toHaveLength(2);
  });

  test("an operation by ids acts on each once, and counts ids that are not dead letters as skipped", async () => {
    const { deadLetter, post, get, run, recordOf } = served();
    const [mine, other = newRecord()] = await deadLetter(2);
    const identity = { tenantId: "globex", principal: "gina", role: "operator" } as const;
    const [foreign = newRecord()] = await deadLetter(1, { identity });
    const task_ids = [mine?.task_id, mine?.task_id, foreign.task_id, randomUUID()];
    const { json } = await post("/dead-letters/discard", { task_ids });
    expect(json.matched).toBe(1);
    await run();
    expect((await get(`/operations/${json.operation_id}`)).json).toMatchObject({ matched: 1, done: 1, skipped: 2 });
    for (const record of [other, foreign])
      expect(await recordOf(record)).toMatchObject({ dead_letter_at: expect.any(String) });
  });

  test("another tenant's operation gets 404, like one that never existed", async () => {
    const { post, get } = served();
    const { json } = await post("/dead-letters/replay", { filter: {} });
    const strangers = await get(`/operations/${json.operation_id}`, gina);
    const nobodys = await get(`/operations/${randomUUID()}`, gina);
    expect(strangers).toMatchObject(problem(404, "not_found"));
    expect({ ...strangers.json, correlation_id: "" }).toEqual({ ...nobodys.json, correlation_id: "" });
    expect(await get("/operations/x")).toMatchObject(problem(404, "not_found"));
  });

  test("an operation cannot be cancelled", async () => {
    const { post, recordOf } = served();
    const { json } = await post("/dead-letters/replay", { filter: {} });
    expect(await post(`/tasks/${json.operation_id}/cancel`, {})).toMatchObject(problem(409, "conflict"));
    expect(await recordOf({ tenant_id: "acme", task_id: json.operation_id })).toMatchObject({ status: "pending" });
  });

  test("a failed operation is replayed only when its type is named", async () => {
    const { post, deadLetter, ports, finish, get } = served();
    await deadLetter(1);
    const { json } = await post("/dead-letters/discard", { filter: {} });
    const key = { tenant_id: "acme", task_id: json.operation_id };
    await ports.records.savePart(key, "operation#0", undefined, 0);
    expect(await finish(json.operation_id)).toMatchObject({ status: "failed" });
    expect((await get("/dead-letters")).json.dead_letters).toHaveLength(2);
    const count = async (path: string, filter: object) => (await post(path, { filter, dry_run: true })).json.matched;
    expect(await count("/dead-letters/replay", {})).toBe(1);
    expect(await count("/dead-letters/replay", { type: "offload.discard" })).toBe(1);
    expect(await count("/dead-letters/discard", {})).toBe(2);
  });

  test.for<[string, object]>([
    ["replay", {}],
    ["replay", { task_ids: [randomUUID()], filter: {} }],
    ["replay", { task_ids: [] }],
    ["replay", { task_ids: Array.from({ length: 101 }, () => randomUUID()) }],
    ["replay", { task_ids: "all" }],
    ["replay", { task_ids: ["not-an-id"] }],
    ["replay", { filter: { colour: "red" } }],
    ["replay", { filter: { error_kind: "unheard_of" } }],
    ["replay", { filter: { failed_after: 5 } }],
    ["replay", { filter: {}, dry_run: "yes" }],
    ["replay", { filter: {}, per_second: 0 }],
    ["replay", { filter: {}, per_second: 101 }],
    ["replay", { filter: {}, per_second: 1.5 }],
    ["discard", { filter: {}, per_second: 10 }],
    ["discard", { filter: {}, all: true }],
  ])("a %s of %j is refused", async ([action, body]) => {
    const { post } = served();
    expect(await post(`/dead-letters/${action}`, body)).toMatchObject(problem(422, "invalid_input"));
  });
});

describe("POST /tasks/{id}/retry", () => {
  test("a retry takes the task's message out of the DLQ soon", async () => {
    const { deadLetter, post, clock, run, deadLettered } = served();
    const [record] = await deadLetter(1);
    expect(await post(`/tasks/${record?.task_id}/retry`, {})).toMatchObject({ status: 202 });
    await clock.advance(10_000);
    await run("high");
    expect(deadLettered()).toEqual([]);
  });

  test("a retry of a discarded task needs no sweep", async () => {
    const { deadLetter, post, start, finish, queues } = served();
    const [record] = await deadLetter(1);
    await finish(await start("discard"));
    expect(await post(`/tasks/${record?.task_id}/retry`, {})).toMatchObject({ status: 202 });
    expect(queues.waiting("high")).toEqual([]);
  });
});

test("GET /queues shows the depth of each tier", async () => {
  const { get, deadLetter, accept } = served();
  await deadLetter(2);
  await accept({ type: "order.ship", input: { n: 1 } });
  await accept({ type: "order.ship", input: { n: 1 }, delay_seconds: 60 });
  const on = { paused: false, paused_since: null, refusing_since: null };
  const empty = { visible: 0, in_flight: 0, delayed: 0, oldest_age_seconds: 0, retrying: 0, dead_letters: 0, ...on };
  expect((await get("/queues", ada)).json).toEqual({
    queues: {
      critical: empty,
      high: empty,
      normal: { ...empty, visible: 1, delayed: 1, oldest_age_seconds: 42, dead_letters: 2 },
      low: empty,
    },
    rescue: null,
  });
});

test("GET /queues shows the last look for open tasks that nothing wakes", async () => {
  const { get, accept, reconcile: rescue, clock, queues } = served();
  await accept({ type: "order.ship", input: { n: 1 } });
  for (const { receiptHandle } of queues.take("normal", 1, 60)) queues.acknowledge(receiptHandle);
  await clock.advance(3 * 3_600_000);
  await rescue(clock.now() + 60_000);
  const at = new Date(clock.now()).toISOString();
  const answer = await get("/queues", ada);
  expect(answer.json).toMatchObject({ rescue: { at, whole: true, open: 1, sent: 1, ended: 0, left: 0 } });
});

test("GET /queues counts the tasks that wait for another attempt", async () => {
  const { get, accept, records } = served();
  const record = await accept({ type: "order.ship", input: { n: 1 } });
  await records.change(record, { when: {}, set: { retrying_in: "normal" } });
  expect((await get("/queues", ada)).json).toMatchObject({ queues: { normal: { retrying: 1 }, low: { retrying: 0 } } });
});

test("GET /queues answers without ages when CloudWatch has none, or does not answer", async () => {
  for (const ofTiers of [async () => ({}), () => Promise.reject(new Error("throttled"))]) {
    const { get, accept } = served(ofTiers);
    await accept({ type: "order.ship", input: { n: 1 } });
    const answer = await get("/queues", ada);
    expect(answer).toMatchObject({
      status: 200,
      json: { queues: { normal: { visible: 1, oldest_age_seconds: null } } },
    });
  }
});

describe("recovery", () => {
  test("an admin has letters listed again whose records are gone; nobody else may, and no other queue exists", async () => {
    const { deadLetter, records, get, post, run, clock } = served();
    const [record = newRecord()] = await deadLetter(1);
    records.forget(record);
    expect((await get("/dead-letters")).json.dead_letters).toEqual([]);
    expect(await post("/queues/normal/recover", {})).toMatchObject(problem(403, "forbidden"));
    expect(await post("/queues/urgent/recover", {}, ada)).toMatchObject(problem(404, "not_found"));
    expect(await post("/queues/normal/recover", {}, ada)).toMatchObject({ status: 202, json: { tier: "normal" } });
    await clock.advance(10_000);
    await run("high");
    const { dead_letters } = (await get("/dead-letters")).json;
    expect(dead_letters).toMatchObject([
      { task_id: record.task_id, type: record.type, error: record.error, input: {} },
    ]);
  });
});
