/**
 * Functions of Node's module crypto, taken without an import. For an import, Node reads all exports of the module, also
 * those behind getters, and so loads WebCrypto at each start of a function.
 */
export const { createHash, createHmac, createSecretKey, hash, hkdfSync, randomBytes, randomUUID, timingSafeEqual } =
  process.getBuiltinModule("node:crypto");
