import { ProblemError } from "../../src/client/errors.ts";
import { setClock } from "./clock.ts";
import { replaceWith } from "./route.ts";
import { type Config, config, keptToken, signedOutBecause, signIn, signOut } from "./session.ts";

/**
 * Reads the deployment's settings, and continues the tab's session.
 * @throws Error when the deployment does not answer. The session stays, so it can be called again.
 */
export async function resume(): Promise<void> {
  config.value = await readConfig();
  const sentBack = new URLSearchParams(location.search);
  if (sentBack.has("state") && (sentBack.has("code") || sentBack.has("error")))
    return (await import("./oidc.ts")).endSignIn();
  const link = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (link !== undefined) replaceWith(location.pathname, "#/");
  const ofLink = link === undefined || !config.value.local ? undefined : await keyOfLink(link);
  const token = ofLink ?? keptToken();
  if (token === null) {
    if (link !== undefined) signedOutBecause.value = linkUsed;
    return;
  }
  try {
    await signIn(token);
  } catch (error) {
    if (!(error instanceof ProblemError && [401, 403].includes(error.status))) throw error;
    signOut("Your session has ended. Sign in again.");
  }
}

const linkUsed =
  "This link was used, or is of an earlier start of the server. `npx offload dev` prints another one at its next start; a key works now.";

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
  return (await answer.json()) as Config;
}
