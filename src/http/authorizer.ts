import { type ApiKeys, bearerToken, identityOf, parseApiKey } from "../core/keys.ts";
import { type Clock, type Identity, roles } from "../core/ports.ts";
import { iso } from "../core/record.ts";
import type { AuthorizerContext } from "./api.ts";

/** How long an answer is remembered: a revoked key works no longer than this. */
const rememberMs = 60_000;

/** How many tokens are remembered at once: a flood of made-up ones must not fill the memory. */
const mostRemembered = 10_000;

export interface AuthorizerPorts {
  clock: Clock;
  keys: ApiKeys;
  /** `token:tenant:role` list of the local server; empty elsewhere. */
  localKeys: string;
}

/** Gives who a request's `Authorization` header stands for, or why nobody. */
export function createAuthorizer(ports: AuthorizerPorts): (header: string | undefined) => Promise<AuthorizerContext> {
  const local = parseLocalKeys(ports.localKeys);
  const remembered = new Map<string, { until: number; answer: AuthorizerContext }>();
  const look = async (token: string): Promise<AuthorizerContext> => {
    const parsed = parseApiKey(token);
    if (parsed === undefined) return { anonymous: "the token is no API key" };
    const key = await ports.keys.find(parsed.keyId);
    const identity = key === undefined ? undefined : identityOf(key, parsed.secret, iso(ports.clock.now()));
    return identity === undefined ? { anonymous: "the API key is not valid" } : contextOf(identity);
  };
  return async (header) => {
    const token = bearerToken(header);
    if (token === undefined) return { anonymous: "no bearer token" };
    const known = local.get(token);
    if (known !== undefined) return contextOf(known);
    const now = ports.clock.now();
    const earlier = remembered.get(token);
    if (earlier !== undefined && earlier.until > now) return earlier.answer;
    const answer = await look(token);
    if (remembered.size >= mostRemembered) remembered.clear();
    remembered.set(token, { until: now + rememberMs, answer });
    return answer;
  };
}

const contextOf = ({ tenantId, principal, role }: Identity): AuthorizerContext => ({
  tenant_id: tenantId,
  principal,
  role,
});

/**
 * Reads the local server's keys.
 * @throws Error naming the entry that is not `token:tenant:role`
 */
export function parseLocalKeys(text: string): ReadonlyMap<string, Identity> {
  const byToken = new Map<string, Identity>();
  for (const entry of text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")) {
    const [token = "", tenantId = "", roleName = "", ...rest] = entry.split(":");
    const role = roles.find((known) => known === roleName);
    if (token === "" || !/^[A-Za-z0-9_-]{1,64}$/.test(tenantId) || role === undefined || rest.length > 0) {
      throw new Error(
        `OFFLOAD_KEYS: expected token:tenant:role with a role of ${roles.join(", ")}, got ${JSON.stringify(entry)}`,
      );
    }
    byToken.set(token, { tenantId, principal: token, role });
  }
  return byToken;
}
