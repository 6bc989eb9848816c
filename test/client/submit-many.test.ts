import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ProblemError, type SubmitManyOptions, type SubmitOutcome } from "../../src/client/index.ts";
import { type Answer, ended, errorOf, FakeApi, fakeTime, json, networkError, problem, realTime } from "./fake-api.ts";

beforeEach(fakeTime);
afterEach(realTime);

interface Entry {
  type: string;
  input: unknown;
  idempotency_key: string;
}

/** The answer to an entry: true accepts it, else its refusal. */
type Verdict = true | { status: number; code: string; retry_after_seconds?: number };

/** An API that answers batches entry by entry; `verdict` gets each entry and the number of its request. */
function batchApi(verdict: (entry: Entry, request: number) => Verdict, ...first: (() => Answer)[]) {
  const answer = () => {
    const tasks = entriesOf(api).at(-1) ?? [];
    const answers = tasks.map((entry) => {
      const given = verdict(entry, api.seen.length);
      if (given !== true) return { problem: { ...given, detail: `the detail of ${given.code}` } };
      return { task_id: `task of ${entry.idempotency_key}`, status: "pending", replayed: false };
    });
    return json({ tasks: answers }, 202)();
  };
  const api: FakeApi = new FakeApi(...first, answer);
  return api;
}

const entriesOf = (api: FakeApi): Entry[][] => api.seen.map(({ body }) => (body as { tasks: Entry[] }).tasks);
const sizes = (api: FakeApi) => entriesOf(api).map((entries) => entries.length);
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);
const outcomeOf = ({ task, error }: SubmitOutcome) => task?.task_id ?? `${error?.status} ${error?.code}`;

async function submitAll(
  api: FakeApi,
  inputs: Iterable<unknown> | AsyncIterable<unknown>,
  options?: SubmitManyOptions,
) {
  const outcomes: SubmitOutcome[] = [];
  for await (const outcome of api.client().submitMany("mail.send", inputs, options)) outcomes.push(outcome);
  return outcomes;
}

describe("submitMany", () => {
  test("inputs are sent 500 to a request, and each has its outcome in its place", async () => {
    const api = batchApi(() => true);
    const outcomes = await submitAll(api, numbers(1_200), { idempotencyKey: "import" });
    expect(api.paths).toEqual(["POST /tasks/batch", "POST /tasks/batch", "POST /tasks/batch"]);
    expect(sizes(api)).toEqual([500, 500, 200]);
    expect(outcomes.map(outcomeOf)).toEqual(numbers(1_200).map((n) => `task of import.${n}`));
    expect(entriesOf(api).flatMap((entries) => entries.map(({ input }) => input))).toEqual(numbers(1_200));
  });

  test("options are those of every entry, under the API's names", async () => {
    const api = batchApi(() => true);
    const options = { priority: "low", delaySeconds: 5, tags: { order: "1" }, correlationId: "corr-1" } as const;
    await submitAll(api, ["a"], { ...options, idempotencyKey: "k" });
    expect(entriesOf(api)).toEqual([
      [
        {
          type: "mail.send",
          input: "a",
          priority: "low",
          delay_seconds: 5,
          tags: { order: "1" },
          idempotency_key: "k.0",
        },
      ],
    ]);
    expect(api.seen[0]?.headers.get("x-correlation-id")).toBe("corr-1");
  });

  test("a request has at most 900 KiB of entries, and a larger input has one of its own", async () => {
    const api = batchApi(() => true);
    const half = "ü".repeat(230 * 1024);
    expect(await submitAll(api, [half, half, "x".repeat(950 * 1024), 1, 2])).toHaveLength(5);
    expect(sizes(api)).toEqual([1, 1, 1, 2]);
  });

  test("no input makes no request", async () => {
    const api = batchApi(() => true);
    expect(await submitAll(api, [])).toEqual([]);
    expect(api.seen).toEqual([]);
  });

  test("inputs are read a chunk at a time, and no further than the caller reads outcomes", async () => {
    const api = batchApi(() => true);
    let read = 0;
    let closed = false;
    async function* endless() {
      try {
        for (;;) yield read++;
      } finally {
        closed = true;
      }
    }
    for await (const { task } of api.client().submitMany("mail.send", endless())) {
      if (task?.task_id.endsWith(".600")) break;
    }
    expect(sizes(api)).toEqual([500, 500]);
    expect(read).toBe(1_000);
    expect(closed).toBe(true);
  });

  test("a refused entry is the outcome of its input, and is not sent again", async () => {
    const api = batchApi(({ input }) => (input === 1 ? { status: 422, code: "invalid_input" } : true));
    const [first, second, third] = await submitAll(api, numbers(3), { idempotencyKey: "k" });
    expect([first, third].map((one) => one?.task?.task_id)).toEqual(["task of k.0", "task of k.2"]);
    expect(second?.error).toBeInstanceOf(ProblemError);
    expect(second?.error).toMatchObject({ code: "invalid_input", status: 422, tries: 1 });
    expect(api.seen).toHaveLength(1);
  });

  test("only entries that were refused with 429 or 503 are sent again, with their keys and growing waits", async () => {
    const refusals = [
      { status: 429, code: "rate_limited" },
      { status: 503, code: "queue_full" },
    ];
    const api = batchApi(({ input }, request) =>
      Number(input) < request * 2 ? true : (refusals[request % 2] ?? true),
    );
    const outcomes = await ended(submitAll(api, numbers(7), { idempotencyKey: "k" }));
    expect(outcomes.map(outcomeOf)).toEqual(numbers(7).map((n) => `task of k.${n}`));
    expect(sizes(api)).toEqual([7, 5, 3, 1]);
    expect(api.seen.map(({ at }) => at)).toEqual([0, 250, 750, 1750]);
  });

  test("entries wait for the seconds that their problems name, and stay refused when those are more than 60", async () => {
    const api = batchApi(({ input }, request) => {
      if (input === 0) return { status: 429, code: "quota_exceeded", retry_after_seconds: 3600 };
      return request > 1 || { status: 429, code: "rate_limited", retry_after_seconds: Number(input) };
    });
    const outcomes = await ended(submitAll(api, [0, 2, 7], { idempotencyKey: "k" }));
    expect(outcomes.map(outcomeOf)).toEqual(["429 quota_exceeded", "task of k.1", "task of k.2"]);
    expect(api.seen.map(({ at }) => at)).toEqual([0, 7_250]);
    expect(outcomes[0]?.error?.retryAfterSeconds).toBe(3600);
  });

  test("entries are given up after the client's number of tries in which none got through", async () => {
    const api = batchApi(({ input }, request) =>
      input === 0 || (input === 1 && request === 3) ? true : { status: 429, code: "quota_exceeded" },
    );
    const outcomes = await ended(submitAll(api, numbers(3), { idempotencyKey: "k" }));
    expect(outcomes.map(outcomeOf)).toEqual(["task of k.0", "task of k.1", "429 quota_exceeded"]);
    expect(sizes(api)).toEqual([3, 2, 2, 1, 1, 1, 1, 1, 1]);
    expect(outcomes[2]?.error).toMatchObject({ tries: 9 });
  });

  test("a lost answer is repeated with the same keys", async () => {
    const api = batchApi(() => true, networkError, problem(503, "unavailable"));
    await ended(submitAll(api, numbers(2)));
    const [first, ...again] = entriesOf(api);
    expect(again).toEqual([first, first]);
  });

  test("two calls without a key have keys of their own", async () => {
    const api = batchApi(() => true);
    await submitAll(api, [1, 2]);
    await submitAll(api, [1, 2]);
    const keys = entriesOf(api).flatMap((entries) => entries.map(({ idempotency_key }) => idempotency_key));
    expect(new Set(keys).size).toBe(4);
  });

  test("firstIndex goes on with the keys of an earlier call", async () => {
    const api = batchApi(() => true);
    const outcomes = await submitAll(api, ["c"], { idempotencyKey: "k", firstIndex: 1_000 });
    expect(outcomes.map(outcomeOf)).toEqual(["task of k.1000"]);
  });

  test("a request that is refused as a whole is thrown", async () => {
    const api = new FakeApi(problem(401, "unauthenticated"));
    expect(await errorOf(submitAll(api, [1, 2]))).toMatchObject({ status: 401, code: "unauthenticated" });
  });

  test("an input that is too large for any request is refused by itself", async () => {
    const api = batchApi(() => true, problem(413, "too_large"));
    const outcomes = await submitAll(api, ["x".repeat(2 ** 21), 1], { idempotencyKey: "k" });
    expect(outcomes.map(outcomeOf)).toEqual(["413 too_large", "task of k.1"]);
  });

  test("an error of the inputs is thrown after the outcomes of the inputs before it", async () => {
    const api = batchApi(() => true);
    const outcomes: SubmitOutcome[] = [];
    function* broken() {
      yield 1;
      yield 2;
      throw new Error("line 3 is not JSON");
    }
    const call = async () => {
      for await (const one of api.client().submitMany("mail.send", broken())) outcomes.push(one);
    };
    expect(await errorOf(call())).toMatchObject({ message: "line 3 is not JSON" });
    expect(outcomes).toHaveLength(2);
  });

  test("a signal ends the waits, and timeoutMs bounds the whole call", async () => {
    const busy = () => batchApi(() => ({ status: 429, code: "rate_limited" }));
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("the user left")), 300);
    expect(await errorOf(submitAll(busy(), [1], { signal: controller.signal }))).toMatchObject({
      message: "the user left",
    });
    expect(await errorOf(submitAll(busy(), [1], { timeoutMs: 1_000 }))).toMatchObject({ name: "CallTimeout" });
  });

  test("a signal ends a call that waits for its next input", async () => {
    const api = batchApi(() => true);
    async function* silent() {
      yield 1;
      await new Promise(() => {});
    }
    expect(await errorOf(submitAll(api, silent(), { timeoutMs: 1_000 }))).toMatchObject({ name: "CallTimeout" });
    expect(api.seen).toEqual([]);
  });
});

describe("submitBatch", () => {
  const mail = { type: "mail.send", input: { to: "ada@example.com" } };

  test("one request has tasks of several types, each with its own options, and answers in their order", async () => {
    const api = batchApi(({ type }) => type !== "stock.sync" || { status: 422, code: "invalid_input" });
    const outcomes = await api.client().submitBatch(
      [
        { ...mail, idempotencyKey: "mail-7", tags: { order: "7" } },
        { type: "stock.sync", input: 1, idempotencyKey: "stock-7", priority: "low", delaySeconds: 5 },
        { ...mail, idempotencyKey: "mail-8" },
      ],
      { correlationId: "order-7" },
    );
    expect(outcomes.map(outcomeOf)).toEqual(["task of mail-7", "422 invalid_input", "task of mail-8"]);
    expect(entriesOf(api)).toEqual([
      [
        { ...mail, tags: { order: "7" }, idempotency_key: "mail-7" },
        { type: "stock.sync", input: 1, priority: "low", delay_seconds: 5, idempotency_key: "stock-7" },
        { ...mail, idempotency_key: "mail-8" },
      ],
    ]);
    expect(api.seen[0]?.headers.get("x-correlation-id")).toBe("order-7");
  });

  test("only entries that were refused with 503 are sent again, each with the key that it had", async () => {
    const api = batchApi((entry, request) => entry.input !== 2 || request > 1 || { status: 503, code: "unavailable" });
    const submitted = api.client().submitBatch([1, 2].map((input) => ({ type: "mail.send", input })));
    expect((await ended(submitted)).map(({ error }) => error)).toEqual([undefined, undefined]);
    const [first = [], second = []] = entriesOf(api);
    expect(second).toEqual([first[1]]);
    expect(first[0]?.idempotency_key).not.toBe(first[1]?.idempotency_key);
  });

  test("more than 500 tasks are sent in several requests", async () => {
    const api = batchApi(() => true);
    expect(await api.client().submitBatch(Array(501).fill(mail))).toHaveLength(501);
    expect(sizes(api)).toEqual([500, 1]);
  });

  test("a request that is refused as a whole throws", async () => {
    const api = new FakeApi(problem(401, "unauthenticated"));
    expect(await errorOf(api.client().submitBatch([mail, mail]))).toMatchObject({ code: "unauthenticated" });
  });
});
