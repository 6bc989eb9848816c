import { createHash, timingSafeEqual } from "../../util/node-crypto.ts";
import type { Identity, Role } from "./words.ts";

/** An API key as it is stored: never its secret. */
export interface ApiKey {
  key_id: string;
  /** SHA-256 of the secret, in hex. */
  secret_hash: string;
  tenant_id: string;
  role: Role;
  /** True: a viewer that may read inputs and logs. Absent: another role, or a viewer that may not. */
  inputs?: true;
  /** For people who list keys. Absent: none was given. */
  label?: string;
  /** ISO times. Absent: it does not expire; it is not revoked. */
  expires_at?: string;
  revoked_at?: string;
  /** Creation time. Absent: the key was written by hand. */
  created_at?: string;
  /** The last stored use, up to ten minutes before the last real one. Absent: not used yet. */
  last_used_at?: string;
}

/** Least time between two stored uses, in milliseconds, so that a busy key costs few writes. */
export const useNotedEveryMs = 10 * 60_000;

/** Pattern of a tenant's id, which is part of keys, cursors and log lines. */
export const tenantPattern = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Makes a key. The token is not stored: a lost token cannot be recovered.
 * @param randomBytes Returns that many bytes from a cryptographic source.
 */
export function newApiKey(
  given: Pick<ApiKey, "tenant_id" | "role" | "inputs" | "label" | "expires_at">,
  nowIso: string,
  randomBytes: (count: number) => Uint8Array,
): { key: ApiKey; token: string } {
  const keyId = Array.from(randomBytes(16), (byte) => keyIdAlphabet[byte % keyIdAlphabet.length]).join("");
  const secret = Buffer.from(randomBytes(32)).toString("base64url");
  return {
    key: { key_id: keyId, secret_hash: hashSecret(secret), ...given, created_at: nowIso },
    token: `ofl_${keyId}_${secret}`,
  };
}

/** 32 characters, so that each byte picks one with equal chance; without characters that look alike. */
const keyIdAlphabet = "abcdefghijkmnpqrstuvwxyz23456789";

/** SHA-256 in hex: enough for a secret of 256 random bits. */
export const hashSecret = (secret: string): string => createHash("sha256").update(secret).digest("hex");

/** Splits `ofl_<key id>_<secret>`; undefined when the token is not an API key. */
export function parseApiKey(token: string): { keyId: string; secret: string } | undefined {
  const match = /^ofl_([A-Za-z0-9]{8,32})_([A-Za-z0-9_-]{20,128})$/.exec(token);
  return match?.[1] === undefined || match[2] === undefined ? undefined : { keyId: match[1], secret: match[2] };
}

/** Begins the secret of a link that sends a signal. */
export const linkPrefix = "ofs_";

/** A text without the secrets of API keys and links in it, also of cut ones: `ofl_<key id>_…`, `ofs_…`. */
export const withoutSecrets = (text: string): string =>
  text.replace(/(ofl_[A-Za-z0-9]{8,32}_|\bofs_)[A-Za-z0-9_-]+/g, "$1…");

/** True for a text that can be the id of an API key. */
export const isKeyId = (text: string): boolean => /^[A-Za-z0-9]{8,32}$/.test(text);

/** The identity of a key's bearer; undefined when the secret is wrong, or the key is revoked or expired. */
export function identityOf(key: ApiKey, secret: string, nowIso: string): Identity | undefined {
  const given = Buffer.from(hashSecret(secret), "hex");
  const stored = Buffer.from(key.secret_hash, "hex");
  const equal = given.length === stored.length && timingSafeEqual(given, stored);
  if (!equal || key.revoked_at !== undefined) return undefined;
  if (key.expires_at !== undefined && key.expires_at <= nowIso) return undefined;
  const inputs = key.inputs === true ? { inputs: key.inputs } : {};
  return { tenantId: key.tenant_id, principal: key.key_id, role: key.role, ...inputs };
}

/** Reads the bearer's token from an `Authorization` header. */
export function bearerToken(header: string | undefined): string | undefined {
  const match = /^Bearer +([^\s]{1,8192})$/i.exec(header ?? "");
  return match?.[1];
}
