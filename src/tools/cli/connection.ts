import { InvalidArgumentError } from "commander";
import {
  type Client,
  type ClientOptions,
  ConnectionError,
  createClient,
  type List,
  Operations,
} from "../../client/index.ts";
import type { Options } from "./options.ts";
import { UsageError } from "./terminal.ts";

/** URL of a local server with its default port. */
export const localUrl = "http://127.0.0.1:3000";

/** Key of a local server with its default keys. It is no secret: the documentation shows it. */
export const localKey = "dev-acme";
const localTenant = "acme";
const localAdminKey = "dev-admin";

/** Options of every command that calls the API. */
export const connection = [
  ["--url <url>", "URL of the API", { env: "OFFLOAD_URL", initial: localUrl }],
  [
    "--key <key>",
    `API key, or another bearer token (default for that local server: ${localKey})`,
    { env: "OFFLOAD_KEY" },
  ],
  ["--tenant <id>", "use another tenant than the key's own, or '*' for all in lists and bulk commands (admins only)"],
  ["--json", "print JSON"],
  ["--utc", "print exact times in place of ages"],
] as const;

export type Connection = Options<typeof connection>;

/** True when a command is for all tenants. */
export const isForAll = ({ tenant }: Pick<Connection, "tenant">): boolean => tenant === "*";

/** Parses an option's value, which must be a whole number, at least 1. */
export function count(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected a whole number, at least 1.");
}

/** Returns a parser of whole numbers from `least` to `most`. */
export const countTo =
  (most: number, least: 0 | 1 = 1) =>
  (text: string) => {
    if (/^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
  };

/** Parses `--context name=value`, which is repeatable. */
export function context(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, name = "", value = ""] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === "") throw new InvalidArgumentError("Expected name=value.");
  return { ...before, [name]: value };
}

/** Parses `--tag name=value`, which is repeatable. */
export function addTag(text: string, earlier: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new UsageError(`--tag: expected name=value, got ${JSON.stringify(text)}`);
  return { ...earlier, [text.slice(0, at)]: text.slice(at + 1) };
}

/**
 * Creates the client of a command. By default it sends each request once: a person, or a script, decides on another
 * try.
 * @throws UsageError when the URL or the key is missing or not valid
 */
export function clientOf(options: Connection, maxTries = 1): Client {
  const connection = connectionOf(options, maxTries);
  try {
    return createClient(connection);
  } catch (error) {
    const text = (error as Error).message;
    throw new UsageError(text.replace(/^\w+/, (name) => `--${name} or OFFLOAD_${name.toUpperCase()}`));
  }
}

/**
 * The options of a client. By default it sends each request once.
 * @throws UsageError when the URL is not valid, or the key is missing
 */
export function connectionOf({ url, tenant, key = keyFor(url, tenant) }: Connection, maxTries = 1): ClientOptions {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
    throw new UsageError(`--url or OFFLOAD_URL: expected http:// or https://, got ${JSON.stringify(url)}`);
  }
  if (key === undefined || key === "") {
    throw new UsageError(
      "no API key: set OFFLOAD_KEY or give --key; a local server accepts dev-acme, and dev-admin for admin commands",
    );
  }
  return { url, key, tenant, maxTries };
}

export const operationsOf = (options: Connection): Operations => new Operations(connectionOf(options));

/** Adds the local server's key of an admin where no key is given, for commands of admins. */
export const withAdminKey = <Options extends Connection>(options: Options): Options =>
  options.key === undefined && isLocal(options.url) ? { ...options, key: localAdminKey } : options;

/** The client of a command that waits, or transfers a file. It repeats its requests after errors that can pass. */
export const followerOf = (options: Connection): Client => clientOf(options, 6);

/** True for a local server with the default port: only that gets a default key, never another URL. */
const isLocal = (url: string): boolean => [localUrl, "http://localhost:3000"].includes(url.replace(/\/+$/, ""));

/** The default key. */
function keyFor(url: string, tenant = localTenant): string | undefined {
  if (!isLocal(url)) return undefined;
  return tenant === localTenant ? localKey : localAdminKey;
}

/**
 * Reads the pages of a list until there are `limit` items or the list ends.
 * @param mostPages A page may be short, and even empty, although others follow. Default: as many as it takes.
 */
export async function take<Item>(
  list: List<Item>,
  limit: number,
  mostPages = Infinity,
): Promise<{ items: Item[]; more: boolean }> {
  const items: Item[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const page = await list.page({ limit: Math.min(100, limit - items.length), cursor });
    items.push(...page.items);
    cursor = page.nextCursor ?? undefined;
    pages += 1;
  } while (cursor !== undefined && items.length < limit && pages < mostPages);
  return { items, more: cursor !== undefined };
}

/** The option of a list for the number of things that it shows. */
export const limit = (things: string, initial: number) =>
  ["--limit <n>", `maximum number of ${things}`, { read: count, initial }] as const;

/** Returns an error's text for people: a network error has its code in words. */
export function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, message } = ((error.cause as Error | undefined)?.cause ?? {}) as { code?: string; message?: string };
  if (!(error instanceof ConnectionError) || code === undefined) return error.message;
  const [what] = error.message.split(": ", 1);
  return `${what}: ${wordsFor(code) ?? `${message} (${code})`}`;
}

function wordsFor(code: string): string | undefined {
  if (code === "ECONNREFUSED") return "nothing listens there; `npx offload start` starts a local server";
  if (code === "ENOTFOUND") return "the host name is unknown";
  if (["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"].includes(code)) return `the connection was closed (${code})`;
  return undefined;
}
