import { generateKeyPairSync } from "node:crypto";
import { compactDecrypt } from "jose";
import { expect, test } from "vitest";
import { keptKey, resultKeyFault } from "../../../src/core/model/result-key.ts";
import { encrypted } from "../../../src/core/pipeline/send/encrypt-result.ts";

type Jwk = Record<string, unknown>;

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ format: "jwk" }) as Jwk;
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" }) as Jwk;
const x25519 = generateKeyPairSync("x25519").publicKey.export({ format: "jwk" }) as Jwk;

/** Points of small order on Curve25519, with which every secret is zero. */
const smallOrder = [
  "00".repeat(32),
  `01${"00".repeat(31)}`,
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  `ec${"ff".repeat(30)}7f`,
].map((hex) => ({ ...x25519, x: Buffer.from(hex, "hex").toString("base64url") }));

const exponent = (bytes: number[]): Jwk => ({ ...rsa, e: Buffer.from(bytes).toString("base64url") });

test.each([
  ["RSA", rsa],
  ["P-256", ec],
  ["X25519", x25519],
  ["a key for encryption", { ...rsa, use: "enc" }],
  ["a key for agreements", { ...x25519, key_ops: ["deriveBits"] }],
])("a result can be encrypted to %s", (_, key) => {
  expect(resultKeyFault(key)).toBeUndefined();
});

test.each([
  ["an RSA key with the exponent 1", exponent([1])],
  ["an RSA key with the exponent 3", exponent([3])],
  ["an RSA key with an even exponent", exponent([1, 0, 0])],
  ["a key for signatures", { ...rsa, use: "sig" }],
  ["a key that may only verify", { ...ec, key_ops: ["verify"] }],
  ...smallOrder.map((key, index): [string, Jwk] => [`point ${index} of small order`, key]),
])("%s is refused, in words without its values", (_, key) => {
  const fault = resultKeyFault(key);
  expect(fault).toEqual(expect.any(String));
  expect(fault).not.toContain(String(key.n ?? key.x));
});

const rsaOf = (name: string) => ({
  name,
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash: "SHA-256",
});
const { subtle } = globalThis.crypto;
type PageAlgorithm = Parameters<typeof subtle.generateKey>[0] & { namedCurve?: string };

/** A new pair of keys of WebCrypto, with its public key as a page exports it. */
async function pageKey(algorithm: PageAlgorithm, uses: KeyUsage[]) {
  const { publicKey, privateKey } = (await subtle.generateKey(algorithm, true, uses)) as CryptoKeyPair;
  return { jwk: (await subtle.exportKey("jwk", publicKey)) as Jwk, publicKey, privateKey };
}

const agreement: KeyUsage[] = ["deriveKey", "deriveBits"];

test.each([
  ["ECDH with P-256", { name: "ECDH", namedCurve: "P-256" }, agreement],
  ["ECDH with P-256 that derives bits only", { name: "ECDH", namedCurve: "P-256" }, ["deriveBits"]],
  ["X25519", { name: "X25519" }, agreement],
  ["RSA-OAEP that encrypts", rsaOf("RSA-OAEP"), ["encrypt", "decrypt"]],
  ["RSA-OAEP that wraps", rsaOf("RSA-OAEP"), ["wrapKey", "unwrapKey"]],
  ["RSA-OAEP that does both", rsaOf("RSA-OAEP"), ["encrypt", "decrypt", "wrapKey", "unwrapKey"]],
] as [string, PageAlgorithm, KeyUsage[]][])(
  "a result is encrypted to the key that WebCrypto exports of %s, and its private key reads it",
  async (_, algorithm, uses) => {
    const { jwk, privateKey } = await pageKey(algorithm, uses);
    expect(resultKeyFault(jwk)).toBeUndefined();
    const own = await subtle.exportKey("jwk", privateKey);
    const jwe = await encrypted(keptKey(jwk), "the result", "text/plain");
    const { key_ops: _ops, alg: _alg, ...plain } = own;
    const { plaintext } = await compactDecrypt(jwe, plain as never);
    expect(new TextDecoder().decode(plaintext)).toBe("the result");
  },
);

test.each([
  ["ECDSA with P-256", { name: "ECDSA", namedCurve: "P-256" }, ["sign", "verify"]],
  ["Ed25519", { name: "Ed25519" }, ["sign", "verify"]],
  ["RSASSA-PKCS1-v1_5", rsaOf("RSASSA-PKCS1-v1_5"), ["sign", "verify"]],
  ["RSA-PSS", rsaOf("RSA-PSS"), ["sign", "verify"]],
  ["ECDH with P-384, a curve that is not supported", { name: "ECDH", namedCurve: "P-384" }, agreement],
] as [string, PageAlgorithm, KeyUsage[]][])(
  "the key that WebCrypto exports of %s is refused",
  async (_, algorithm, uses) => {
    expect(resultKeyFault((await pageKey(algorithm, uses)).jwk)).toEqual(expect.any(String));
  },
);

test("a key without uses is refused where its type or algorithm is not that of an agreement", () => {
  for (const [key, alg] of [
    [rsa, "RS256"],
    [rsa, "PS512"],
    [ec, "ES256"],
    [x25519, "EdDSA"],
  ] as const) {
    expect(resultKeyFault({ ...key, alg, key_ops: [] })).toEqual(expect.any(String));
  }
  expect(resultKeyFault({ ...rsa, alg: "RSA-OAEP-256", key_ops: ["encrypt"] })).toBeUndefined();
});

test("a private key of WebCrypto is refused", async () => {
  const { privateKey } = await pageKey({ name: "ECDH", namedCurve: "P-256" }, agreement);
  expect(resultKeyFault((await subtle.exportKey("jwk", privateKey)) as Jwk)).toContain("private");
});
