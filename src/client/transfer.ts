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

/** `Uint8Array<ArrayBuffer>`, in words that compilers before TypeScript 5.7 know, too. */
export type Bytes = ReturnType<Uint8ArrayConstructor["from"]>;

export type OnProgress = TransferOptions["onProgress"];

/** Counts the bytes that pass. */
export function counted(
  stream: ReadableStream<Bytes>,
  totalBytes: number | undefined,
  onProgress: OnProgress,
  signal?: AbortSignal,
): ReadableStream<Bytes> {
  let bytes = 0;
  const counter = new TransformStream<Bytes, Bytes>({
    transform: (piece, controller) => {
      controller.enqueue(piece);
      bytes += piece.byteLength;
      onProgress?.({ bytes, totalBytes });
    },
  });
  return stream.pipeThrough(counter, signal === undefined ? {} : { signal });
}
