import { randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Admin } from "../../client/index.ts";
import { browserOf, startProgram } from "../../machine/platform.ts";
import { type Connection, connection, connectionOf, withAdminKey } from "./connection.ts";
import type { Register } from "./group.ts";
import { CommandFailed, type Terminal } from "./terminal.ts";

/** Time in which the browser has to open the link, in seconds. */
const waitSeconds = 120;

const examples = `
Opens the console in your browser, signed in with the key that commands use. On a local server with its default keys that is an
admin's. The browser gets the key from this command, over a link of this machine that works once: the key is in no history, and
in no list of processes. It stays in that tab until you close it.

Examples:
  npx offload console                            of the local server
  OFFLOAD_URL=https://... OFFLOAD_KEY=ofl_... npx offload console
  npx offload console --tenant globex            as an admin: with the tasks of another tenant
  npx offload console --print                    prints a link with the key in it, for a browser elsewhere
`;

const print = ["--print", "print the link, with the key in it, in place of opening a browser"] as const;

/** `offload console` */
export const register: Register = (group) => {
  group.help(examples).does([...connection, print], async (options) => {
    const link = await consoleLinkOf(options);
    if (options.print) group.terminal.out(link);
    else await handOver(link, group.terminal);
  });
};

/**
 * The link that signs in with the key of the command. The key is in the fragment, which no browser sends.
 * @throws ProblemError when the API refuses the key
 */
async function consoleLinkOf(options: Connection): Promise<string> {
  const client = connectionOf(withAdminKey(options));
  // A key that does not work is said here, not in the browser.
  await new Admin({ ...client, tenant: undefined }).identity();
  const fragment = new URLSearchParams({
    key: String(client.key),
    ...(options.tenant !== undefined && { tenant: options.tenant }),
  });
  return `${options.url.replace(/\/+$/, "")}/console#${fragment}`;
}

/**
 * Opens a link in the browser, over a link of this machine that leads to it once. Programs see each other's arguments,
 * and a browser keeps what it was started with: the link itself is in neither.
 * @throws CommandFailed when no browser has come in time
 */
export async function handOver(link: string, terminal: Pick<Terminal, "out">, open = openBrowser): Promise<void> {
  const path = `/${randomBytes(16).toString("base64url")}`;
  const browser = new EventEmitter();
  const server = createServer(({ method, url }, response) => {
    const isLink = method === "GET" && url === path;
    const answer = { "cache-control": "no-store", "referrer-policy": "no-referrer", connection: "close" };
    response.writeHead(isLink ? 302 : 404, { ...answer, ...(isLink && { location: link }) }).end();
    if (isLink) response.on("finish", () => browser.emit("came"));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const here = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  terminal.out(`Opening ${link.replace(/#.*$/s, "")}. If no browser opens, open this link; it works once:\n  ${here}`);
  try {
    const came = once(browser, "came", { signal: AbortSignal.timeout(waitMs) });
    open(here);
    await came;
  } catch (cause) {
    throw new CommandFailed("no browser opened the link; --print prints one", { cause });
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

const waitMs = waitSeconds * 1000;

/** Starts the browser. Where none can be started, the person opens the link that was printed. */
function openBrowser(url: string): void {
  const [program, ...args] = browserOf(process.env);
  const browser = startProgram(program, [...args, url], { stdio: "ignore", detached: true });
  browser.on("error", () => {});
  browser.unref();
}
