import type { CallOptions } from "./limits.ts";

/** State of a file that is sent or read. */
export interface TransferProgress {
  /** Bytes so far. */
  readonly bytes: number;
  /** Size of the file. Undefined: the answer does not say it. */
  readonly totalBytes: number | undefined;
}

/** Options of calls that send or read a file. */
export interface TransferOptions extends CallOptions {
  /** Called after each piece of the file. */
  onProgress?: ((progress: TransferProgress) => void) | undefined;
}

export type OnProgress = TransferOptions["onProgress"];

/** Counts the bytes that pass. */
export function counted(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  totalBytes: number | undefined,
  onProgress: OnProgress,
  signal?: AbortSignal,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  const counter = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform: (piece, controller) => {
      controller.enqueue(piece);
      bytes += piece.byteLength;
      onProgress?.({ bytes, totalBytes });
    },
  });
  return stream.pipeThrough(counter, signal === undefined ? {} : { signal });
}
