import { randomBytes } from "node:crypto";
import type { createRouter } from "../../api/http/api.ts";
import { optionalJsonBody } from "../../api/http/body.ts";

/** Path at which the console turns the token of a link into a key. */
const signInPath = "/_local/sign-in";

/** Keys by the one-time tokens of links that nobody has opened yet. */
const keys = new Map<string, string>();

/** Links of which none is opened: the oldest are forgotten. */
const maxLinks = 10;

/**
 * The URL of the console for a person who is signed in by opening it, once. The token is in the fragment, which no
 * browser sends, and it is not the key, so that a terminal's history or a shared screen has nothing that works later.
 * @param configured The server's keys, as `key:tenant:role` with commas between them. The link has the rights of an
 * admin, else of the first key.
 */
export function consoleLink(url: string, configured: string): string {
  const entries = configured.split(",").map((entry) => entry.trim().split(":"));
  const [key] = entries.find(([, , role]) => role === "admin") ?? entries[0] ?? [];
  if (key === undefined || key === "") return `${url}/console`;
  const token = randomBytes(16).toString("base64url");
  keys.set(token, key);
  for (const old of [...keys.keys()].slice(0, -maxLinks)) keys.delete(old);
  return `${url}/console#token=${token}`;
}

/**
 * Adds the route that answers the key of a link's token: once, to the browser that has the token. The guard keeps pages
 * of other origins away.
 */
export function addConsoleLinkRoute(api: ReturnType<typeof createRouter>): void {
  api.on("POST", signInPath, async (call) => {
    const { token } = await optionalJsonBody(call);
    const key = typeof token === "string" ? keys.get(token) : undefined;
    call.header("cache-control", "no-store");
    if (key === undefined) return call.json({ detail: "This link has been used, or another server made it." }, 404);
    keys.delete(String(token));
    return call.json({ key });
  });
}
