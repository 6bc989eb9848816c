import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { S3Error } from "./s3-error.ts";

/** Checksums that this server computes. S3 also has CRC32C and CRC64NVME. */
export const checksumAlgorithms = ["crc32", "sha1", "sha256"] as const;
export type ChecksumAlgorithm = (typeof checksumAlgorithms)[number];

/**
 * Checksums in Base64, by algorithm. The checksums of objects of several parts end with `-` and the number of parts.
 */
export type Checksums = { [Algorithm in ChecksumAlgorithm]?: string };

/** @throws S3Error for algorithms that this server does not support */
export function checksumAlgorithm(name: string): ChecksumAlgorithm {
  const found = checksumAlgorithms.find((known) => known === name.toLowerCase());
  if (found === undefined) {
    const text = `The local server does not support the checksum ${name}. Use one of ${checksumAlgorithms.join(", ")}.`;
    throw new S3Error("NotImplemented", text);
  }
  return found;
}

interface Digest {
  update(bytes: Buffer): unknown;
  digest(): Buffer;
}

export const digestOf = (algorithm: ChecksumAlgorithm | "md5"): Digest =>
  algorithm === "crc32" ? new Crc32() : createHash(algorithm);

class Crc32 implements Digest {
  #value = 0;

  update(bytes: Buffer): void {
    this.#value = crc32(bytes, this.#value);
  }

  digest(): Buffer {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(this.#value);
    return bytes;
  }
}

/** Checksum of the parts' checksums, with the number of parts. Undefined: a part has none. */
export function compositeOf(algorithm: ChecksumAlgorithm, parts: readonly Checksums[]): string | undefined {
  const digest = digestOf(algorithm);
  for (const { [algorithm]: part } of parts) {
    if (part === undefined) return undefined;
    digest.update(Buffer.from(part, "base64"));
  }
  return `${digest.digest().toString("base64")}-${parts.length}`;
}
