import { CompactEncrypt, importJWK, type JWK } from "jose";
import { PermanentError } from "../../model/errors.ts";
import type { Bytes } from "../../ports/blob.ts";
import { readUpTo } from "./read-whole.ts";

/** The largest result that is encrypted, in bytes: a compact JWE is one text, which must be in memory as a whole. */
export const largestEncryptedBytes = 32 * 1024 * 1024;

/** Algorithm that wraps the content's key, by the type of the client's key (RFC 7518). */
const algorithms: Readonly<Record<string, string>> = {
  RSA: "RSA-OAEP-256",
  EC: "ECDH-ES+A256KW",
  OKP: "ECDH-ES+A256KW",
};

/**
 * Encrypts a result to its client's public key. Returns a compact JWE (RFC 7516) with A256GCM, whose header `cty` is
 * the result's content type.
 * @throws PermanentError for a result that is too large, or a key that cannot be used
 */
export async function encrypted(
  key: Readonly<Record<string, string>>,
  body: string | Uint8Array | Bytes,
  contentType: string,
): Promise<string> {
  const plain = await wholeOf(body);
  const alg = algorithms[key.kty ?? ""];
  if (alg === undefined) throw new PermanentError("the result's key is not of a type that can encrypt");
  const imported = await importJWK(key as JWK, alg).catch((cause: unknown) => {
    throw new PermanentError("the result's key cannot be used", { cause });
  });
  return new CompactEncrypt(plain)
    .setProtectedHeader({ alg, enc: "A256GCM", cty: contentType, ...(key.kid === undefined ? {} : { kid: key.kid }) })
    .encrypt(imported)
    .catch((cause: unknown) => {
      throw new PermanentError("the result cannot be encrypted to its key", { cause });
    });
}

async function wholeOf(body: string | Uint8Array | Bytes): Promise<Uint8Array> {
  if (typeof body === "string") return Buffer.from(body, "utf8");
  const read = body instanceof Uint8Array ? { whole: body } : await readUpTo(body, largestEncryptedBytes);
  if ("whole" in read && read.whole.byteLength <= largestEncryptedBytes) return read.whole;
  throw new PermanentError(`a result with a result_key has at most ${largestEncryptedBytes} bytes (32 MiB)`);
}
