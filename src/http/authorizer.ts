import { type Identity, roles } from "../core/identity.ts";
import { bearerToken, hashSecret, identityOf, parseApiKey, tenantPattern, useNotedEveryMs } from "../core/keys.ts";
import type { ApiKeys, Clock, Log } from "../core/ports.ts";
import { iso } from "../core/record.ts";
import type { AuthorizerContext } from "./api.ts";
import type { VerifiedToken } from "./jwt.ts";

/** How long an answer is remembered: a revoked key works no longer than this. */
const rememberMs = 60_000;

/** How long a refusal is remembered: short, as the reason may pass, such as an issuer's new key. */
const rememberRefusalMs = 5_000;

/** How many tokens are remembered at once: a flood of made-up ones must not fill the memory. */
const mostRemembered = 10_000;

export interface AuthorizerPorts {
  clock: Clock;
  log: Log;
  keys: ApiKeys;
  /** `token:tenant:role` list of the local server; empty elsewhere. */
  localKeys: string;
  /** Verifies tokens of the configured issuer. Absent: there is none. */
  verifyToken?: ((token: string) => Promise<VerifiedToken | undefined>) | undefined;
}

/** Who a token stands for, and how long that may be remembered, in epoch milliseconds. */
interface Found {
  answer: AuthorizerContext;
  untilMs: number;
}

/**
 * Gives who a request's `Authorization` header stands for, or why nobody. Never throws: that nobody can tell now is an
 * answer, too.
 */
export function createAuthorizer(ports: AuthorizerPorts): (header: string | undefined) => Promise<AuthorizerContext> {
  const local = parseLocalKeys(ports.localKeys);
  const remembered = new Map<string, Found>();
  return async (header) => {
    const token = bearerToken(header);
    if (token === undefined) return { anonymous: "no bearer token" };
    const known = local.get(hashSecret(token));
    if (known !== undefined) return contextOf(known);
    const earlier = remembered.get(token);
    if (earlier !== undefined && earlier.untilMs > ports.clock.now()) return earlier.answer;
    const found = await look(ports, token);
    if (remembered.size >= mostRemembered) forgetOldest(remembered);
    remembered.delete(token);
    remembered.set(token, found);
    return found.answer;
  };
}

/** Makes room by forgetting the tokens that were looked up first. */
function forgetOldest(remembered: Map<string, Found>): void {
  for (const token of [...remembered.keys()].slice(0, mostRemembered / 10)) remembered.delete(token);
}

async function look(ports: AuthorizerPorts, token: string): Promise<Found> {
  const now = ports.clock.now();
  const nobody = (anonymous: string): Found => ({ answer: { anonymous }, untilMs: now + rememberRefusalMs });
  try {
    const parsed = parseApiKey(token);
    if (parsed !== undefined) return (await lookUpKey(ports, parsed)) ?? nobody("the API key is not valid");
    const verified = await ports.verifyToken?.(token);
    if (verified === undefined) return nobody("the token is not valid");
    return { answer: contextOf(verified.identity), untilMs: Math.min(verified.untilMs, now + rememberMs) };
  } catch (error) {
    ports.log.error("the token could not be looked up", { error: String(error), cause: causeOf(error) });
    return { answer: { unavailable: "the token could not be looked up" }, untilMs: 0 };
  }
}

const causeOf = (error: unknown) =>
  error instanceof Error && error.cause !== undefined ? String(error.cause) : undefined;

async function lookUpKey(
  ports: AuthorizerPorts,
  { keyId, secret }: { keyId: string; secret: string },
): Promise<Found | undefined> {
  const now = ports.clock.now();
  const key = await ports.keys.find(keyId);
  const identity = key === undefined ? undefined : identityOf(key, secret, iso(now));
  if (key === undefined || identity === undefined) return undefined;
  const unlessAfter = iso(now - useNotedEveryMs);
  if ((key.last_used_at ?? "") <= unlessAfter) {
    // Nobody is refused because a note could not be made.
    await ports.keys.touch(keyId, iso(now), unlessAfter).catch(() => {});
  }
  const expiresMs = key.expires_at === undefined ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at);
  return { answer: contextOf(identity), untilMs: Math.min(expiresMs, now + rememberMs) };
}

const contextOf = ({ tenantId, principal, role }: Identity): AuthorizerContext => ({
  tenant_id: tenantId,
  principal,
  role,
});

/**
 * Reads the local server's keys, by the hash of their token: looking one up tells nothing of the others by its duration.
 * @throws Error naming the entry that is not `token:tenant:role`
 */
export function parseLocalKeys(text: string): ReadonlyMap<string, Identity> {
  const byHash = new Map<string, Identity>();
  for (const entry of text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")) {
    const [token = "", tenantId = "", roleName = "", ...rest] = entry.split(":");
    const role = roles.find((known) => known === roleName);
    if (token === "" || !tenantPattern.test(tenantId) || role === undefined || rest.length > 0) {
      throw new Error(
        `OFFLOAD_KEYS: expected token:tenant:role with a role of ${roles.join(", ")}, got ${JSON.stringify(entry)}`,
      );
    }
    byHash.set(hashSecret(token), { tenantId, principal: token, role });
  }
  return byHash;
}
