import { ProblemError } from "../../src/client/errors.ts";
import { nowMs, setClock } from "./clock.ts";
import { say } from "./parts/action.tsx";
import { now } from "./parts/text.tsx";
import { href, replaceWith } from "./route.ts";
import { type Config, config, identity, keptToken, signedOutBecause, signIn, signOut } from "./session.ts";

/**
 * Reads the deployment's settings, and continues the tab's session.
 * @throws Error when the deployment does not answer. The session stays, so it can be called again.
 */
export async function resume(): Promise<void> {
  config.value = await readConfig();
  const sentBack = new URLSearchParams(location.search);
  if (sentBack.has("state") && (sentBack.has("code") || sentBack.has("error")))
    return (await import("./oidc.ts")).endSignIn();
  const link = await keyOfLinks();
  if (link?.isUsed) signedOutBecause.value = linkUsed;
  const token = link?.key ?? keptToken();
  if (token === null) return;
  try {
    await signIn(token);
    if (link?.key !== undefined) sayWho();
  } catch (error) {
    if (!(error instanceof ProblemError && [401, 403].includes(error.status))) throw error;
    signOut(link?.key === undefined ? "Your session has ended. Sign in again." : "The key of this link is not valid.");
  }
}

const linkUsed =
  "This link was used, or is of an earlier start of the server. `npx offload console` opens another one; a key works now, too.";

/** The key of the link that opened the page. Undefined: no link did. */
async function keyOfLinks(): Promise<{ key?: string | undefined; isUsed: boolean } | undefined> {
  const { hash, pathname } = location;
  if (hash.startsWith("#key=")) {
    // The link of the command `console`. It leaves the address at once: no history and no reload has it.
    const given = new URLSearchParams(hash.slice(1));
    replaceWith(pathname, href([], { tenant: given.get("tenant") ?? undefined }));
    return { key: given.get("key") ?? undefined, isUsed: false };
  }
  const token = /^#token=([\w-]+)$/.exec(hash)?.[1];
  if (token === undefined) return undefined;
  replaceWith(pathname, "#/");
  const key = config.value?.local ? await keyOfLink(token) : undefined;
  return { key, isUsed: key === undefined && keptToken() === null };
}

/** Anybody can make a link, also one with a key of somebody else: the page says as whom it signed in. */
function sayWho(): void {
  const { principal, tenant_id } = identity.value ?? {};
  say(`Signed in by a link, as ${principal} of ${tenant_id}.`);
}

/** The key of a link that the local server has printed. It works once. Undefined: it has been used. */
async function keyOfLink(token: string): Promise<string | undefined> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch("/_local/sign-in", { method: "POST", headers, body: JSON.stringify({ token }) });
  return answer.ok ? ((await answer.json()) as { key: string }).key : undefined;
}

async function readConfig(): Promise<Config> {
  const answer = await fetch("/console/config.json").catch(() => undefined);
  if (answer === undefined) throw new Error("The deployment does not answer.");
  if (!answer.ok) throw new Error(`The deployment answers with the status ${answer.status}.`);
  setClock(answer.headers.get("date"));
  now.value = nowMs();
  return (await answer.json()) as Config;
}
