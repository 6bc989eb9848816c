import { vi } from "vitest";
import { type ClientOptions, createClient } from "../../src/client/index.ts";

/** A request as the API got it. */
export interface Seen {
  method: string;
  /** From the host on, with its query. */
  path: string;
  headers: Headers;
  body: unknown;
  /** Milliseconds since the first request. */
  at: number;
}

/** An answer, an error of the network, or silence until the request is aborted. */
export type Answer = Response | Error | "silence";

/**
 * A fake `fetch` with the answers of a test in their order; the last one is repeated. Use `fakeTime` with it, so that no test
 * waits.
 */
export class FakeApi {
  readonly seen: Seen[] = [];
  readonly #answers: readonly (() => Answer)[];
  #startedAt = 0;

  constructor(...answers: (() => Answer)[]) {
    this.#answers = answers;
  }

  fetch = async (url: string, init: RequestInit): Promise<Response> => {
    if (this.seen.length === 0) this.#startedAt = Date.now();
    this.seen.push({
      method: init.method ?? "GET",
      path: url.replace("https://tasks.test", ""),
      headers: new Headers(init.headers),
      body: init.body === undefined ? undefined : JSON.parse(String(init.body)),
      at: Date.now() - this.#startedAt,
    });
    const answer = this.#answers[Math.min(this.seen.length, this.#answers.length) - 1]?.();
    if (answer instanceof Response) return answer;
    if (answer instanceof Error) throw answer;
    return new Promise((_, reject) => {
      init.signal?.addEventListener("abort", () => reject(init.signal?.reason));
    });
  };

  client(options: Partial<ClientOptions> = {}) {
    return createClient({ url: "https://tasks.test", key: "a-key", fetch: this.fetch, ...options });
  }

  get paths(): string[] {
    return this.seen.map(({ method, path }) => `${method} ${path}`);
  }
}

export const json = (value: unknown, status = 200, headers: Record<string, string> = {}) => {
  return () =>
    new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json", ...headers } });
};

export const problem = (status: number, code: string, headers: Record<string, string> = {}, more: object = {}) =>
  json({ code, status, detail: `the detail of ${code}`, correlation_id: "corr-7", ...more }, status, headers);

export const networkError = () => new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });

export const accepted = (headers: Record<string, string> = {}) =>
  json({ task_id: "t1", status: "pending", poll_url: "/tasks/t1", created_at: "now" }, 202, headers);

/** A task's state; ended when it has a terminal status. */
export const task = (status: string, more: object = {}, headers: Record<string, string> = {}) =>
  json(
    { task_id: "t1", type: "mail.send", status, attempts: 1, result: null, result_url: null, error: null, ...more },
    200,
    { etag: `"${status}"`, ...headers },
  );

export const notModified =
  (headers: Record<string, string> = {}) =>
  () =>
    new Response(null, { status: 304, headers });

/** Replaces timers, the clock, time limits and randomness. Random waits are half of their upper bound. */
export function fakeTime(): void {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(0.5);
  vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new DOMException("over", "TimeoutError")), ms);
    return controller.signal;
  });
}

export function realTime(): void {
  vi.restoreAllMocks();
  vi.useRealTimers();
}

/** Lets all time pass until the call has ended. */
export async function ended<T>(call: Promise<T>): Promise<T> {
  let open = true;
  call.then(
    () => (open = false),
    () => (open = false),
  );
  while (open) await vi.advanceTimersToNextTimerAsync();
  return call;
}

/** Returns the error of a call that has to fail. */
export const errorOf = (call: Promise<unknown>): Promise<Error & Record<string, unknown>> =>
  ended(
    call.then(
      () => {
        throw new Error("the call succeeded");
      },
      (error) => error,
    ),
  );
