import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type ChannelMessage, type Client, TaskFailed, type TaskView } from "../../src/client/index.ts";
import {
  type Answer,
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

/** A connection that a test controls. */
class FakeSocket extends EventTarget {
  static all: FakeSocket[] = [];
  readonly sent: string[] = [];
  readonly url: string;
  closed = false;

  constructor(url: string) {
    super();
    this.url = url;
    FakeSocket.all.push(this);
    if (FakeSocket.opens) setTimeout(() => this.dispatchEvent(new Event("open")), 10);
  }

  static opens = true;

  send(text: string): void {
    this.sent.push(text);
    if (FakeSocket.answersPings) this.tell({ type: "pong" });
  }

  static answersPings = true;

  tell(message: unknown): void {
    const data = typeof message === "string" ? message : JSON.stringify(message);
    this.dispatchEvent(new MessageEvent("message", { data }));
  }

  /** Ends the connection from the API's side. */
  cut(): void {
    this.close();
    this.dispatchEvent(new Event("close"));
  }

  close(): void {
    this.closed = true;
  }
}

const sockets = () => FakeSocket.all;
const latest = (): FakeSocket => {
  const socket = FakeSocket.all.at(-1);
  if (socket === undefined) throw new Error("no connection was made");
  return socket;
};

beforeEach(() => {
  fakeTime();
  Object.assign(FakeSocket, { all: [], opens: true, answersPings: true });
  vi.stubGlobal("WebSocket", FakeSocket);
});
afterEach(() => {
  vi.unstubAllGlobals();
  realTime();
});

const channel = (url = "wss://push.test/v1?ticket=a") => json({ channel_id: "c", url, expires_at: "later" }, 201);
const message = (type: string, more: object = {}) => ({
  type: `task.${type}`,
  task_id: "t1",
  status: type === "progress" ? "processing" : type,
  outcome: null,
  progress: null,
  at: "2027-01-01T00:00:05.000Z",
  ...more,
});
const passed = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** Lets time pass, until the first connection was made at least. */
async function connected(ms: number): Promise<void> {
  const start = Date.now();
  // Code that is loaded on use takes time that is not the test's.
  while (sockets().length === 0) await passed(1);
  await passed(Math.max(20, start + ms - Date.now()));
}

/** Collects what a channel says until its signal ends. */
function listening(client: Client, options: Parameters<Client["subscribe"]>[0] = {}) {
  const controller = new AbortController();
  const heard: ChannelMessage[] = [];
  const done = (async () => {
    for await (const one of client.subscribe({ signal: controller.signal, ...options })) heard.push(one);
  })().catch((error: unknown) => error);
  const stop = async () => {
    controller.abort(new Error("enough"));
    await passed(0);
    return done;
  };
  return { heard, types: () => heard.map(({ type }) => type), done, stop };
}

describe("subscribe", () => {
  test("messages of the channel are iterated over, after the word that it is open", async () => {
    const api = new FakeApi(channel());
    const { heard, stop } = listening(api.client(), { scope: "tenant" });
    await connected(20);
    for (const one of [message("progress"), "no json", { type: "other" }, "null", message("completed")])
      latest().tell(one);
    await passed(0);
    expect(heard).toEqual([{ type: "channel.open" }, message("progress"), message("completed")]);
    expect(api.seen[0]).toMatchObject({ method: "POST", path: "/channels", body: { scope: "tenant" } });
    expect(latest().url).toBe("wss://push.test/v1?ticket=a");
    expect(await stop()).toMatchObject({ message: "enough" });
    expect(latest().closed).toBe(true);
  });

  test("after the end of a connection a new channel is opened", async () => {
    const api = new FakeApi(channel("wss://push.test/1"), channel("wss://push.test/2"));
    const { types, stop } = listening(api.client());
    await connected(20);
    latest().cut();
    await passed(1_000);
    expect(types()).toEqual(["channel.open", "channel.closed", "channel.open"]);
    expect(sockets().map(({ url }) => url)).toEqual(["wss://push.test/1", "wss://push.test/2"]);
    await stop();
  });

  test("the waits before new connections grow, and start again after one that worked", async () => {
    const api = new FakeApi(channel());
    const { stop } = listening(api.client());
    const waits: number[] = [];
    for (let n = 0; n < 5; n++) {
      while (sockets().length === n) await passed(10);
      const start = Date.now();
      latest().cut();
      while (sockets().length === n + 1) await passed(10);
      waits.push(Date.now() - start);
    }
    expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000]);
    await passed(60_000);
    const before = sockets().length;
    const start = Date.now();
    latest().cut();
    while (sockets().length === before) await passed(10);
    expect(Date.now() - start).toBeLessThan(600);
    await stop();
  });

  test("a connection that does not open, or does not answer a ping, is replaced", async () => {
    FakeSocket.opens = false;
    const { types, stop } = listening(new FakeApi(channel()).client());
    await passed(21_000);
    expect(sockets().length).toBe(2);
    FakeSocket.opens = true;
    await passed(21_000);
    expect(types()).toEqual(["channel.open"]);
    const socket = latest();
    await passed(510_000);
    expect([socket.sent.at(-1), socket.closed]).toEqual(['{"type":"ping"}', false]);
    FakeSocket.answersPings = false;
    await passed(510_000);
    expect(socket.closed).toBe(true);
    expect(types().slice(1, 2)).toEqual(["channel.closed"]);
    await stop();
  });

  test("a reader that is too slow gets a new connection, so that it knows of lost messages", async () => {
    const controller = new AbortController();
    const messages = new FakeApi(channel()).client().subscribe({ signal: controller.signal });
    const first = messages.next();
    await connected(20);
    expect((await first).value).toEqual({ type: "channel.open" });
    for (let n = 0; n < 1_500; n++) latest().tell(message("progress"));
    expect((await messages.next()).value).toEqual({ type: "channel.closed" });
    expect(latest().closed).toBe(true);
    controller.abort();
  });

  test("errors that can pass are waited for", async () => {
    const answers: (() => Answer)[] = [networkError, problem(503, "unavailable"), problem(429, "rate_limited")];
    const api = new FakeApi(...answers, ...answers, ...answers, channel());
    const { types, stop } = listening(api.client());
    await passed(300_000);
    expect(types()).toEqual(["channel.open"]);
    await stop();
  });

  test.each([
    [404, "not_found"],
    [401, "unauthenticated"],
    [403, "forbidden"],
  ])("a refusal with %d is thrown", async (status, code) => {
    const api = new FakeApi(problem(status, code));
    const { done } = listening(api.client());
    await passed(100);
    expect(await done).toMatchObject({ status, code });
    expect(api.seen).toHaveLength(1);
  });

  test("a runtime without WebSocket is refused", async () => {
    vi.stubGlobal("WebSocket", undefined);
    const { done } = listening(new FakeApi(channel()).client());
    await passed(0);
    expect(String(await done)).toContain("no WebSocket");
  });

  test("a loop that is left closes its connection", async () => {
    const client = new FakeApi(channel()).client();
    const left = (async () => {
      for await (const { type } of client.subscribe()) return type;
    })();
    await connected(20);
    expect([await left, latest().closed]).toEqual(["channel.open", true]);
  });
});

describe("progress and result by push", () => {
  const later = (at: string) => ({ updated_at: `2027-01-01T00:00:0${at}.000Z`, progress: null });
  const pending = task("pending", later("1"), { "retry-after": "5" });

  test("result reads the task rarely, and hears of its progress and its end", async () => {
    const api = new FakeApi(pending, channel(), pending, pending, task("completed", { ...later("9"), result: 7 }));
    const seen: (number | null)[] = [];
    const result = api.client().result("t1", { onProgress: ({ progress }) => seen.push(progress) });
    await connected(10_000);
    latest().tell(message("progress", { progress: 30, at: "2027-01-01T00:00:06.000Z" }));
    latest().tell(message("progress", { progress: 10, at: "2027-01-01T00:00:02.000Z" }));
    latest().tell(message("progress", { task_id: "t2", progress: 90 }));
    latest().tell(message("progress", { progress: 60, at: "2027-01-01T00:00:07.000Z" }));
    await passed(10_000);
    expect(api.paths).toEqual(["GET /tasks/t1", "POST /channels", "GET /tasks/t1", "GET /tasks/t1"]);
    latest().tell(message("completed", { at: "2027-01-01T00:00:09.000Z" }));
    await passed(0);
    expect(await result).toBe(7);
    expect(seen).toEqual([null, 30, 60, null]);
    await passed(2_000);
    expect(latest().closed).toBe(true);
  });

  test("an end that the API does not know yet is read again", async () => {
    const api = new FakeApi(pending, channel(), pending, pending, pending, task("failed", later("9")));
    const result = api.client().result("t1", { push: true });
    await connected(10_000);
    latest().tell(message("failed"));
    expect(await errorOf(result)).toBeInstanceOf(TaskFailed);
    expect(api.seen.at(-1)?.at).toBe(11_000);
  });

  test("an end during a cut is found when the channel is open again", async () => {
    const api = new FakeApi(pending, channel(), pending, pending, pending, channel(), task("completed", later("9")));
    const result = api.client().result("t1", { push: true });
    await connected(10_000);
    latest().cut();
    expect(await ended(result)).toBeNull();
    expect(api.seen.at(-1)?.at).toBeLessThan(11_000);
    expect(sockets()).toHaveLength(2);
  });

  test("a lost message costs at most half a minute", async () => {
    const api = new FakeApi(pending, channel(), pending, pending, task("completed", later("9")));
    await ended(api.client().result("t1", { push: true }));
    expect(api.seen.at(-1)?.at).toBeLessThan(40_000);
  });

  test.each([
    ["no channels", problem(404, "not_found"), FakeSocket],
    ["no WebSocket in the runtime", pending, undefined],
  ])("with %s it polls, and asks for a channel only once", async (_, refusal, socket) => {
    vi.stubGlobal("WebSocket", socket);
    const answers = socket === undefined ? [] : [refusal];
    const end = task("completed", { ...later("9"), result: 1 });
    const api = new FakeApi(pending, ...answers, pending, end, pending, end);
    const client = api.client();
    expect(await ended(client.result("t1", { push: true }))).toBe(1);
    expect(await ended(client.result("t1", { push: true }))).toBe(1);
    expect(api.paths.filter((path) => path === "POST /channels")).toHaveLength(answers.length);
    const polls = api.seen.filter(({ method }) => method === "GET").map(({ at }) => at);
    expect(polls).toEqual([0, 5_000, 10_000, 10_000, 15_000]);
  });

  test("calls of one client share one channel", async () => {
    const states: Record<string, string> = {};
    const fetch = async (url: string) => {
      const id = url.split("/").at(-1) ?? "";
      const given = url.endsWith("/channels")
        ? channel()
        : task(states[id] ?? "pending", { ...later("1"), task_id: id });
      return given() as Response;
    };
    const client = new FakeApi().client({ fetch });
    const ids = ["a", "b", "c"];
    const results = Promise.all(ids.map((id) => client.result(id, { push: true })));
    await passed(5_000);
    expect(sockets()).toHaveLength(1);
    for (const id of ids) {
      states[id] = "completed";
      latest().tell(message("completed", { task_id: id }));
    }
    await passed(0);
    expect(await results).toEqual([null, null, null]);
    await passed(500);
    states.d = "pending";
    const next = client.result("d", { push: true });
    await passed(500);
    states.d = "completed";
    latest().tell(message("completed", { task_id: "d" }));
    await passed(0);
    await next;
    expect(sockets()).toHaveLength(1);
    await passed(1_000);
    expect(latest().closed).toBe(true);
  });

  test("progress iterates over states that push tells of", async () => {
    const api = new FakeApi(pending, channel(), pending, pending, task("completed", later("9")));
    const states: TaskView[] = [];
    const loop = (async () => {
      for await (const state of api.client().progress("t1", { push: true })) states.push(state);
    })();
    await connected(5_000);
    latest().tell(message("processing", { at: "2027-01-01T00:00:03.000Z" }));
    latest().tell(message("completed"));
    await passed(0);
    await loop;
    expect(states.map(({ status }) => status)).toEqual(["pending", "processing", "completed"]);
    expect(states[1]).toMatchObject({ type: "mail.send", task_id: "t1" });
  });

  test("a signal ends the wait, and closes the channel", async () => {
    const controller = new AbortController();
    const result = new FakeApi(pending, channel(), pending)
      .client()
      .result("t1", { push: true, signal: controller.signal });
    setTimeout(() => controller.abort(new Error("the user left")), 10_000);
    expect(await errorOf(result)).toMatchObject({ message: "the user left" });
    await passed(1_000);
    expect(latest().closed).toBe(true);
  });
});
