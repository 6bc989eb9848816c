import { type Duration, type Stack, Token } from "aws-cdk-lib";
import { defaultDepthBounds } from "../src/core/limits/limits.ts";
import { parseLimits } from "../src/core/limits/parse-limits.ts";
import type { Role, TokenRole } from "../src/core/model/words.ts";
import { fromEnv, type PerTier, type SettingTexts, toEnv } from "../src/settings/config.ts";
import { inOneLine, settingError } from "./setting-error.ts";
import { hasUnknown, knownPart, listText, numberText } from "./tokens.ts";

/** OIDC issuer and tokens that the API accepts, in addition to API keys. */
export interface JwtOptions {
  /** URL of the issuer, equal to `iss` of its tokens. */
  readonly issuer: string;
  /** Audience that `aud` of the tokens must contain. */
  readonly audience: string;
  /**
   * Claim with the tenant.
   * @default tenant
   */
  readonly tenantClaim?: string;
  /**
   * Claim with the role, or with a list of names. Of several known roles the most powerful one counts.
   * @default role
   */
  readonly roleClaim?: string;
  /**
   * Claim that is `true` where the role `viewer` may read inputs and logs.
   * @default inputs
   */
  readonly inputsClaim?: string;
  /**
   * Roles by values of the role claim, such as `{ "offload-admins": "admin" }`. Only this makes tokens an admin's, who
   * may access all tenants: map a value that the issuer gives to your own staff only.
   * @default - the values `submitter`, `viewer` and `operator` are roles, and `admin` counts as `operator`
   */
  readonly roles?: Readonly<Record<string, Role>>;
  /**
   * Role of tokens without a known role.
   * @default - such tokens are refused
   */
  readonly defaultRole?: TokenRole;
  /**
   * URL of the issuer's public keys.
   * @default - `jwks_uri` of its discovery document
   */
  readonly jwksUrl?: string;
  /**
   * Accepted signature algorithms. `none` and algorithms with a shared secret are not allowed.
   * @default RS256, ES256, EdDSA
   */
  readonly algorithms?: readonly string[];
  /**
   * Tolerated difference between the clocks, at most five minutes.
   * @default Duration.seconds(30)
   */
  readonly clockSkew?: Duration;
  /**
   * Client with which the console signs in at the issuer: a public client with PKCE, whose redirect URL is the API's
   * URL with `/console`.
   * @default - users of the console sign in with an API key
   */
  readonly console?: ConsoleClient;
}

/** A client of the OIDC issuer for the console. */
export interface ConsoleClient {
  /** Id of the client at the issuer. It is no secret. */
  readonly clientId: string;
  /**
   * Scope that the console asks for.
   * @default openid
   */
  readonly scope?: string;
  /**
   * Origins that the console calls in addition to the issuer's: that of the issuer's token endpoint, when it is another
   * one.
   * @default - none
   */
  readonly origins?: readonly string[];
}

/** Limits of tenants without limits of their own. `npx offload limits set --tenant` sets those. */
export interface TenantLimits {
  /**
   * Accepted submits per second, on average.
   * @default - no limit
   */
  readonly submitsPerSecond?: number;
  /**
   * Submits accepted at once after a pause.
   * @default - the number per second
   */
  readonly burst?: number;
  /**
   * Accepted tasks that have not ended.
   * @default - no limit
   */
  readonly tasksInProgress?: number;
  /**
   * Largest request body, in bytes.
   * @default - 1 MiB
   */
  readonly requestBytes?: number;
  /**
   * Schedules of a tenant, without those of the app's code.
   * @default - 100
   */
  readonly schedules?: number;
  /**
   * Bytes of a tenant's announced uploads that no task has taken, each as at least 1 MiB.
   * @default - 100 GiB
   */
  readonly openUploadBytes?: number;
}

/** Limits of submits. */
export interface LimitOptions {
  /** @default - no limits of tenants */
  readonly tenants?: TenantLimits;
  /**
   * Number of messages in a tier above which submits to it are refused.
   * @default - critical 20,000, high 50,000, normal and low 100,000
   */
  readonly depth?: Partial<PerTier<number>>;
}

/** Settings that follow from the issuer, by the functions that read them. */
export const jwtSettings = (options: JwtOptions | undefined) => ({
  tokenSettings: tokenSettings(options),
  consoleSettings: consoleSettings(options),
});

/**
 * Settings of the authorizer for tokens. Empty without an issuer.
 * @throws Error that names the variable of an invalid option, and the allowed values
 */
export function tokenSettings(options: JwtOptions | undefined): SettingTexts {
  if (options === undefined) return {};
  const { issuer, audience, tenantClaim, roleClaim, inputsClaim, roles, defaultRole } = options;
  const { jwksUrl, algorithms, clockSkew } = options;
  return checked({
    jwtIssuer: issuer,
    jwtAudience: audience,
    ...(tenantClaim !== undefined && { jwtTenantClaim: tenantClaim }),
    ...(roleClaim !== undefined && { jwtRoleClaim: roleClaim }),
    ...(inputsClaim !== undefined && { jwtInputsClaim: inputsClaim }),
    ...(roles !== undefined && { jwtRoles: JSON.stringify(roles) }),
    ...(defaultRole !== undefined && { jwtDefaultRole: defaultRole }),
    ...(jwksUrl !== undefined && { jwtJwksUrl: jwksUrl }),
    ...(algorithms !== undefined && { jwtAlgorithms: listText(algorithms) }),
    ...(clockSkew !== undefined && { jwtClockSkewSeconds: numberText(clockSkew.toSeconds()) }),
  });
}

/**
 * Settings of the console's sign-in at the issuer. Empty without a client.
 * @throws Error that names the variable of an invalid option, and the allowed values
 */
function consoleSettings({ issuer, console: client }: Partial<JwtOptions> = {}): SettingTexts {
  if (issuer === undefined || client === undefined) return {};
  const { clientId, scope, origins } = client;
  if (clientId === "")
    throw settingError("jwt.console.clientId must be the id of a client at the issuer, got an empty text");
  return checked({
    jwtIssuer: issuer,
    consoleClientId: clientId,
    ...(scope !== undefined && { consoleScope: scope }),
    ...(origins !== undefined && { consoleOrigins: listText(origins) }),
  });
}

/**
 * Settings of functions that accept submits.
 * @throws Error that names an invalid limit, and the allowed values
 */
export function limitSettings({ tenants = {}, depth = {} }: LimitOptions = {}, stack?: Stack): SettingTexts {
  const limits = {
    default: {
      submits_per_second: tenants.submitsPerSecond,
      burst: tenants.burst,
      tasks_in_progress: tenants.tasksInProgress,
      request_bytes: tenants.requestBytes,
      schedules: tenants.schedules,
      open_upload_bytes: tenants.openUploadBytes,
    },
    depth: { ...defaultDepthBounds, ...depth },
  };
  // Parsed as the function will parse it, so that a mistake fails the synthesis.
  // JSON has no NaN: it would be null, which is no limit.
  const known = JSON.stringify(knownPart(limits), (_, value) => (Number.isNaN(value) ? "NaN" : value));
  inSettings(() => parseLimits(known));
  return { limits: stack !== undefined && hasUnknown(limits) ? stack.toJsonString(limits) : JSON.stringify(limits) };
}

/**
 * Settings of functions that write or read lists. Empty without a number.
 * @throws Error that names the variable, and the allowed values
 */
export const listSettings = (listShards: number | undefined): SettingTexts =>
  listShards === undefined ? {} : checked({ listShards: numberText(listShards) });

/**
 * Parses the settings as the function will, so that a mistake fails the synthesis. The function itself checks what only
 * a deployment knows.
 */
function checked(texts: SettingTexts): SettingTexts {
  const known = Object.fromEntries(Object.entries(texts).filter(([, text]) => !Token.isUnresolved(text)));
  inSettings(() => fromEnv(toEnv(known), Object.keys(known) as (keyof SettingTexts)[]));
  return texts;
}

/** Its error is the app's: a wrong setting. */
function inSettings(parse: () => void): void {
  try {
    parse();
  } catch (error) {
    throw inOneLine(error as Error);
  }
}
