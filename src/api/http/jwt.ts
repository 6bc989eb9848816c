import { createRemoteJWKSet, customFetch, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { PortUnavailable } from "../../core/model/errors.ts";
import { tenantPattern } from "../../core/model/keys.ts";
import { type Identity, type Role, roles, type TokenRole } from "../../core/model/words.ts";
import type { Clock } from "../../core/ports/tasks.ts";
import { type Config, isSafeUrl } from "../../settings/config.ts";

/** Names of the settings for tokens of an OIDC issuer: which are accepted, and which claims identify the caller. */
export const jwtSettingNames = [
  "jwtIssuer",
  "jwtAudience",
  "jwtTenantClaim",
  "jwtRoleClaim",
  "jwtInputsClaim",
  "jwtRoles",
  "jwtDefaultRole",
  "jwtJwksUrl",
  "jwtAlgorithms",
  "jwtClockSkewSeconds",
] as const;

type Given = Config<(typeof jwtSettingNames)[number]>;

/** The settings of a deployment that has an issuer. */
export interface JwtSettings extends Given {
  readonly jwtIssuer: string;
  readonly jwtAudience: string;
}

/**
 * Returns the settings of the deployment's token issuer. Undefined: none is configured.
 * @throws Error when the audience is missing, as tokens for other services of the same issuer must not be accepted
 */
export function jwtSettings(config: Given): JwtSettings | undefined {
  const { jwtIssuer, jwtAudience } = config;
  if (jwtIssuer === undefined) return undefined;
  if (jwtAudience !== undefined) return { ...config, jwtIssuer, jwtAudience };
  throw new Error(
    "OFFLOAD_JWT_ISSUER is set without OFFLOAD_JWT_AUDIENCE: set OFFLOAD_JWT_AUDIENCE to the `aud` of the tokens",
  );
}

/** Result of a valid token. */
export interface VerifiedToken {
  identity: Identity;
  /** Epoch milliseconds at which the token expires, plus the allowed clock difference. */
  untilMs: number;
}

/** Time-out of a request to the issuer, in milliseconds. */
const fetchTimeoutMs = 3_000;

/** The issuer's keys are remembered for this time, in milliseconds. */
const keysMaxAgeMs = 10 * 60_000;
/** A token with an unknown key makes us fetch the keys again, at most once in this time, in milliseconds. */
const keysCooldownMs = 30_000;

/** Allowed subjects: ASCII, as in OpenID Connect, and short enough for a key of the table. */
const subjectPattern = /^[\x21-\x7e]{1,255}$/;

/**
 * Creates the function that verifies tokens of one issuer. It resolves to undefined for every token that is not valid,
 * and throws `PortUnavailable` when the issuer does not answer.
 * @param fetcher Sends requests to the issuer. Default: `fetch`.
 */
export function createJwtVerifier(
  settings: JwtSettings,
  clock: Pick<Clock, "now">,
  fetcher: typeof fetch = fetch,
): (token: string) => Promise<VerifiedToken | undefined> {
  const keys = issuerKeys(settings, ofIssuer(fetcher));
  const known = new Map(Object.entries({ ...ordinaryRoles, ...settings.jwtRoles }));
  return async (token) => {
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer: settings.jwtIssuer,
        audience: settings.jwtAudience,
        algorithms: [...settings.jwtAlgorithms],
        clockTolerance: settings.jwtClockSkewSeconds,
        currentDate: new Date(clock.now()),
        requiredClaims: ["exp", "sub"],
      });
      return verifiedToken(payload, settings, known);
    } catch (error) {
      if (isTokenError(error)) return undefined;
      throw error instanceof PortUnavailable ? error : new PortUnavailable("the token issuer", { cause: error });
    }
  };
}

/** Codes of errors of the issuer: its keys cannot be fetched, or are not valid. */
const issuerErrorCodes = new Set(["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"]);

/**
 * True when the token is not valid; false when its issuer did not answer correctly. A token that names a broken key,
 * such as a point off its curve or an RSA key that is too short, is not valid: the other keys of the issuer go on.
 */
function isTokenError(error: unknown): boolean {
  if (error instanceof errors.JOSEError) return !issuerErrorCodes.has(error.code);
  return error instanceof TypeError || error instanceof DOMException;
}

/** Sends requests to the issuer. A failure is one of the issuer, and none of a key. */
const ofIssuer =
  (fetcher: typeof fetch): typeof fetch =>
  async (...request) => {
    try {
      return await fetcher(...request);
    } catch (cause) {
      // The keys' own time-out is known by its name.
      if (cause instanceof Error && cause.name === "TimeoutError") throw cause;
      throw new PortUnavailable("the token issuer", { cause });
    }
  };

/**
 * Roles by values of the role claim that count in every deployment. Many issuers call the administrator of one customer
 * `admin`, and Offload's admin may access all tenants: only the deployment's own setting makes a token an admin's.
 */
const ordinaryRoles: Readonly<Record<string, TokenRole>> = {
  submitter: "submitter",
  viewer: "viewer",
  operator: "operator",
  admin: "operator",
};

function verifiedToken(
  payload: JWTPayload,
  settings: JwtSettings,
  known: ReadonlyMap<unknown, Role>,
): VerifiedToken | undefined {
  const tenantId = claim(payload, settings.jwtTenantClaim);
  const role = roleOf(claim(payload, settings.jwtRoleClaim), known) ?? settings.jwtDefaultRole;
  const { sub, exp = 0 } = payload;
  if (typeof tenantId !== "string" || !tenantPattern.test(tenantId)) return undefined;
  if (role === undefined || typeof sub !== "string" || !subjectPattern.test(sub)) return undefined;
  if (!Number.isFinite(exp)) return undefined;
  const inputs = role === "viewer" && isTrue(claim(payload, settings.jwtInputsClaim));
  return {
    identity: { tenantId, principal: principalOf(sub), role, ...(inputs && { inputs }) },
    untilMs: (exp + settings.jwtClockSkewSeconds) * 1000,
  };
}

/** Some issuers write all claims as texts. */
const isTrue = (value: unknown): boolean => value === true || value === "true";

/**
 * A subject is the principal. A subject that could be an API key's id, or the id of a local token, is marked: it must
 * not be the same principal.
 */
const principalOf = (sub: string): string => (otherPrincipals.test(sub) ? `jwt:${sub}` : sub);

const otherPrincipals = /^(jwt:.*|local-[\da-f]{12}|[a-z2-9]{16})$/;

const claim = (payload: JWTPayload, name: string): unknown =>
  Object.hasOwn(payload, name) ? payload[name] : undefined;

/** Returns the role of a claim's value, or the highest role of a list of values. */
function roleOf(value: unknown, known: ReadonlyMap<unknown, Role>): Role | undefined {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  const found = values.map((one) => known.get(one));
  return roles.findLast((role) => found.includes(role));
}

/** Returns a function that finds an issuer's public key. The first call fetches the keys. */
function issuerKeys(settings: JwtSettings, fetcher: typeof fetch): JWTVerifyGetKey {
  let keys: JWTVerifyGetKey | undefined;
  let keysUrl: Promise<string> | undefined;
  return async (header, token) => {
    keysUrl ??=
      settings.jwtJwksUrl === undefined ? discover(settings.jwtIssuer, fetcher) : Promise.resolve(settings.jwtJwksUrl);
    const url = await keysUrl.catch((error: unknown) => {
      keysUrl = undefined;
      throw new PortUnavailable("the token issuer", { cause: error });
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

/** Returns the URL of the keys from the issuer's discovery document (OpenID Connect Discovery 1.0, section 4). */
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
