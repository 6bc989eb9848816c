import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ConnectionError, createClient, ProblemError, UnexpectedAnswer } from "../../src/client/index.ts";
import {
  accepted,
  ended,
  errorOf,
  FakeApi,
  fakeTime,
  json,
  networkError,
  problem,
  realTime,
  task,
} from "./fake-api.ts";

beforeEach(fakeTime);
afterEach(realTime);

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe("a submit", () => {
  test("options are sent under the API's names", async () => {
    const api = new FakeApi(accepted());
    const options = {
      priority: "low",
      delaySeconds: 1,
      runAt: new Date("2027-01-01T00:00:00Z"),
      expiresInSeconds: 2,
      maxAttempts: 3,
      tags: { orderId: "1" },
      unique: { key: "k", mode: "debounce", waitSeconds: 5, maxWaitSeconds: 50 },
      retentionSeconds: 60,
      idempotencyKey: "key 1",
      correlationId: "corr-1",
    } as const;
    expect(await api.client().submit("mail.send", { toWhom: "ada" }, options)).toMatchObject({ task_id: "t1" });
    expect(api.seen[0]?.body).toEqual({
      type: "mail.send",
      input: { toWhom: "ada" },
      priority: "low",
      delay_seconds: 1,
      run_at: "2027-01-01T00:00:00.000Z",
      expires_in_seconds: 2,
      max_attempts: 3,
      tags: { orderId: "1" },
      unique: { key: "k", mode: "debounce", wait_seconds: 5, max_wait_seconds: 50 },
      retention_seconds: 60,
    });
    expect(Object.fromEntries(api.seen[0]?.headers ?? [])).toEqual({
      authorization: "Bearer a-key",
      "content-type": "application/json",
      "idempotency-key": "key 1",
      "x-correlation-id": "corr-1",
    });
  });

  test.each([
    ["a network error", networkError],
    ["408", problem(408, "request_timeout")],
    ["429", problem(429, "rate_limited")],
    ["500", problem(500, "internal")],
    ["503", problem(503, "unavailable")],
    ["502 of a proxy", () => new Response("<html>", { status: 502 })],
  ])("the submit is repeated after %s, with the idempotency key that it made", async (_, fault) => {
    const api = new FakeApi(fault, fault, accepted());
    expect(await ended(api.client().submit("mail.send", {}))).toMatchObject({ task_id: "t1" });
    const keys = new Set(api.seen.map(({ headers }) => headers.get("idempotency-key")));
    expect(api.seen).toHaveLength(3);
    expect([...keys]).toEqual([expect.stringMatching(uuid)]);
  });

  test("two submits have two idempotency keys", async () => {
    const api = new FakeApi(accepted());
    const client = api.client();
    await client.submit("mail.send", {});
    await client.submit("mail.send", {});
    expect(new Set(api.seen.map(({ headers }) => headers.get("idempotency-key"))).size).toBe(2);
  });

  test.each([
    [400, "malformed_request"],
    [401, "unauthenticated"],
    [403, "forbidden"],
    [404, "not_found"],
    [409, "conflict"],
    [413, "too_large"],
    [422, "invalid_input"],
  ])("%d %s is thrown immediately", async (status, code) => {
    const api = new FakeApi(problem(status, code));
    const error = await errorOf(api.client().submit("mail.send", {}));
    expect(error).toBeInstanceOf(ProblemError);
    expect(error).toMatchObject({ status, code, tries: 1, message: `the detail of ${code} (${status} ${code})` });
    expect(api.seen).toHaveLength(1);
  });

  test("a conflict with a time to wait is repeated, also of a request that may not be repeated otherwise", async () => {
    const api = new FakeApi(problem(409, "conflict", { "retry-after": "1" }));
    expect(await errorOf(api.client({ maxTries: 2 }).retry("t1"))).toMatchObject({ status: 409, tries: 2 });
    expect(api.seen).toHaveLength(2);
  });

  test("after 401, a function is asked for a new key, and the request is repeated once with it", async () => {
    const keys = ["old", "new"];
    const api = new FakeApi(problem(401, "unauthenticated"), accepted());
    await api.client({ key: async () => keys.shift() ?? "none", maxTries: 1 }).submit("mail.send", {});
    const [first, second] = api.seen.map(({ headers }) => headers);
    expect([first, second].map((headers) => headers?.get("authorization"))).toEqual(["Bearer old", "Bearer new"]);
    expect(second?.get("idempotency-key")).toBe(first?.get("idempotency-key"));
  });

  test("a second 401 is thrown, also of a request that may not be repeated", async () => {
    const api = new FakeApi(problem(401, "unauthenticated"));
    const error = await errorOf(api.client({ key: () => "old" }).retry("t1"));
    expect(error).toMatchObject({ status: 401, code: "unauthenticated", tries: 2 });
    expect(api.seen).toHaveLength(2);
  });

  test("an input that cannot be JSON is thrown as it is, without a request", async () => {
    const api = new FakeApi(accepted());
    expect(await errorOf(api.client().submit("mail.send", { n: 1n }))).toBeInstanceOf(TypeError);
    expect(api.seen).toEqual([]);
  });
});

describe("waits before repeats", () => {
  const times = async (api: FakeApi, call: Promise<unknown>) => {
    await errorOf(call);
    return api.seen.map(({ at }) => at);
  };

  test("the random waits double, and the number of tries is bounded", async () => {
    const api = new FakeApi(networkError);
    expect(await times(api, api.client().status("t1"))).toEqual([0, 250, 750, 1750, 3750, 7750]);
  });

  test("maxTries changes the number of tries", async () => {
    const api = new FakeApi(networkError);
    expect(await times(api, api.client({ maxTries: 1 }).status("t1"))).toEqual([0]);
  });

  test("no try comes before Retry-After is over, as seconds or as a date", async () => {
    const seconds = new FakeApi(problem(429, "quota_exceeded", { "retry-after": "20" }));
    expect(await times(seconds, seconds.client({ maxTries: 2 }).status("t1"))).toEqual([0, 20_250]);
    vi.setSystemTime(new Date("2027-01-01T00:00:00Z"));
    const date = new FakeApi(problem(503, "unavailable", { "retry-after": "Fri, 01 Jan 2027 00:00:10 GMT" }));
    expect(await times(date, date.client({ maxTries: 2 }).status("t1"))).toEqual([0, 10_250]);
  });

  test("a Retry-After of more than a minute is left to the caller", async () => {
    const api = new FakeApi(problem(429, "rate_limited", { "retry-after": "61" }));
    expect(await errorOf(api.client().status("t1"))).toMatchObject({ retryAfterSeconds: 61, tries: 1 });
  });

  test("a signal ends the wait, and timeoutMs bounds it", async () => {
    const api = new FakeApi(networkError);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("the user left")), 300);
    expect(await errorOf(api.client().status("t1", { signal: controller.signal }))).toMatchObject({
      message: "the user left",
    });
    expect(await errorOf(api.client().status("t1", { timeoutMs: 1_000 }))).toMatchObject({
      name: "CallTimeout",
      message: "the call took longer than its timeoutMs of 1000",
    });
  });

  test("a signal that has fired already sends nothing", async () => {
    const api = new FakeApi(task("pending"));
    const signal = AbortSignal.abort(new Error("too late"));
    expect(await errorOf(api.client().status("t1", { signal }))).toMatchObject({ message: "too late" });
    expect(api.seen).toEqual([]);
  });

  test("a silent server costs the time limit of one try", async () => {
    const api = new FakeApi(() => "silence");
    const error = await errorOf(api.client({ maxTries: 2, requestTimeoutMs: 5_000 }).status("t1"));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.message).toBe("https://tasks.test does not answer: the time limit of 5 s is over");
    expect(api.seen.map(({ at }) => at)).toEqual([0, 5_250]);
  });
});

describe("requests whose repeat could do harm", () => {
  type Client = ReturnType<FakeApi["client"]>;
  const ids = { taskIds: ["t1"] };

  test.each<[string, (client: Client) => Promise<unknown>]>([
    ["retry", (client) => client.retry("t1")],
    ["replay", (client) => client.deadLetters.replay(ids)],
    ["discard", (client) => client.deadLetters.discard(ids)],
  ])("%s is repeated only when the API did not take it", async (_, call) => {
    const lost = new FakeApi(networkError);
    expect(await errorOf(call(lost.client()))).toBeInstanceOf(ConnectionError);
    expect(lost.seen).toHaveLength(1);
    const failing = new FakeApi(problem(503, "unavailable"));
    await errorOf(call(failing.client()));
    expect(failing.seen).toHaveLength(1);
    const limited = new FakeApi(problem(429, "rate_limited"), json({}));
    await ended(call(limited.client()));
    expect(limited.seen).toHaveLength(2);
  });

  test("a cancel that succeeded without an answer returns the cancelled task", async () => {
    const api = new FakeApi(networkError, problem(409, "conflict"), task("cancelled"));
    expect(await ended(api.client().cancel("t1"))).toMatchObject({ status: "cancelled" });
    expect(api.paths).toEqual(["POST /tasks/t1/cancel", "POST /tasks/t1/cancel", "GET /tasks/t1"]);
  });

  test("a cancel of an ended task throws the conflict", async () => {
    const first = new FakeApi(problem(409, "conflict"));
    expect(await errorOf(first.client().cancel("t1"))).toMatchObject({ code: "conflict" });
    expect(first.seen).toHaveLength(1);
    const later = new FakeApi(networkError, problem(409, "conflict"), task("completed"));
    expect(await errorOf(later.client().cancel("t1"))).toMatchObject({ code: "conflict" });
  });

  test("a delete that succeeded without an answer succeeds", async () => {
    const api = new FakeApi(networkError, problem(404, "not_found"));
    await ended(api.client().schedules.delete("s1"));
    const none = new FakeApi(problem(404, "not_found"));
    expect(await errorOf(none.client().schedules.delete("s1"))).toMatchObject({ code: "not_found" });
  });

  test("a schedule's run is repeated with one idempotency key", async () => {
    const api = new FakeApi(networkError, accepted());
    await ended(api.client().schedules.run("s1"));
    const [one, other] = api.seen.map(({ headers }) => headers.get("idempotency-key"));
    expect(one).toMatch(uuid);
    expect(one).toBe(other);
  });
});

describe("errors", () => {
  test("a problem has its fields", async () => {
    const errors = [{ path: "/input/width", message: "expected a positive integer" }];
    const api = new FakeApi(problem(422, "invalid_input", { "retry-after": "2" }, { errors }));
    expect(await errorOf(api.client().submit("a", {}))).toMatchObject({
      name: "ProblemError",
      code: "invalid_input",
      status: 422,
      detail: "the detail of invalid_input",
      correlationId: "corr-7",
      retryAfterSeconds: 2,
      errors,
    });
  });

  test("a problem of the server names the correlation id", async () => {
    const api = new FakeApi(problem(500, "internal"));
    const error = await errorOf(api.client({ maxTries: 1 }).status("t1"));
    expect(error.message).toBe("the detail of internal (500 internal, correlation id corr-7)");
  });

  test("an answer of the gateway has no code", async () => {
    const api = new FakeApi(json({ message: "Service Unavailable" }, 503));
    const error = await errorOf(api.client({ maxTries: 1 }).status("t1"));
    expect(error).toMatchObject({ code: undefined, errors: [], message: "Service Unavailable (503)" });
  });

  test.each([
    ["a page", 200, "<html>"],
    ["an array", 200, "[]"],
    ["another API's error", 404, '{"error":"no"}'],
  ])("%s is not taken for an answer of Offload", async (_, status, text) => {
    const api = new FakeApi(() => new Response(text, { status }));
    const error = await errorOf(api.client().status("t1"));
    expect(error).toBeInstanceOf(UnexpectedAnswer);
    expect(error).toMatchObject({
      status,
      message: `https://tasks.test answered ${status}, but not as Offload does; check the URL`,
    });
  });

  test("a network error has its reason and cause", async () => {
    const api = new FakeApi(networkError);
    const error = await errorOf(api.client({ maxTries: 1 }).status("t1"));
    expect(error.message).toBe("https://tasks.test does not answer: connect ECONNREFUSED");
    expect(error.cause).toBeInstanceOf(TypeError);
  });

  test("an answer that breaks off is repeated, and named", async () => {
    const broken = () => {
      const body = new ReadableStream({ start: (stream) => stream.error(new TypeError("terminated")) });
      return new Response(body, { status: 200 });
    };
    const api = new FakeApi(broken, task("pending"));
    expect(await ended(api.client().status("t1"))).toMatchObject({ status: "pending" });
    const error = await errorOf(new FakeApi(broken).client({ maxTries: 1 }).status("t1"));
    expect(error.message).toBe("https://tasks.test answered 200, but not completely: terminated");
  });
});

describe("the options of a client", () => {
  test.each(["ftp://x", "nowhere", "https://ada:secret@tasks.test"])("the URL %j is refused", (url) => {
    expect(() => createClient({ url, key: "a-key" })).toThrow(
      new TypeError("url: expected http(s), without user or password"),
    );
  });

  test.each(["", "very secret", "very-sécret", "very\nsecret"])(
    "the key %j is refused without being shown",
    async (key) => {
      const refusal = new TypeError("key: expected printable ASCII, no spaces");
      expect(() => createClient({ url: "https://tasks.test", key })).toThrow(refusal);
      const api = new FakeApi(task("pending"));
      expect(await errorOf(api.client({ key: async () => key }).status("t1"))).toEqual(refusal);
      expect(api.seen).toEqual([]);
    },
  );

  test("a function gives a new key for each try", async () => {
    const api = new FakeApi(problem(503, "unavailable"), task("pending"));
    let calls = 0;
    await ended(api.client({ key: async () => `token-${++calls}` }).status("t1"));
    expect(api.seen.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer token-1", "Bearer token-2"]);
  });

  test("the tenant goes with each request, and the path of the URL stays", async () => {
    const api = new FakeApi(task("pending"));
    await api.client({ url: "https://tasks.test/api/?x=1#y", tenant: "globex" }).status("t1");
    expect(api.paths).toEqual(["GET /api/tasks/t1?tenant=globex"]);
  });

  test("the URL may be relative to a page", async () => {
    vi.stubGlobal("location", { href: "https://tasks.test/orders/7?tab=1" });
    const api = new FakeApi(task("pending"));
    await api.client({ url: "/api" }).status("t1");
    vi.unstubAllGlobals();
    expect(api.paths).toEqual(["GET /api/tasks/t1"]);
  });

  test("an id is never taken for a path", async () => {
    const api = new FakeApi(task("pending"));
    await api.client().status("../schedules?x=1");
    expect(api.paths).toEqual(["GET /tasks/..%2Fschedules%3Fx%3D1"]);
    for (const id of ["", ".", ".."]) {
      expect(() => api.client().status(id)).toThrow(new TypeError(`expected an id, got "${id}"`));
    }
  });
});
