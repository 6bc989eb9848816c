import type { JsonWebKey, KeyObject } from "node:crypto";

/** Taken without an import, as `util/node-crypto.ts` does. */
const { constants, createPublicKey, diffieHellman, generateKeyPairSync, publicEncrypt } =
  process.getBuiltinModule("node:crypto");

/** Members of a key that a record keeps: those that encrypting needs, and the client's name for the key. */
const kept = ["kty", "crv", "x", "y", "n", "e", "kid"] as const;

/** Members that only private and secret keys have (RFC 7518). */
const secret = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** Shortest RSA key, in bits. */
const shortestRsaBits = 2048;

/** Curve of a key that can encrypt, by the key's type. RSA keys have none. */
const curves: Readonly<Record<string, string | undefined>> = { EC: "P-256", OKP: "X25519", RSA: undefined };

/**
 * Returns the fault of a client's `result_key`, without any of its values. Undefined: a result can be encrypted to it.
 */
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

/**
 * Uses of a key, of which one lets it encrypt (RFC 7517, section 4.3). WebCrypto exports the public key of an agreement
 * with an empty list, as only the private one derives.
 */
const encryptingOps = ["encrypt", "wrapKey", "deriveKey", "deriveBits"];

function keyFault(key: JsonWebKey): string | undefined {
  if (!mayEncrypt(key)) return "the key's use or key_ops do not allow it to encrypt";
  try {
    const publicKey = createPublicKey({ key, format: "jwk" });
    const fault = rsaFault(publicKey);
    if (fault === undefined) tryToEncrypt(publicKey);
    return fault;
  } catch {
    return "the key is not valid";
  }
}

const mayEncrypt = ({ use, key_ops: ops, kty, alg }: JsonWebKey): boolean =>
  (use === undefined || use === "enc") &&
  (ops === undefined ||
    (Array.isArray(ops) &&
      (ops.some((op) => encryptingOps.includes(op)) || (ops.length === 0 && kty !== "RSA" && !isOfSignatures(alg)))));

const isOfSignatures = (alg: unknown): boolean => alg !== undefined && !String(alg).startsWith("ECDH");

/** An exponent of 1 encrypts nothing, and an even one cannot be inverted. */
function rsaFault({ asymmetricKeyDetails: details = {} }: KeyObject): string | undefined {
  const { modulusLength = shortestRsaBits, publicExponent = 65_537n } = details;
  if (modulusLength < shortestRsaBits) return `an RSA key needs at least ${shortestRsaBits} bits`;
  return publicExponent < 65_537n || publicExponent % 2n === 0n
    ? "an RSA key needs an odd exponent of at least 65537"
    : undefined;
}

/** @throws when nothing can be encrypted to the key, as to a point of small order */
function tryToEncrypt(publicKey: KeyObject): void {
  const { asymmetricKeyType: type } = publicKey;
  if (type === "rsa") {
    publicEncrypt({ key: publicKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" }, Buffer.alloc(32));
    return;
  }
  const { privateKey } =
    type === "x25519" ? generateKeyPairSync("x25519") : generateKeyPairSync("ec", { namedCurve: "P-256" });
  diffieHellman({ privateKey, publicKey });
}

/** A key without members that encrypting does not need. */
export const keptKey = (key: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(kept.flatMap((name) => (typeof key[name] === "string" ? [[name, key[name]]] : [])));
