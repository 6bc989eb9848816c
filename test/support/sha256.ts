import { createHash, createHmac, createSecretKey, type Hash, type Hmac, type KeyObject } from "node:crypto";

type Data = string | ArrayBuffer | ArrayBufferView;

/** SHA-256 by Node itself, with the interface that the signer expects. */
export class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: Data) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", keyOf(secret));
  }

  update(data: Data): void {
    this.#hash.update(bytesOf(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }
}

const bytesOf = (data: Data): string | NodeJS.ArrayBufferView =>
  data instanceof ArrayBuffer ? new Uint8Array(data) : (data as string | NodeJS.ArrayBufferView);

/** The keys that sign requests, by the bytes that the signer keeps. */
const keys = new WeakMap<object, KeyObject>();

/**
 * The key of an HMAC. Of bytes, Node finds out with each call that they are no key object, by two exceptions: they
 * take 6 % of a worker's processor time (`npm run bench -- worker`).
 */
function keyOf(secret: Data): string | KeyObject {
  if (typeof secret === "string") return secret;
  const key = keys.get(secret) ?? createSecretKey(bytesOf(secret) as NodeJS.ArrayBufferView);
  keys.set(secret, key);
  return key;
}
