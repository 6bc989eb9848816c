import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { resultKeyFault } from "../../../src/core/model/result-key.ts";

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
