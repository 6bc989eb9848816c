import * as oauth from "oauth4webapi";
import { replaceWith } from "./route.ts";
import { config, signedOutBecause, signIn } from "./session.ts";

/*
 * Sign-in with the deployment's OIDC issuer: the authorization code flow with PKCE, as a public client. The issuer
 * sends the browser back to `/console` with a code. The verifier and the state wait in the session storage, and the
 * place in the console to go back to.
 */

const pendingName = "offload.oidc";

interface Pending {
  verifier: string;
  state: string;
  /** Fragment of the place from which the sign-in began. */
  hash: string;
}

const redirectUri = () => `${location.origin}/console`;

async function issuerOf(): Promise<{ server: oauth.AuthorizationServer; client: oauth.Client; scope: string }> {
  const settings = config.value?.oidc;
  if (!settings) throw new Error("This deployment has no issuer for the console.");
  const issuer = new URL(settings.issuer);
  const insecure = { [oauth.allowInsecureRequests]: issuer.protocol === "http:" };
  const answer = await oauth.discoveryRequest(issuer, { algorithm: "oidc", ...insecure });
  const server = await oauth.processDiscoveryResponse(issuer, answer);
  return { server, client: { client_id: settings.client_id }, scope: settings.scope };
}

/** Sends the browser to the issuer. */
export async function beginSignIn(): Promise<void> {
  const { server, client, scope } = await issuerOf();
  const pending: Pending = {
    verifier: oauth.generateRandomCodeVerifier(),
    state: oauth.generateRandomState(),
    hash: location.hash,
  };
  sessionStorage.setItem(pendingName, JSON.stringify(pending));
  const url = new URL(server.authorization_endpoint ?? "");
  const challenge = await oauth.calculatePKCECodeChallenge(pending.verifier);
  for (const [name, value] of Object.entries({
    client_id: client.client_id,
    redirect_uri: redirectUri(),
    response_type: "code",
    scope,
    state: pending.state,
    code_challenge: challenge,
    code_challenge_method: "S256",
  })) {
    url.searchParams.set(name, value);
  }
  location.assign(url);
}

/** Ends a sign-in when the issuer has sent the browser back: exchanges the code for a token. */
export async function endSignIn(): Promise<void> {
  const url = new URL(location.href);
  const stored = sessionStorage.getItem(pendingName);
  sessionStorage.removeItem(pendingName);
  const pending = stored === null ? undefined : (JSON.parse(stored) as Pending);
  // The code must not stay in the history, whatever follows.
  replaceWith(url.pathname, pending?.hash ?? "");
  if (pending === undefined) {
    signedOutBecause.value = "That sign-in was not begun in this tab. Sign in again.";
    return;
  }
  try {
    const { server, client } = await issuerOf();
    const insecure = { [oauth.allowInsecureRequests]: new URL(server.issuer).protocol === "http:" };
    const parameters = oauth.validateAuthResponse(server, client, url, pending.state);
    const answer = await oauth.authorizationCodeGrantRequest(
      ...([server, client, oauth.None(), parameters, redirectUri(), pending.verifier] as const),
      insecure,
    );
    const { access_token } = await oauth.processAuthorizationCodeResponse(server, client, answer);
    await signIn(access_token);
  } catch (error) {
    signedOutBecause.value = `The sign-in with the issuer failed: ${(error as Error).message}`;
  }
}
