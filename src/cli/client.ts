import { type Command, InvalidArgumentError, Option } from "commander";
import { CommandFailed, UsageError } from "./terminal.ts";

/** Time limit of one request. */
const requestTimeoutMs = 30_000;

/** An error response of the API. */
export class Refusal extends CommandFailed {
  readonly status: number;
  /** Code of the problem document. Undefined: the response had none. */
  readonly code: string | undefined;

  constructor(status: number, problem: Record<string, unknown>) {
    super(refusal(status, problem));
    this.status = status;
    this.code = typeof problem.code === "string" ? problem.code : undefined;
  }
}

/** Options of every command that calls the API. */
export interface Connection {
  url: string;
  key?: string;
  tenant?: string;
  json?: boolean;
}

/** Adds the options for the API's URL, the key, the tenant and the output format. */
export const withConnection = (command: Command): Command =>
  command
    .addOption(new Option("--url <url>", "URL of the API").env("OFFLOAD_URL").default("http://127.0.0.1:3000"))
    .addOption(new Option("--key <key>", "API key, or another bearer token").env("OFFLOAD_KEY"))
    .option("--tenant <id>", "use another tenant than the key's own (admins only)")
    .option("--json", "print JSON");

/** Parses an option's value, which must be a whole number, at least 1. */
export function count(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected a whole number, at least 1.");
}

interface Request {
  /** Members that are undefined are not sent. */
  query?: Record<string, string | number | undefined>;
  /** Sent as JSON. */
  body?: unknown;
}

/** HTTP client of the API, local or deployed. */
export class Client {
  readonly #base: string;
  readonly #key: string;
  readonly #tenant: string | undefined;

  /** @throws UsageError when the URL or the key is missing or invalid */
  constructor({ url, key, tenant }: Connection) {
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
      throw new UsageError(`--url or OFFLOAD_URL: expected http:// or https://, got ${JSON.stringify(url)}`);
    }
    if (key === undefined || key === "") {
      throw new UsageError(
        "no API key: set OFFLOAD_KEY or give --key; a local server accepts dev-acme, and dev-admin for admin commands",
      );
    }
    if (!/^[\x21-\x7e]+$/.test(key))
      throw new UsageError("--key or OFFLOAD_KEY: expected printable ASCII without spaces");
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

  /** @throws Refusal for an error response; CommandFailed when there is no response or not one of Offload */
  async #call<T>(method: string, path: string, { query = {}, body }: Request): Promise<T> {
    const url = new URL(this.#base + path);
    for (const [name, value] of Object.entries({ ...query, tenant: this.#tenant })) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const fail = (what: string) => (error: unknown) => {
      throw new CommandFailed(`${this.#base} ${what}: ${reasonOf(error)}`, { cause: error });
    };
    const response = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(requestTimeoutMs),
    }).catch(fail("does not answer"));
    if (response.status === 204) return undefined as T;
    const text = await response.text().catch(fail(`answered ${response.status}, but not completely`));
    const json = objectIn(text, response);
    if (json === undefined) {
      throw new CommandFailed(
        `${this.#base} answered ${response.status}, but not as the Offload API does; check the URL`,
      );
    }
    if (!response.ok) throw new Refusal(response.status, json);
    return json as T;
  }
}

function reasonOf(error: unknown): string {
  if ((error as Error).name === "TimeoutError") return `the time limit of ${requestTimeoutMs / 1000} s is over`;
  const { code, message } = ((error as Error).cause ?? error) as { code?: string; message: string };
  if (code === "ECONNREFUSED") return "nothing listens there; `npx offload start` starts a local server";
  if (code === "ENOTFOUND") return "the host name is unknown";
  if (["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"].includes(code ?? "")) return `the connection was closed (${code})`;
  return code === undefined ? message : `${message} (${code})`;
}

/** Returns the JSON object in a response. Undefined: there is none. */
function objectIn(text: string, { headers }: Response): Record<string, unknown> | undefined {
  if (!/^application\/(problem\+)?json\b/.test(headers.get("content-type") ?? "")) return undefined;
  try {
    const json: unknown = JSON.parse(text);
    const isObject = typeof json === "object" && json !== null && !Array.isArray(json);
    return isObject ? (json as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Formats a problem document in one line. API Gateway's own answers have a `message` only. */
function refusal(status: number, { detail, message, code, correlation_id }: Record<string, unknown>): string {
  const trace = status >= 500 && correlation_id !== undefined ? `, correlation id ${correlation_id}` : "";
  const text = detail ?? message ?? "the request was refused";
  return `${text} (${status}${code === undefined ? "" : ` ${code}`}${trace})`;
}

/** Reads the pages of a list until it has `limit` items or the list ends. */
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
