import { randomUUID } from "node:crypto";
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";

// A client of a running Offload, local or deployed, for black-box tests: it knows the outside only.

/** An API key, as `OFFLOAD_KEYS` lists them. */
export interface Key {
  token: string;
  tenant: string;
  role: string;
}

/** A task as `GET /tasks/{task_id}` answers. Times are ISO 8601 UTC. */
export interface Task {
  task_id: string;
  type: string;
  status: "scheduled" | "pending" | "processing" | "completed" | "failed" | "cancelled" | "expired";
  priority: string;
  progress: number | null;
  attempts: number;
  max_attempts: number;
  tags: Record<string, string>;
  created_at: string;
  updated_at: string;
  started_at: string | null;
  finished_at: string | null;
  run_at: string | null;
  next_attempt_at: string | null;
  waiting_for?: { kind: string; signals?: string[]; children?: string[]; until: string } | null;
  expires_at: string | null;
  retained_until: string | null;
  cancel_requested_at: string | null;
  outcome: string | null;
  result: unknown;
  result_url: string | null;
  error: string | null;
  error_type: string | null;
  error_kind: string | null;
  correlation_id: string;
  requested_by: string;
  schedule_id: string | null;
  scheduled_for?: string | null;
  parent_id: string | null;
  children: unknown;
}

/** One entry of `GET /tasks/{task_id}/attempts`. */
export interface Attempt {
  round: number;
  number: number;
  started_at: string;
  finished_at: string;
  duration_ms: number;
  outcome: string;
  error: string | null;
  error_type: string | null;
  error_kind: string | null;
  next_attempt_at: string | null;
  stack?: string | null;
}

/** What a submit answers. */
export interface Accepted {
  task_id: string;
  status: string;
  poll_url: string;
  created_at: string;
}

/** `application/problem+json`. */
interface ProblemBody {
  type: string;
  code: string;
  title: string;
  status: number;
  detail: string;
  errors?: { path: string; message: string }[];
  correlation_id: string;
  error?: string;
  error_type?: string;
  error_kind?: string;
}

/** One response, read to its end. */
export class Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;

  constructor(status: number, headers: Headers, bytes: Buffer) {
    this.status = status;
    this.headers = headers;
    this.bytes = bytes;
  }

  get text(): string {
    return this.bytes.toString("utf8");
  }

  json<T = Record<string, unknown>>(): T {
    try {
      return JSON.parse(this.text) as T;
    } catch (cause) {
      throw new Error(`expected JSON with status ${this.status}, got ${this.text.slice(0, 200)}`, { cause });
    }
  }
}

/** Longest wait for a response, in milliseconds. */
const answerLimitMs = 240_000;

interface SendOptions {
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, in place of `body`. */
  raw?: string | Uint8Array;
  headers?: Record<string, string>;
}

interface WaitOptions {
  /** Default: 240,000. */
  timeoutMs?: number;
  /** Called with each answer on the way. */
  seen?: (task: Task, answer: Answer) => void;
}

export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
export const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** A caller: one key, or none. */
export class Client {
  readonly tenant: string;
  readonly token: string;
  readonly url: string;
  private readonly base: URL;
  private readonly authorization: Record<string, string>;

  /** @param baseUrl Where the API is, without trailing slash. */
  constructor(baseUrl: string, key?: Key) {
    this.url = baseUrl;
    this.base = new URL(baseUrl);
    this.tenant = key?.tenant ?? "";
    this.token = key?.token ?? "";
    this.authorization = key === undefined ? {} : { authorization: `Bearer ${key.token}` };
  }

  /** @param path From the base URL, with its query. */
  send(method: string, path: string, options: SendOptions = {}): Promise<Answer> {
    const json = options.body === undefined ? {} : { "content-type": "application/json" };
    const headers = { ...this.authorization, ...json, ...options.headers };
    return exchange(this.base, method, path, headers, options.raw ?? JSON.stringify(options.body));
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return repeated(() => this.send("GET", path, { headers }));
  }

  /** With an Idempotency-Key, a repeat is safe. */
  post(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const send = () => this.send("POST", path, { body, headers });
    return headers["idempotency-key"] === undefined ? send() : repeated(send);
  }

  /** Submits and expects 202. */
  async submit(
    type: string,
    input: unknown,
    options: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ): Promise<Accepted> {
    const key = { "idempotency-key": randomUUID(), ...headers };
    return expectStatus(await this.post("/tasks", { type, input, ...options }, key), 202).json<Accepted>();
  }

  async task(taskId: string): Promise<Task> {
    return expectStatus(await this.get(`/tasks/${taskId}`), 200).json<Task>();
  }

  async attempts(taskId: string): Promise<Attempt[]> {
    return expectStatus(await this.get(`/tasks/${taskId}/attempts`), 200).json<{ attempts: Attempt[] }>().attempts;
  }

  /**
   * Polls until the predicate holds: first every 200 ms, later up to once a second. An answer that asks for another try, 429 or 503, gets one, after
   * its `Retry-After`.
   */
  async waitFor(taskId: string, predicate: (task: Task) => boolean, options: WaitOptions = {}): Promise<Task> {
    const { timeoutMs = 240_000, seen } = options;
    const deadline = Date.now() + timeoutMs;
    for (let pauseMs = 200; ; pauseMs = Math.min(1000, pauseMs * 1.2)) {
      const answer = await this.get(`/tasks/${taskId}`);
      const task = asksForLater(answer) ? undefined : expectStatus(answer, 200).json<Task>();
      if (task !== undefined) {
        seen?.(task, answer);
        if (predicate(task)) return task;
      }
      if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain: ${answer.text}`);
      await sleep(task === undefined ? 1000 * Number(answer.headers.get("retry-after") ?? 1) : pauseMs);
    }
  }

  /** Polls until the task is terminal. */
  ended(taskId: string, options: WaitOptions = {}): Promise<Task> {
    return this.waitFor(taskId, ({ status }) => terminal.has(status), options);
  }

  /** Follows `next_cursor` to the end of a list. */
  async all<T>(path: string, member: string): Promise<T[]> {
    const items: T[] = [];
    let cursor: string | null = null;
    do {
      const at: string = cursor === null ? path : `${path}${path.includes("?") ? "&" : "?"}cursor=${encode(cursor)}`;
      const page: Record<string, unknown> = expectStatus(await this.get(at), 200).json();
      expect(page[member], member).toBeInstanceOf(Array);
      items.push(...(page[member] as T[]));
      cursor = page.next_cursor as string | null;
    } while (cursor !== null);
    return items;
  }

  /** All tasks that fit a query. */
  list(query: string): Promise<Task[]> {
    return this.all<Task>(`/tasks?${query}`, "tasks");
  }
}

const terminal = new Set<string>(["completed", "failed", "cancelled", "expired"]);

export const encode = encodeURIComponent;

/** Epoch milliseconds of a time; fails the test when there is none. */
export function epoch(time: string | null | undefined): number {
  expect(time).toMatch(timePattern);
  return Date.parse(time ?? "");
}

/** True for the problem of a part that does not answer in time. Other problems with 503, such as a full queue, have other codes. */
const isUnavailable = (answer: Answer): boolean =>
  answer.status === 503 && answer.text.includes('"code":"unavailable"');

/** Repeats what is answered with `unavailable`, as clients do: the emulated table of a busy machine may answer too late. */
async function repeated(send: () => Promise<Answer>): Promise<Answer> {
  const deadline = Date.now() + answerLimitMs;
  for (;;) {
    const answer = await send();
    if (!isUnavailable(answer) || Date.now() > deadline) return answer;
    await sleep(1000);
  }
}

/** True for an answer that asks for another try. */
const asksForLater = ({ status }: Answer): boolean => status === 429 || status === 503;

export function expectStatus(answer: Answer, status: number): Answer {
  expect(answer.status, answer.text.slice(0, 1000)).toBe(status);
  return answer;
}

/** Asserts a problem as a whole: status, media type, members, correlation id. */
export function expectProblem(answer: Answer, status: number, code: string): ProblemBody {
  expectStatus(answer, status);
  expect(answer.headers.get("content-type")).toMatch(/^application\/problem\+json\b/);
  const problem = answer.json<ProblemBody>();
  expect(problem).toMatchObject({ type: `urn:offload:error:${code}`, code, status });
  expect(problem.title).toMatch(/\S/);
  expect(problem.detail).toMatch(/\S/);
  expect(problem.correlation_id).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
  expect(answer.headers.get("x-correlation-id")).toBe(problem.correlation_id);
  return problem;
}

/** Repeats a step until it gives something. */
export async function until<T>(what: string, step: () => Promise<T | undefined>, timeoutMs = 240_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await step();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await sleep(300);
  }
}

async function exchange(
  base: URL,
  method: string,
  path: string,
  headers: OutgoingHttpHeaders,
  body?: string | Uint8Array,
): Promise<Answer> {
  const response = await open(base, method, path, headers, body);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const received = new Headers();
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    for (const value of values ?? []) received.append(name, value);
  }
  return new Answer(response.statusCode ?? 0, received, Buffer.concat(chunks));
}

/** Not `fetch`: that finds no `*.localhost` names, which emulated accounts use, and always sends a content type. */
function open(
  base: URL,
  method: string,
  path: string,
  headers: OutgoingHttpHeaders,
  body?: string | Uint8Array,
): Promise<IncomingMessage> {
  const { protocol, hostname, port, host, pathname } = base;
  const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
  const options = {
    method,
    host: hostname.endsWith(".localhost") ? "127.0.0.1" : hostname,
    port,
    path: `${pathname.replace(/\/$/, "")}${path}`,
    headers: { host, ...length, ...headers },
    // Not `timeout`: Node can end a request at once, by the idle timer that its connection had while it was kept open.
    signal: AbortSignal.timeout(answerLimitMs),
  };
  return new Promise((resolve, reject) => {
    const request = (protocol === "https:" ? httpsRequest : httpRequest)(options, resolve);
    request.on("error", (error: NodeJS.ErrnoException) => {
      // The server closed an idle connection in the moment of its next use: nothing was sent.
      if (request.reusedSocket && error.code === "ECONNRESET")
        open(base, method, path, headers, body).then(resolve, reject);
      else if (error.name === "AbortError")
        reject(new Error(`${method} ${path}: no answer within ${answerLimitMs / 1000} s`));
      else reject(new Error(`${method} ${path}: ${error.message}`, { cause: error }));
    });
    request.end(body);
  });
}
