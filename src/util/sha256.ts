import { createHash } from "./node-crypto.ts";

/** SHA-256 of bytes, in 64 lowercase hexadecimal digits. */
export const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
