import { type Command, InvalidArgumentError, Option } from "commander";
import { Failure, Misuse } from "./terminal.ts";

/** How long one request may take. */
const patienceMs = 30_000;

/** An answer of the API that says no. */
export class Refusal extends Failure {
  readonly status: number;
  /** The problem's code. Undefined: the answer had none. */
  readonly code: string | undefined;

  constructor(status: number, problem: Record<string, unknown>) {
    super(refusal(status, problem));
    this.status = status;
    this.code = typeof problem.code === "string" ? problem.code : undefined;
  }
}

/** The options that every command of the API has. */
export interface Connection {
  url: string;
  key?: string;
  tenant?: string;
  json?: boolean;
}

/** Adds the options that say where the API is and how to answer. */
export const withConnection = (command: Command): Command =>
  command
    .addOption(new Option("--url <url>", "where the API is").env("OFFLOAD_URL").default("http://127.0.0.1:3000"))
    .addOption(new Option("--key <key>", "the API key, or another bearer token").env("OFFLOAD_KEY"))
    .option("--tenant <id>", "another tenant than the key's own; for admins")
    .option("--json", "print JSON");

/** Reads an option's value that must be a whole number from 1 on. */
export function count(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected a whole number, at least 1.");
}

interface Request {
  /** Left out where undefined. */
  query?: Record<string, string | number | undefined>;
  /** Sent as JSON. */
  body?: unknown;
}

/** Calls the API of an Offload, local or deployed. */
export class Client {
  readonly #base: string;
  readonly #key: string;
  readonly #tenant: string | undefined;

  /** @throws Misuse when it cannot know where to go, or who it is */
  constructor({ url, key, tenant }: Connection) {
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
      throw new Misuse(`--url or OFFLOAD_URL: expected http:// or https://, got ${JSON.stringify(url)}`);
    }
    if (key === undefined || key === "") {
      throw new Misuse("no key: set OFFLOAD_KEY or give --key; `npm start` takes dev-acme, and dev-admin for admins");
    }
    if (!/^[\x21-\x7e]+$/.test(key)) throw new Misuse("--key or OFFLOAD_KEY: expected printable ASCII without spaces");
    this.#base = url.replace(/\/+$/, "");
    this.#key = key;
    this.#tenant = tenant;
  }

  get<T>(path: string, query: Request["query"] = {}): Promise<T> {
    return this.#call("GET", path, { query });
  }

  post<T>(path: string, body: unknown = {}, query: Request["query"] = {}): Promise<T> {
    return this.#call("POST", path, { body, query });
  }

  patch<T>(path: string, body: unknown): Promise<T> {
    return this.#call("PATCH", path, { body });
  }

  delete(path: string): Promise<void> {
    return this.#call("DELETE", path, {});
  }

  /** @throws Refusal with what the server says against it; Failure with why there is no answer */
  async #call<T>(method: string, path: string, { query = {}, body }: Request): Promise<T> {
    const url = new URL(this.#base + path);
    for (const [name, value] of Object.entries({ ...query, tenant: this.#tenant })) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const response = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(patienceMs),
    }).catch((error: unknown) => {
      throw new Failure(`${this.#base} does not answer: ${reasonOf(error)}`, { cause: error });
    });
    if (response.status === 204) return undefined as T;
    const json = await jsonOf(response);
    if (json === undefined) {
      throw new Failure(`${this.#base} answered ${response.status}, but not as Offload does; is this its URL?`);
    }
    if (!response.ok) throw new Refusal(response.status, json);
    return json as T;
  }
}

function reasonOf(error: unknown): string {
  if ((error as Error).name === "TimeoutError") return `nothing came within ${patienceMs / 1000} s`;
  const { code, message } = ((error as Error).cause ?? error) as { code?: string; message: string };
  if (code === "ECONNREFUSED") return "nothing listens there; `npx offload start` starts it on this machine";
  if (code === "ENOTFOUND") return "there is no such host";
  return code === undefined ? message : `${message} (${code})`;
}

async function jsonOf(response: Response): Promise<Record<string, unknown> | undefined> {
  if (!/^application\/(problem\+)?json\b/.test(response.headers.get("content-type") ?? "")) return undefined;
  const json: unknown = await response.json().catch(() => undefined);
  return typeof json === "object" && json !== null && !Array.isArray(json)
    ? (json as Record<string, unknown>)
    : undefined;
}

/** A problem in one line. */
function refusal(status: number, { detail, code, correlation_id }: Record<string, unknown>): string {
  const trace = status >= 500 && correlation_id !== undefined ? `, correlation id ${correlation_id}` : "";
  return `${detail ?? "the request was refused"} (${status}${code === undefined ? "" : ` ${code}`}${trace})`;
}

/** Follows a list from page to page until so many are there. */
export async function collect<T>(
  client: Client,
  path: string,
  member: string,
  { limit, ...query }: { limit: number } & Record<string, string | number | undefined>,
): Promise<{ items: T[]; more: boolean }> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const size = Math.min(100, limit - items.length);
    const page: Record<string, unknown> = await client.get(path, { ...query, limit: size, cursor });
    items.push(...(page[member] as T[]));
    cursor = (page.next_cursor as string | null) ?? undefined;
  } while (cursor !== undefined && items.length < limit);
  return { items, more: cursor !== undefined };
}
