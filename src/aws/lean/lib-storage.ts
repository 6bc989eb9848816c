import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type S3Client,
  UploadPartCommand,
} from "./client-s3.ts";
import type { Fields } from "./service.ts";

interface UploadOptions {
  readonly client: Pick<S3Client, "send">;
  /** Fields of a `PutObjectCommand`, with a stream as body. */
  readonly params: Fields & { readonly Body: AsyncIterable<Uint8Array> };
  /** Size of a part in bytes. */
  readonly partSize: number;
  /** Number of parts that are sent at the same time. */
  readonly queueSize: number;
}

/** A small replacement for the SDK's upload of a stream in parts. */
export class Upload {
  readonly #options: UploadOptions;

  constructor(options: UploadOptions) {
    this.#options = options;
  }

  /** Ends at the first fault: then the parts are deleted. */
  async done(): Promise<void> {
    const { client, params } = this.#options;
    const { Bucket, Key, ContentType, IfNoneMatch } = params;
    const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, ContentType }));
    const upload = { Bucket, Key, UploadId };
    try {
      const Parts = await this.#sendParts(upload);
      await client.send(new CompleteMultipartUploadCommand({ ...upload, IfNoneMatch, MultipartUpload: { Parts } }));
    } catch (error) {
      await client.send(new AbortMultipartUploadCommand(upload)).catch(() => {});
      throw error;
    }
  }

  async #sendParts(upload: Fields): Promise<Fields[]> {
    const { client, params, partSize, queueSize } = this.#options;
    const parts: Fields[] = [];
    const sending = new Set<Promise<void>>();
    const faults: unknown[] = [];
    const send = async (PartNumber: number, Body: Uint8Array) => {
      const { ETag } = await client.send(new UploadPartCommand({ ...upload, PartNumber, Body }));
      parts[PartNumber - 1] = { PartNumber, ETag };
    };
    try {
      let number = 0;
      for await (const part of partsOf(params.Body, partSize)) {
        if (sending.size >= queueSize) await Promise.race(sending);
        if (faults.length > 0) break;
        number += 1;
        const sent = send(number, part)
          .catch((error: unknown) => void faults.push(error))
          .finally(() => sending.delete(sent));
        sending.add(sent);
      }
    } finally {
      // A part that arrives after the end of its upload would stay.
      await Promise.all(sending);
    }
    if (faults.length > 0) throw faults[0];
    return parts;
  }
}

/** Joins and splits pieces to parts of equal size. The last one is smaller. */
async function* partsOf(pieces: AsyncIterable<Uint8Array>, partSize: number): AsyncGenerator<Uint8Array> {
  let part = Buffer.allocUnsafe(partSize);
  let filled = 0;
  for await (const piece of pieces) {
    for (let start = 0; start < piece.byteLength; ) {
      const taken = piece.subarray(start, start + partSize - filled);
      part.set(taken, filled);
      start += taken.byteLength;
      filled += taken.byteLength;
      if (filled < partSize) continue;
      yield part;
      part = Buffer.allocUnsafe(partSize);
      filled = 0;
    }
  }
  if (filled > 0) yield part.subarray(0, filled);
}
