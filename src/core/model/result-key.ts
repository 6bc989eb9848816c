import { createPublicKey, type JsonWebKey } from "node:crypto";

/** Members of a key that a record keeps: those that encrypting needs, and the client's name for the key. */
const kept = ["kty", "crv", "x", "y", "n", "e", "kid"] as const;

/** Members that only private and secret keys have (RFC 7518). */
const secret = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** Shortest RSA key, in bits. */
const shortestRsaBits = 2048;

/** Curve of a key that can encrypt, by the key's type. RSA keys have none. */
const curves: Readonly<Record<string, string | undefined>> = { EC: "P-256", OKP: "X25519", RSA: undefined };

/** Returns the fault of a client's `result_key`, without any of its values. Undefined: a result can be encrypted to it. */
export function resultKeyFault(key: Readonly<Record<string, unknown>>): string | undefined {
  if (secret.some((name) => name in key)) return "this is a private key; send only the public one";
  const { kty, crv } = key;
  if (typeof kty !== "string" || !Object.hasOwn(curves, kty) || curves[kty] !== crv) {
    return "expected a public JWK: EC with P-256, OKP with X25519, or RSA";
  }
  if (kept.some((name) => name in key && (typeof key[name] !== "string" || String(key[name]).length > 1500))) {
    return "the key's members must be texts";
  }
  return keyFault(key as JsonWebKey);
}

function keyFault(key: JsonWebKey): string | undefined {
  try {
    const { modulusLength = shortestRsaBits } = createPublicKey({ key, format: "jwk" }).asymmetricKeyDetails ?? {};
    return modulusLength < shortestRsaBits ? `an RSA key needs at least ${shortestRsaBits} bits` : undefined;
  } catch {
    return "the key is not valid";
  }
}

/** A key without members that encrypting does not need. */
export const keptKey = (key: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(kept.flatMap((name) => (typeof key[name] === "string" ? [[name, key[name]]] : [])));
