import type { Duration } from "aws-cdk-lib";
import { fromEnv, type PerTier, type SettingTexts, toEnv } from "../src/config.ts";
import type { Role } from "../src/core/identity.ts";
import { defaultDepthBounds, parseLimits } from "../src/core/limits/limits.ts";

/** Which tokens of an OIDC issuer open the API, beside API keys. */
export interface JwtOptions {
  /** The issuer's URL, as its tokens' `iss` has it. */
  readonly issuer: string;
  /** What the tokens' `aud` must name. */
  readonly audience: string;
  /**
   * The claim with the tenant.
   * @default tenant
   */
  readonly tenantClaim?: string;
  /**
   * The claim with the role, or with a list of names of which the mightiest known role counts.
   * @default role
   */
  readonly roleClaim?: string;
  /**
   * The role of tokens without a known one.
   * @default - such tokens are refused
   */
  readonly defaultRole?: Role;
  /**
   * Where the issuer's public keys are.
   * @default - where its discovery document says
   */
  readonly jwksUrl?: string;
  /**
   * The signatures that tokens may have; never `none`, nor one with a shared secret.
   * @default RS256, ES256, EdDSA
   */
  readonly algorithms?: readonly string[];
  /**
   * How far the issuer's clock may be off, at most five minutes.
   * @default Duration.seconds(30)
   */
  readonly clockSkew?: Duration;
}

/** What every tenant may use that has no limits of its own; `npx offload limits set --tenant` gives it some. */
export interface TenantLimits {
  /**
   * Accepted submits a second in the long run.
   * @default - any number
   */
  readonly submitsPerSecond?: number;
  /**
   * Submits at once after a pause.
   * @default - those of one second
   */
  readonly burst?: number;
  /**
   * Tasks that have been accepted and have not ended.
   * @default - any number
   */
  readonly tasksInProgress?: number;
  /**
   * The largest request body, in bytes.
   * @default - 1 MiB
   */
  readonly requestBytes?: number;
}

/** What bounds submits. */
export interface LimitOptions {
  /** @default - tenants are not limited */
  readonly tenants?: TenantLimits;
  /**
   * How many messages a tier may hold before submits to it are refused.
   * @default - critical 20,000, high 50,000, normal and low 100,000
   */
  readonly depth?: Partial<PerTier<number>>;
}

/**
 * The authorizer's settings for tokens; none without an issuer.
 * @throws Error naming the option's variable that is wrong, and what is allowed
 */
export function tokenSettings(options: JwtOptions | undefined): SettingTexts {
  if (options === undefined) return {};
  const { issuer, audience, tenantClaim, roleClaim, defaultRole, jwksUrl, algorithms, clockSkew } = options;
  return checked({
    jwtIssuer: issuer,
    jwtAudience: audience,
    ...(tenantClaim !== undefined && { jwtTenantClaim: tenantClaim }),
    ...(roleClaim !== undefined && { jwtRoleClaim: roleClaim }),
    ...(defaultRole !== undefined && { jwtDefaultRole: defaultRole }),
    ...(jwksUrl !== undefined && { jwtJwksUrl: jwksUrl }),
    ...(algorithms !== undefined && { jwtAlgorithms: algorithms.join(",") }),
    ...(clockSkew !== undefined && { jwtClockSkewSeconds: String(clockSkew.toSeconds()) }),
  });
}

/**
 * The settings of functions that take submits.
 * @throws Error naming the limit that is wrong, and what is allowed
 */
export function limitSettings({ tenants = {}, depth = {} }: LimitOptions = {}): SettingTexts {
  const limits = {
    default: {
      submits_per_second: tenants.submitsPerSecond,
      burst: tenants.burst,
      tasks_in_progress: tenants.tasksInProgress,
      request_bytes: tenants.requestBytes,
    },
    depth: { ...defaultDepthBounds, ...depth },
  };
  const text = JSON.stringify(limits);
  // As the function will read it, so that a mistake shows before anything is deployed.
  parseLimits(text);
  return { limits: text };
}

/** Reads the settings as the function will, so that a mistake shows before anything is deployed. */
function checked(texts: SettingTexts): SettingTexts {
  fromEnv(toEnv(texts), Object.keys(texts) as (keyof SettingTexts)[]);
  return texts;
}
