import { randomUUID } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { pollsPerSecond } from "../../../src/api/http/polling-guard.ts";
import { PermanentError } from "../../../src/core/model/errors.ts";
import { iso } from "../../../src/core/model/record.ts";
import { file, recordResultBytes } from "../../../src/core/task/result.ts";
import { newRecord } from "../../support/records.ts";
import { type Ask, ada, ask, gina, olga, problem, sam, served, sue } from "../../support/served.ts";
import { typeOf } from "../../support/task-types.ts";

const get = ({ status }: ReturnType<typeof served>, path: string, more: Ask = {}) => ask(status, path, more);

describe("GET /health", () => {
  test("health needs no token", async () => {
    const answer = await get(served(), "/health", { as: {} });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ status: "ok", version: "1.2.3" });
  });
});

describe("GET /tasks/{task_id}", () => {
  test.each(["/tasks/", "/tasks/%20", "/tasks/ ", "/tasks//"])("%j is neither a route nor a list", async (path) => {
    expect(await get(served(), path)).toMatchObject(problem(404, "not_found"));
  });

  test("the answer has the task", async () => {
    const app = served();
    const record = await app.accepted({ tags: { a: "b" } });
    const answer = await get(app, `/tasks/${record.task_id}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
    expect(answer.json).toMatchObject({ task_id: record.task_id, status: "pending", tags: { a: "b" } });
  });

  test("the answer for an open task says when to poll again, and may not be stored", async () => {
    const app = served();
    const { task_id } = await app.accepted();
    const waits: (string | null)[] = [];
    for (const seconds of [0, 5, 100, 10_000]) {
      await app.clock.advance(seconds * 1000);
      const { headers } = await get(app, `/tasks/${task_id}`);
      expect(headers.get("cache-control")).toBe("no-store");
      waits.push(headers.get("retry-after"));
    }
    expect(waits).toEqual(["1", "1", "10", "60"]);
  });

  test("the answer for a task that has ended may be cached", async () => {
    const app = served();
    const { task_id } = await app.accepted();
    await app.drain();
    const { headers } = await get(app, `/tasks/${task_id}`);
    expect(headers.has("retry-after")).toBe(false);
    expect(headers.get("cache-control")).toBe("private, max-age=60");
  });

  test.each([
    ["a task of another tenant", gina],
    ["a task of another submitter", sue],
    ["an operator's task to a submitter", sam],
  ])("%s looks like a task that does not exist", async (_, as) => {
    const app = served();
    const record = await app.accepted({}, { as: as === sue ? sam : olga });
    const headers = { "x-correlation-id": "same" };
    const hidden = await get(app, `/tasks/${record.task_id}`, { as, headers });
    const missing = await get(app, `/tasks/${randomUUID()}`, { as, headers });
    expect(hidden).toMatchObject(problem(404, "not_found"));
    expect(hidden.text).toBe(missing.text);
    expect([...hidden.headers]).toEqual([...missing.headers]);
  });

  test("a submitter sees its own task, an operator every task of the tenant, and an admin any task", async () => {
    const app = served();
    const { task_id } = await app.accepted({}, { as: sam });
    for (const as of [sam, olga, ada]) expect((await get(app, `/tasks/${task_id}`, { as })).status).toBe(200);
    const theirs = await app.accepted({}, { as: gina });
    expect((await get(app, `/tasks/${theirs.task_id}?tenant=globex`, { as: ada })).status).toBe(200);
    expect((await get(app, `/tasks/${theirs.task_id}`, { as: ada })).status).toBe(404);
  });

  test.each(["nope", "0", "../health", `${randomUUID()}x`, randomUUID().toUpperCase(), "%00"])(
    "no task is found under %s",
    async (id) => {
      const app = served();
      const read = vi.spyOn(app.records, "get");
      expect((await get(app, `/tasks/${encodeURIComponent(id)}`)).status).toBe(404);
      expect(read).not.toHaveBeenCalled();
    },
  );

  test("no task is found past its purge time, although the table still has it", async () => {
    const app = served();
    const record = await app.accepted({ retention_seconds: 60 });
    await app.drain();
    await app.clock.advance(59_999);
    expect((await get(app, `/tasks/${record.task_id}`)).status).toBe(200);
    await app.clock.advance(1);
    expect((await get(app, `/tasks/${record.task_id}`)).status).toBe(404);
  });

  test("the answer reads one record, and the result beside it", async () => {
    const app = served([typeOf(() => "x".repeat(10_000))]);
    const { task_id } = await app.accepted();
    const reads = [vi.spyOn(app.records, "get"), vi.spyOn(app.records, "loadPart")];
    await get(app, `/tasks/${task_id}`);
    expect(reads.map(({ mock }) => mock.calls.length)).toEqual([1, 0]);
    await app.drain();
    expect((await get(app, `/tasks/${task_id}`)).json.result).toBe("x".repeat(10_000));
    expect(reads.map(({ mock }) => mock.calls.length)).toEqual([2, 1]);
  });

  test("HEAD is answered like GET, without a body", async () => {
    const app = served();
    const { task_id } = await app.accepted();
    const answer = await get(app, `/tasks/${task_id}`, { method: "HEAD" });
    expect([answer.status, answer.text]).toEqual([200, ""]);
    expect(answer.headers.get("etag")).toBe((await get(app, `/tasks/${task_id}`)).headers.get("etag"));
  });
});

describe("ETag", () => {
  const tagged = async () => {
    const app = served();
    const { task_id } = await app.accepted();
    const path = `/tasks/${task_id}`;
    return { ...app, path, etag: (await get(app, path)).headers.get("etag") ?? "" };
  };

  test("an ETag is strong, and changes with the task", async () => {
    const app = await tagged();
    expect(app.etag).toMatch(/^"[A-Za-z0-9_-]+"$/);
    await app.clock.advance(1_000);
    expect((await get(app, app.path)).headers.get("etag")).toBe(app.etag);
    await app.drain();
    expect((await get(app, app.path)).headers.get("etag")).not.toBe(app.etag);
  });

  test.each([
    (etag: string) => etag,
    (etag: string) => `W/${etag}`,
    (etag: string) => `"other", ${etag}`,
    (etag: string) => `"other",W/${etag} , "third"`,
    () => "*",
    () => " * ",
  ])("an ETag that the client has gives 304 without a body: %s", async (form) => {
    const app = await tagged();
    const answer = await get(app, app.path, { headers: { "if-none-match": form(app.etag) } });
    expect([answer.status, answer.text]).toEqual([304, ""]);
    expect(answer.headers.get("etag")).toBe(app.etag);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(answer.headers.has("content-type")).toBe(false);
  });

  test.each(['"other"', "", "nonsense", '"', "W/"])("an If-None-Match of %j gives the whole answer", async (header) => {
    const app = await tagged();
    const answer = await get(app, app.path, { headers: { "if-none-match": header } });
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ status: "pending" });
  });
});

describe("polling too fast", () => {
  const poll = async (app: ReturnType<typeof served>, path: string, more: Ask = {}) =>
    (await get(app, path, more)).status;

  test("the eleventh poll in a second is refused, for that caller and task", async () => {
    const app = served();
    const [a, b] = [await app.accepted(), await app.accepted()];
    const path = `/tasks/${a.task_id}`;
    for (let count = 0; count < pollsPerSecond; count++) expect(await poll(app, path)).toBe(200);
    const answer = await get(app, path);
    expect(answer).toMatchObject(problem(429, "rate_limited"));
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(await poll(app, `/tasks/${b.task_id}`)).toBe(200);
    expect(await poll(app, path, { as: ada })).toBe(200);
    await app.clock.advance(1_000);
    expect(await poll(app, path)).toBe(200);
  });
});

describe("GET /tasks/{task_id}/attempts", () => {
  test("the attempts come oldest first", async () => {
    const app = served([
      typeOf((_input, { attempt }) => {
        if (attempt === 1) throw new Error("no");
      }),
    ]);
    const { task_id } = await app.accepted();
    expect((await get(app, `/tasks/${task_id}/attempts`)).json).toEqual({ attempts: [] });
    await app.drain();
    const answer = await get(app, `/tasks/${task_id}/attempts`);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.json).toMatchObject({
      attempts: [
        { round: 1, number: 1, outcome: "retried", error: "no", error_kind: "transient" },
        { round: 1, number: 2, outcome: "completed", error: null },
      ],
    });
  });

  test("the attempts of another tenant's task are hidden", async () => {
    const app = served();
    const { task_id } = await app.accepted();
    expect(await get(app, `/tasks/${task_id}/attempts`, { as: gina })).toMatchObject(problem(404, "not_found"));
  });
});

describe("GET /tasks/{task_id}/result", () => {
  const withResult = async (result: unknown, drained = true) => {
    const app = served([typeOf(() => result)]);
    const { task_id } = await app.accepted();
    if (drained) await app.drain();
    return { app, path: `/tasks/${task_id}/result`, task_id };
  };

  test("the result of an open task is answered by 202", async () => {
    const { app, path, task_id } = await withResult(1, false);
    const answer = await get(app, path);
    expect(answer.status).toBe(202);
    expect(answer.json).toEqual({ task_id, status: "pending" });
    expect(answer.headers.get("retry-after")).toBe("1");
  });

  test.each([[{ a: 1 }], [null], ["text"], ["x".repeat(10_000)]])(
    "the result is the bare JSON %.20j",
    async (result) => {
      const { app, path } = await withResult(result);
      const answer = await get(app, path);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("application/json");
      expect(answer.json).toEqual(result);
      expect(answer.headers.has("content-disposition")).toBe(false);
    },
  );

  test.each([
    ["a b.pdf", 'attachment; filename="a b.pdf"'],
    ["ä.pdf", "attachment; filename=\"_.pdf\"; filename*=UTF-8''%C3%A4.pdf"],
    ['a"b\\c/d.pdf', 'attachment; filename="d.pdf"'],
    ["a\u202efdp.exe", 'attachment; filename="afdp.exe"'],
    ["it's (1)*.pdf", 'attachment; filename="it\'s (1)*.pdf"'],
    ["a\r\nSet-Cookie: x.pdf", 'attachment; filename="aSet-Cookie: x.pdf"'],
  ])("the result is a file with the name %j", async (fileName, disposition) => {
    const { app, path } = await withResult(
      file(new Uint8Array([37, 80, 68, 70]), { contentType: "application/pdf", fileName }),
    );
    const answer = await get(app, path);
    expect(answer.headers.get("content-type")).toBe("application/pdf");
    expect(answer.headers.get("content-disposition")).toBe(disposition);
    expect(answer.text).toBe("%PDF");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("the result of a failed task is answered by 409 with the reason", async () => {
    const app = served([typeOf(() => Promise.reject(new PermanentError("closed")))]);
    const { task_id } = await app.accepted();
    await app.drain();
    const answer = await get(app, `/tasks/${task_id}/result`);
    expect(answer).toMatchObject(problem(409, "conflict"));
    expect(answer.json).toMatchObject({ error: "closed", error_type: "PermanentError", error_kind: "permanent" });
  });

  test("a result that is no longer kept is answered by 410", async () => {
    const { app, path } = await withResult("x".repeat(10_000));
    vi.spyOn(app.records, "loadPart").mockResolvedValueOnce(undefined);
    expect(await get(app, path)).toMatchObject(problem(410, "gone"));
  });

  test("a result in the bucket is answered by 303, which no cache keeps", async () => {
    const { app, path, task_id } = await withResult("small");
    const result_ref = {
      part: 1,
      bytes: 400_000,
      content_type: "application/json",
      blob: `acme/${task_id}/result-a-1`,
    };
    const key = { tenant_id: "acme", task_id };
    await app.records.change(key, { when: {}, set: { result_ref }, remove: ["result"] });
    const answer = await get(app, path);
    expect([answer.status, answer.text]).toEqual([303, ""]);
    expect(answer.headers.get("location")).toMatch(/^memory:/);
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  test("a result that is a resource of its own is answered by 303 to it", async () => {
    const { app, path, task_id } = await withResult("small");
    await app.records.change({ tenant_id: "acme", task_id }, { when: {}, set: { location: "/orders/42" } });
    const answer = await get(app, path);
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/orders/42"]);
  });

  test("the result of another tenant's task is hidden", async () => {
    const { app, path } = await withResult("secret");
    expect(await get(app, path, { as: gina })).toMatchObject(problem(404, "not_found"));
  });
});

describe("GET /tasks", () => {
  /** An app with so many tasks, one a second, oldest first. */
  const many = async (count: number) => {
    const app = served();
    const records = Array.from({ length: count }, (_, index) =>
      newRecord({ created_at: iso(app.clock.now() + index * 1000), tags: { n: String(index % 2) } }),
    );
    for (const record of records) await app.records.create(record, iso(app.clock.now()));
    return { ...app, ids: records.map(({ task_id }) => task_id).toReversed() };
  };
  const idsOf = (json: Record<string, unknown>) => (json.tasks as { task_id: string }[]).map(({ task_id }) => task_id);

  test("the list has 50 tasks, newest first, and a cursor for the rest", async () => {
    const app = await many(60);
    const first = await get(app, "/tasks");
    expect(first.headers.get("cache-control")).toBe("no-store");
    expect(idsOf(first.json)).toEqual(app.ids.slice(0, 50));
    const second = await get(app, `/tasks?cursor=${first.json.next_cursor}`);
    expect(idsOf(second.json)).toEqual(app.ids.slice(50));
    expect(second.json.next_cursor).toBeNull();
  });

  test("a page of the largest records fits into an answer of Lambda", async () => {
    const app = served();
    const largest = {
      tags: Object.fromEntries(
        Array.from({ length: 10 }, (_, index) => [`${index}`.padStart(64, "t"), '"'.repeat(256)]),
      ),
      correlation_id: "c".repeat(128),
      requested_by: "ä".repeat(256),
      status: "completed" as const,
      result: '"'.repeat(recordResultBytes / 2 - 1),
      error: '"'.repeat(1_000),
      error_type: "E".repeat(128),
      outcome: "O".repeat(64),
    };
    for (let count = 0; count < 100; count++) await app.records.create(newRecord(largest), iso(app.clock.now()));
    const { text, json } = await get(app, "/tasks?limit=100");
    expect(idsOf(json)).toHaveLength(100);
    expect(Buffer.byteLength(JSON.stringify({ statusCode: 200, headers: {}, body: text }))).toBeLessThan(5_000_000);
  });

  test("the limit may change from page to page", async () => {
    const app = await many(5);
    const first = await get(app, "/tasks?limit=2");
    const second = await get(app, `/tasks?limit=100&cursor=${first.json.next_cursor}`);
    expect([...idsOf(first.json), ...idsOf(second.json)]).toEqual(app.ids);
  });

  test("tags and time can be filtered together", async () => {
    const app = await many(6);
    const after = encodeURIComponent(iso(app.clock.now() + 2000));
    const before = encodeURIComponent(iso(app.clock.now() + 5000));
    const answer = await get(app, `/tasks?tag.n=0&created_after=${after}&created_before=${before}`);
    expect(idsOf(answer.json)).toEqual([app.ids[1], app.ids[3]]);
  });

  test("times may be in any zone", async () => {
    const app = await many(2);
    const answer = await get(app, `/tasks?created_after=${encodeURIComponent("2027-01-01T02:00:01+02:00")}`);
    expect(idsOf(answer.json)).toEqual([app.ids[0]]);
  });

  test.each([
    ["limit=0", "/limit"],
    ["limit=101", "/limit"],
    ["limit=many", "/limit"],
    ["limit=1e1", "/limit"],
    ["status=done", "/status"],
    ["priority=urgent", "/priority"],
    ["created_after=yesterday", "/created_after"],
    ["created_before=2027-13-01", "/created_before"],
    [`type=${"x".repeat(65)}`, "/type"],
  ])("%.20s is refused, with a pointer to it", async (query, path) => {
    const answer = await get(served(), `/tasks?${query}`);
    expect(answer).toMatchObject(problem(422, "invalid_input"));
    expect(answer.json.errors).toMatchObject([{ path }]);
  });

  test("unknown parameters are ignored", async () => {
    expect((await get(served(), "/tasks?hue=blue&__proto__=1&tag.=x")).status).toBe(200);
  });

  test("a cursor is good for its caller and filters only", async () => {
    const app = await many(3);
    const { next_cursor } = (await get(app, "/tasks?limit=1&tag.n=0")).json;
    const cursor = `limit=1&cursor=${next_cursor}`;
    expect((await get(app, `/tasks?tag.n=0&${cursor}`)).status).toBe(200);
    for (const [query, as] of [
      [`tag.n=1&${cursor}`, olga],
      [cursor, olga],
      [`tag.n=0&status=pending&${cursor}`, olga],
      [`tag.n=0&${cursor}`, sam],
      [`tag.n=0&${cursor}`, gina],
      [`tag.n=0&tenant=globex&${cursor}`, ada],
      ["cursor=forged", olga],
      ["cursor=", olga],
    ] as const) {
      expect(await get(app, `/tasks?${query}`, { as })).toMatchObject(problem(400, "malformed_request"));
    }
  });

  test("a submitter sees its own tasks, and only an admin sees those of another tenant", async () => {
    const app = served();
    const mine = await app.accepted({}, { as: sam });
    const others = [await app.accepted({}, { as: sue }), await app.accepted({}, { as: olga })];
    const theirs = await app.accepted({}, { as: gina });
    expect(idsOf((await get(app, "/tasks", { as: sam })).json)).toEqual([mine.task_id]);
    const all = idsOf((await get(app, "/tasks", { as: olga })).json);
    expect(all.sort()).toEqual([mine, ...others].map(({ task_id }) => task_id).sort());
    expect(idsOf((await get(app, "/tasks?tenant=globex", { as: ada })).json)).toEqual([theirs.task_id]);
  });
});
