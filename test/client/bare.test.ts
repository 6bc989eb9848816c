import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { beforeAll, expect, test } from "vitest";

/** The client as one script, with the parts that it loads on use. */
let script = "";

beforeAll(async () => {
  const { outputFiles } = await build({
    entryPoints: ["src/client/index.ts"],
    bundle: true,
    write: false,
    format: "iife",
    globalName: "offload",
    platform: "browser",
    target: "es2022",
  });
  script = outputFiles[0]?.text ?? "";
});

/** React Native's signals: without reasons, `throwIfAborted`, `timeout`, `any`, and listeners that a signal removes. */
class BareSignal {
  aborted = false;
  readonly #listeners = new Set<() => void>();

  addEventListener(_: string, listener: () => void, options?: { signal?: unknown }) {
    if (options?.signal !== undefined) throw new TypeError("no such option");
    this.#listeners.add(listener);
  }

  removeEventListener(_: string, listener: () => void) {
    this.#listeners.delete(listener);
  }

  fire() {
    this.aborted = true;
    for (const listener of this.#listeners) listener();
  }
}

class BareController {
  readonly signal = new BareSignal();

  abort() {
    this.signal.fire();
  }
}

/** React Native's own `URL` throws for most of its members. */
class BareUrl {
  get protocol(): string {
    throw new Error("not implemented");
  }
}

interface Seen {
  url: string;
  authorization: string | null;
  key: string | null;
}

type BareAnswer = Pick<Response, "status" | "headers" | "text" | "json" | "arrayBuffer" | "blob">;

/** An answer without a stream, as React Native's `fetch` gives it. */
function answer(status: number, body: unknown, headers: Record<string, string> = {}): BareAnswer {
  const whole = new Response(typeof body === "string" ? body : JSON.stringify(body), { headers });
  return {
    status,
    headers: whole.headers,
    text: () => whole.text(),
    json: () => whole.json(),
    arrayBuffer: () => whole.arrayBuffer(),
    blob: () => whole.blob(),
  };
}

/** Runs code in a context that has what React Native has, and `more`. The code's `offload` is the client. */
function runBare<T>(
  code: string,
  answers: (BareAnswer | "silence")[],
  more: object = {},
): { value: Promise<T>; seen: Seen[] } {
  const seen: Seen[] = [];
  const fetch = async (url: string, { headers, signal }: { headers: Headers; signal: BareSignal }) => {
    seen.push({ url, authorization: headers.get("authorization"), key: headers.get("idempotency-key") });
    const next = answers.length > 1 ? answers.shift() : answers[0];
    if (next !== "silence") return next;
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(Object.assign(new Error("Aborted"), { name: "AbortError" })));
    });
  };
  const globals = {
    fetch,
    setTimeout,
    clearTimeout,
    Headers,
    Blob,
    File,
    AbortController: BareController,
    URL: BareUrl,
  };
  const context = createContext({ ...globals, ...more });
  runInContext(script, context);
  const value = runInContext(`(async () => { ${code} })()`, context, { timeout: 10_000 });
  return { value, seen };
}

const client = (more = "") =>
  `const client = offload.createClient({ url: "https://tasks.test/v1/", key: "a-key" ${more} });`;
const accepted = answer(202, { task_id: "t1", status: "pending" });

test("a task is submitted and its result read", async () => {
  const ended = answer(200, { task_id: "t1", status: "completed", result: { sum: 7 }, result_url: null });
  const { value, seen } = runBare(
    `${client()} return client.result(await client.submit("a.sum", {}, { tags: { a: "1" } }), { timeoutMs: 5_000 });`,
    [accepted, ended],
  );
  expect(await value).toEqual({ sum: 7 });
  expect(seen.map(({ url }) => url)).toEqual(["https://tasks.test/v1/tasks", "https://tasks.test/v1/tasks/t1"]);
});

test.each([
  [
    "with random values",
    { crypto: { getRandomValues: (into: Uint32Array<ArrayBuffer>) => crypto.getRandomValues(into) } },
  ],
  ["without any crypto", {}],
])("each submit has an idempotency key of its own %s, also of many at once", async (_, more) => {
  const { value, seen } = runBare<object[]>(
    `${client()} for (let n = 0; n < 100; n++) await client.submit("a.sum", {});
     return client.submitBatch([{ type: "a.sum", input: {} }]);`,
    [...Array.from({ length: 100 }, () => answer(202, { task_id: "t1" })), answer(200, { tasks: [{ task_id: "t2" }] })],
    more,
  );
  expect(await value).toEqual([{ task: { task_id: "t2" } }]);
  const keys = seen.flatMap(({ key }) => key ?? []);
  expect(new Set(keys).size).toBe(100);
  expect(keys.filter((key) => !/^[\x21-\x7e]{20,255}$/.test(key))).toEqual([]);
});

test("a request without an answer ends at its time limit, and so does a call, and a call that its caller ends", async () => {
  const errorOf = (call: string) =>
    `const error = await ${call}.catch((error) => error); return error.name + ": " + error.message;`;
  const silent = runBare(`${client(", requestTimeoutMs: 5, maxTries: 1")} ${errorOf("client.health()")}`, ["silence"]);
  expect(await silent.value).toContain(
    "ConnectionError: https://tasks.test/v1 does not answer: the time limit of 0.005 s",
  );
  const late = runBare(`${client()} ${errorOf("client.health({ timeoutMs: 5 })")}`, ["silence"]);
  expect(await late.value).toContain("CallTimeout");
  const ended = runBare(
    `${client()} const own = new AbortController(); setTimeout(() => own.abort(), 5);
     ${errorOf("client.health({ signal: own.signal })")}`,
    ["silence"],
  );
  expect(await ended.value).toBe("Error: aborted");
});

test("a download without a stream has the file, and says that it cannot be streamed", async () => {
  const headers = { "content-type": "text/csv", "content-disposition": 'attachment; filename="a.csv"' };
  const file = () => answer(200, "a,b\n", headers);
  const download = `${client()} const file = await client.download("t1");`;
  expect(await runBare(`${download} return file.name + " " + (await file.text());`, [file()]).value).toBe(
    "a.csv a,b\n",
  );
  const bytes = runBare<ArrayBuffer>(`${download} return file.arrayBuffer();`, [file()]);
  expect((await bytes.value).byteLength).toBe(4);
  const refused = runBare(`${download} try { file.body; } catch (error) { return error.message; }`, [file()]);
  expect(await refused.value).toContain("no streams");
  const streamed = runBare<ReadableStream>(`${download} return file.body;`, [file()], { ReadableStream, Uint8Array });
  expect(await new Response(await streamed.value).text()).toBe("a,b\n");
});

test("a list's query is sent", async () => {
  const { value, seen } = runBare(`${client()} return (await client.list({ q: "a b&c" }).page()).items;`, [
    answer(200, { tasks: [], next_cursor: null }),
  ]);
  expect(await value).toEqual([]);
  expect(seen[0]?.url).toBe("https://tasks.test/v1/tasks?q=a%20b%26c");
});

test("a URL that is no http is refused", async () => {
  for (const url of ["ftp://tasks.test", "/api", "https://user:word@tasks.test", "https:tasks.test"]) {
    const code = `try { offload.createClient({ url: ${JSON.stringify(url)}, key: "a" }); } catch (error) { return error.message; }`;
    expect(await runBare(code, []).value).toContain("url: expected http(s)");
  }
});
