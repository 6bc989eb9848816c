import { Readable } from "node:stream";
import type { PutObjectCommandInput, S3Client } from "#aws-sdk/client-s3";
import { Upload } from "#aws-sdk/lib-storage";
import type { Bytes } from "../../core/ports/blob.ts";

/** Size of a part: S3's minimum. With S3's maximum of 10,000 parts an object can have 48 GiB. */
export const partBytes = 5 * 1024 * 1024;

/** Number of parts that are sent at the same time. Each is in memory until S3 has it. */
const atOnce = 4;

/**
 * Uploads a stream in parts. A stream that fails, or a part that S3 does not take, ends the upload, and its parts are
 * deleted. Of a process that dies, the bucket's lifecycle rule deletes them.
 */
export async function uploadParts(
  client: S3Client,
  params: Omit<PutObjectCommandInput, "Body">,
  body: Bytes,
): Promise<void> {
  const failing = new FailFast(client);
  const source = Readable.from(failing.endWithFault(body), { objectMode: true, highWaterMark: 1 });
  await new Upload({
    client: failing.client,
    params: { ...params, Body: source } as PutObjectCommandInput,
    partSize: partBytes,
    queueSize: atOnce,
  }).done();
}

/** Makes an upload end with its first fault. The library itself would first read and send the rest of the stream. */
class FailFast {
  readonly client: S3Client;
  #fault: unknown;

  constructor(client: S3Client) {
    const send = client.send.bind(client) as (...args: unknown[]) => Promise<unknown>;
    this.client = Object.create(client, {
      send: {
        value: (...args: unknown[]) =>
          send(...args).catch((error: unknown) => {
            this.#fault ??= error;
            throw error;
          }),
      },
    });
  }

  async *endWithFault(body: Bytes): AsyncGenerator<Uint8Array> {
    for await (const piece of body) {
      if (this.#fault !== undefined) throw this.#fault;
      yield piece;
    }
  }
}
