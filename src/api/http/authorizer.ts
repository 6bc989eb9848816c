import { PortUnavailable } from "../../core/model/errors.ts";
import {
  bearerToken,
  hashSecret,
  identityOf,
  parseApiKey,
  tenantPattern,
  useNotedEveryMs,
} from "../../core/model/keys.ts";
import { iso } from "../../core/model/record.ts";
import { type Identity, roles } from "../../core/model/words.ts";
import type { ApiKeys, Clock, Log } from "../../core/ports/tasks.ts";
import { within } from "../../util/within.ts";
import type { AuthorizerContext } from "./event.ts";
import type { VerifiedToken } from "./jwt.ts";

/** An identity is remembered for this time, in milliseconds: a revoked key works no longer than this. */
const rememberMs = 60_000;

/**
 * A refusal is remembered for this time, in milliseconds. Short, as its cause may be gone soon, such as a missing new
 * key.
 */
const rememberRefusalMs = 5_000;

/**
 * Longest time for the check of an issuer's token, in milliseconds: a client waits for it before its request is
 * answered.
 */
const longestVerifyMs = 2_500;

/** Maximum number of remembered tokens: many invalid ones must not fill the memory. */
const mostRemembered = 10_000;

export interface AuthorizerPorts {
  clock: Clock;
  log: Log;
  keys: ApiKeys;
  /** List of `token:tenant:role`, or `token:tenant:viewer:inputs`, of the local server; empty elsewhere. */
  localKeys: string;
  /** Verifies tokens of the configured issuer. Absent: there is none. */
  verifyToken?: ((token: string) => Promise<VerifiedToken | undefined>) | undefined;
}

/** The answer for a token. */
interface Found {
  answer: AuthorizerContext;
  /** Epoch milliseconds until which the answer may be remembered. */
  untilMs: number;
}

/**
 * Creates the function that returns the identity of a request's `Authorization` header, or why there is none. It never
 * throws: when the token cannot be checked, the answer says so (`unavailable`).
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
    const found = await lookUp(ports, token);
    if (remembered.size >= mostRemembered) forgetOldest(remembered);
    remembered.delete(token);
    remembered.set(token, found);
    return found.answer;
  };
}

/** Forgets the oldest tenth of the remembered tokens. */
function forgetOldest(remembered: Map<string, Found>): void {
  for (const token of [...remembered.keys()].slice(0, mostRemembered / 10)) remembered.delete(token);
}

async function lookUp(ports: AuthorizerPorts, token: string): Promise<Found> {
  const now = ports.clock.now();
  const refused = (anonymous: string): Found => ({ answer: { anonymous }, untilMs: now + rememberRefusalMs });
  try {
    const parsed = parseApiKey(token);
    if (parsed !== undefined) return (await lookUpKey(ports, parsed)) ?? refused("the API key is not valid");
    const verified = await verify(ports, token);
    if (verified === undefined) return refused("the token is not valid");
    return { answer: contextOf(verified.identity), untilMs: Math.min(verified.untilMs, now + rememberMs) };
  } catch (error) {
    ports.log.error("could not check a token", { error: String(error), cause: causeOf(error) });
    return { answer: { unavailable: "could not check the token" }, untilMs: 0 };
  }
}

/** The issuer's answer continues to be awaited after the bound: the next token finds the issuer's keys in memory. */
const verify = (ports: AuthorizerPorts, token: string): Promise<VerifiedToken | undefined> =>
  within(ports.clock, longestVerifyMs, Promise.resolve(ports.verifyToken?.(token)), () => {
    throw new PortUnavailable("the token issuer");
  });

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
    // The request succeeds even if the time of the last use cannot be saved.
    await ports.keys.touch(keyId, iso(now), unlessAfter).catch(() => {});
  }
  const expiresMs = key.expires_at === undefined ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at);
  return { answer: contextOf(identity), untilMs: Math.min(expiresMs, now + rememberMs) };
}

const contextOf = ({ tenantId, principal, role, inputs }: Identity): AuthorizerContext => ({
  tenant_id: tenantId,
  principal,
  // The gateway's access log has it between quotes, and writes it as it is.
  logged_principal: JSON.stringify(principal).slice(1, -1),
  role,
  ...(inputs === true && { inputs: "true" }),
});

/**
 * Parses the local server's keys. Returns them by the hash of their token, so that the time of a look-up reveals
 * nothing about other tokens. A principal is shown in answers, logs and state, so it is derived from the hash and is
 * not the token.
 * @throws Error with the number of an entry that is neither `token:tenant:role` nor `token:tenant:viewer:inputs`
 */
export function parseLocalKeys(text: string): ReadonlyMap<string, Identity> {
  const byHash = new Map<string, Identity>();
  for (const [index, entry] of text
    .split(",")
    .map((part) => part.trim())
    .entries()) {
    if (entry === "") continue;
    const [token = "", tenantId = "", roleName = "", ...rest] = entry.split(":");
    const inputs = roleName === "viewer" && rest.join(":") === "inputs";
    const role = roles.find((known) => known === roleName);
    if (token === "" || !tenantPattern.test(tenantId) || role === undefined || (rest.length > 0 && !inputs)) {
      throw new Error(
        `OFFLOAD_KEYS: expected token:tenant:role, where role is one of ${roles.join(", ")}, or token:tenant:viewer:inputs; entry ${index + 1} is different`,
      );
    }
    const hash = hashSecret(token);
    byHash.set(hash, { tenantId, principal: `local-${hash.slice(0, 12)}`, role, ...(inputs && { inputs }) });
  }
  return byHash;
}
