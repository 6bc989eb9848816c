import { type Config, config, signIn, signOut, token } from "./session.ts";

/** Reads the deployment's settings, and continues the tab's session. */
export async function resume(): Promise<void> {
  config.value = (await (await fetch("/console/config.json")).json()) as Config;
  const sentBack = new URLSearchParams(location.search);
  if (sentBack.has("state") && (sentBack.has("code") || sentBack.has("error")))
    return (await import("./oidc.ts")).endSignIn();
  if (token.value !== "") await signIn(token.value).catch(() => signOut("Your session has ended. Sign in again."));
}
