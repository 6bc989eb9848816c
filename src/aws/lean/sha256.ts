import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";

type Data = string | ArrayBuffer | ArrayBufferView;

/** SHA-256 by Node itself, with the interface that the signer expects. */
export class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: Data) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", bytesOf(secret));
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
