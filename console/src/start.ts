import { ProblemError } from "../../src/client/errors.ts";
import { setClock } from "./clock.ts";
import { type Config, config, keptToken, signIn, signOut } from "./session.ts";

/**
 * Reads the deployment's settings, and continues the tab's session.
 * @throws Error when the deployment does not answer. The session stays, so it can be called again.
 */
export async function resume(): Promise<void> {
  config.value = await readConfig();
  const sentBack = new URLSearchParams(location.search);
  if (sentBack.has("state") && (sentBack.has("code") || sentBack.has("error")))
    return (await import("./oidc.ts")).endSignIn();
  const token = keptToken();
  if (token === null) return;
  try {
    await signIn(token);
  } catch (error) {
    if (!(error instanceof ProblemError && [401, 403].includes(error.status))) throw error;
    signOut("Your session has ended. Sign in again.");
  }
}

async function readConfig(): Promise<Config> {
  const answer = await fetch("/console/config.json").catch(() => undefined);
  if (answer === undefined) throw new Error("The deployment does not answer.");
  if (!answer.ok) throw new Error(`The deployment answers with the status ${answer.status}.`);
  setClock(answer.headers.get("date"));
  return (await answer.json()) as Config;
}
