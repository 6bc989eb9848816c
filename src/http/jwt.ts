import { createRemoteJWKSet, customFetch, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { type Config, isSafeUrl } from "../config.ts";
import { PortUnavailable } from "../core/errors.ts";
import { type Identity, type Role, roles } from "../core/identity.ts";
import { tenantPattern } from "../core/keys.ts";
import type { Clock } from "../core/ports.ts";

/** Which tokens of an OIDC issuer are taken, and how they say whose they are. */
export interface JwtSettings {
  /** The issuer's URL, as its tokens' `iss` has it. */
  issuer: string;
  /** What the tokens' `aud` must name: this API. */
  audience: string;
  /** The claim that holds the tenant. */
  tenantClaim: string;
  /** The claim that holds the role, or a list of which the mightiest known role counts. */
  roleClaim: string;
  /** The role of a token without a known one. Undefined: such a token is refused. */
  defaultRole?: Role | undefined;
  /** Where the issuer's public keys are. Undefined: where its discovery document says. */
  jwksUrl?: string | undefined;
  /** The signatures that a token may have. */
  algorithms: readonly string[];
  /** How far the issuer's clock may be off. */
  clockSkewSeconds: number;
}

/** The names of the settings that `jwtSettings` reads. */
export const jwtSettingNames = [
  "jwtIssuer",
  "jwtAudience",
  "jwtTenantClaim",
  "jwtRoleClaim",
  "jwtDefaultRole",
  "jwtJwksUrl",
  "jwtAlgorithms",
  "jwtClockSkewSeconds",
] as const;

/**
 * The issuer that a deployment is configured for; undefined when there is none.
 * @throws Error when the audience is missing: a token for another service of the same issuer must not open this one
 */
export function jwtSettings(config: Config<(typeof jwtSettingNames)[number]>): JwtSettings | undefined {
  if (config.jwtIssuer === undefined) return undefined;
  if (config.jwtAudience === undefined) {
    throw new Error("OFFLOAD_JWT_ISSUER is set without OFFLOAD_JWT_AUDIENCE: name what the tokens' `aud` must be");
  }
  return {
    issuer: config.jwtIssuer,
    audience: config.jwtAudience,
    tenantClaim: config.jwtTenantClaim,
    roleClaim: config.jwtRoleClaim,
    defaultRole: config.jwtDefaultRole,
    jwksUrl: config.jwtJwksUrl,
    algorithms: config.jwtAlgorithms,
    clockSkewSeconds: config.jwtClockSkewSeconds,
  };
}

/** What a token yields, and until when it is good. */
export interface VerifiedToken {
  identity: Identity;
  /** Epoch milliseconds, with the allowance for the issuer's clock. */
  untilMs: number;
}

/** How long a look at the issuer may take, in milliseconds. */
const fetchTimeoutMs = 3_000;

/** How long the issuer's keys are remembered, and how soon a token with an unknown key makes us look again. */
const keysMaxAgeMs = 10 * 60_000;
const keysCooldownMs = 30_000;

/** What an OIDC subject may be: ASCII, and short enough for a key. */
const subjectPattern = /^[\x21-\x7e]{1,255}$/;

/**
 * Verifies tokens of one issuer. Resolves to undefined for every token that is not good, whatever is wrong with it.
 * @param fetcher Asks the issuer. Default: `fetch`.
 */
export function createJwtVerifier(
  settings: JwtSettings,
  clock: Pick<Clock, "now">,
  fetcher: typeof fetch = fetch,
): (token: string) => Promise<VerifiedToken | undefined> {
  const keys = issuerKeys(settings, fetcher);
  return async (token) => {
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer: settings.issuer,
        audience: settings.audience,
        algorithms: [...settings.algorithms],
        clockTolerance: settings.clockSkewSeconds,
        currentDate: new Date(clock.now()),
        requiredClaims: ["exp", "sub"],
      });
      return verified(payload, settings);
    } catch (error) {
      if (isTokensFault(error)) return undefined;
      throw new PortUnavailable("the token issuer", { cause: error });
    }
  };
}

/** Codes of errors that are the issuer's fault: its keys do not come, or are none. */
const issuersFaults = new Set(["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"]);

/** Whether an error says that the token is bad, rather than that its issuer could not be asked. */
const isTokensFault = (error: unknown): boolean => error instanceof errors.JOSEError && !issuersFaults.has(error.code);

function verified(payload: JWTPayload, settings: JwtSettings): VerifiedToken | undefined {
  const tenantId = claim(payload, settings.tenantClaim);
  const role = roleOf(claim(payload, settings.roleClaim)) ?? settings.defaultRole;
  const { sub = "", exp = 0 } = payload;
  if (typeof tenantId !== "string" || !tenantPattern.test(tenantId)) return undefined;
  if (role === undefined || !subjectPattern.test(sub)) return undefined;
  return { identity: { tenantId, principal: sub, role }, untilMs: (exp + settings.clockSkewSeconds) * 1000 };
}

const claim = (payload: JWTPayload, name: string): unknown =>
  Object.hasOwn(payload, name) ? payload[name] : undefined;

/** A role, or the mightiest of a list. */
function roleOf(value: unknown): Role | undefined {
  const named: unknown[] = Array.isArray(value) ? value : [value];
  return roles.findLast((role) => named.includes(role));
}

/** The issuer's public keys, fetched when they are first needed. */
function issuerKeys(settings: JwtSettings, fetcher: typeof fetch): JWTVerifyGetKey {
  let keys: JWTVerifyGetKey | undefined;
  let finding: Promise<string> | undefined;
  return async (header, token) => {
    finding ??= settings.jwksUrl === undefined ? discover(settings.issuer, fetcher) : Promise.resolve(settings.jwksUrl);
    const url = await finding.catch((error: unknown) => {
      finding = undefined;
      throw error;
    });
    keys ??= createRemoteJWKSet(new URL(url), {
      timeoutDuration: fetchTimeoutMs,
      cooldownDuration: keysCooldownMs,
      cacheMaxAge: keysMaxAgeMs,
      [customFetch]: fetcher,
    });
    return keys(header, token);
  };
}

/** The address of the keys, from the issuer's discovery document (OpenID Connect Discovery 1.0, section 4). */
async function discover(issuer: string, fetcher: typeof fetch): Promise<string> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const response = await fetcher(url, { signal: AbortSignal.timeout(fetchTimeoutMs), redirect: "error" });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  const document = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown };
  if (document.issuer !== issuer || typeof document.jwks_uri !== "string" || !isSafeUrl(document.jwks_uri)) {
    throw new Error(`${url} is not the discovery document of ${issuer}`);
  }
  return document.jwks_uri;
}
