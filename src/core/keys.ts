import { createHash, timingSafeEqual } from "node:crypto";
import type { Identity, Role } from "./ports.ts";

/** An API key as it is stored: never its secret. */
export interface ApiKey {
  key_id: string;
  /** SHA-256 of the secret, in hex. */
  secret_hash: string;
  tenant_id: string;
  role: Role;
  /** ISO times. Absent: it does not expire; it is not revoked. */
  expires_at?: string;
  revoked_at?: string;
}

/** Where API keys are looked up. */
export interface ApiKeys {
  find(keyId: string): Promise<ApiKey | undefined>;
}

/** SHA-256 in hex: enough for a secret of 256 random bits, which no dictionary holds. */
export const hashSecret = (secret: string): string => createHash("sha256").update(secret).digest("hex");

/** Splits `ofl_<key id>_<secret>`; undefined when a token is none. */
export function parseApiKey(token: string): { keyId: string; secret: string } | undefined {
  const match = /^ofl_([A-Za-z0-9]{8,32})_([A-Za-z0-9_-]{20,128})$/.exec(token);
  return match?.[1] === undefined || match[2] === undefined ? undefined : { keyId: match[1], secret: match[2] };
}

/** What the key says of its bearer; undefined when the secret is wrong, or the key revoked or expired. */
export function identityOf(key: ApiKey, secret: string, nowIso: string): Identity | undefined {
  const given = Buffer.from(hashSecret(secret), "hex");
  const stored = Buffer.from(key.secret_hash, "hex");
  const equal = given.length === stored.length && timingSafeEqual(given, stored);
  if (!equal || key.revoked_at !== undefined) return undefined;
  if (key.expires_at !== undefined && key.expires_at <= nowIso) return undefined;
  return { tenantId: key.tenant_id, principal: key.key_id, role: key.role };
}

/** Reads the bearer's token from an `Authorization` header. */
export function bearerToken(header: string | undefined): string | undefined {
  const match = /^Bearer +([^\s]{1,4096})$/i.exec(header ?? "");
  return match?.[1];
}
