import type { UploadView } from "../core/extras/files/uploads.ts";
import type { FileParts } from "./late-parts.ts";
import { type Bytes, counted, type OnProgress } from "./transfer.ts";
import type { Transport } from "./transport.ts";

/** A file to send, and how. */
interface Sending {
  parts: FileParts;
  transport: Transport;
  announced: UploadView;
  body: Blob | AsyncIterable<Uint8Array>;
  size: number;
  onProgress: OnProgress;
  signal: AbortSignal;
}

/** Statuses after which the same request can succeed. S3 answers 409 while another request stores the same object. */
const canPass = (status: number): boolean => [408, 409, 429].includes(status) || status >= 500;

/**
 * Sends an announced file. Repeats it after errors that can pass; a stream only once, as it cannot be read again.
 * @throws ConnectionError; the signal's reason
 */
export async function send(sending: Sending): Promise<void> {
  const { parts, transport, announced, body, signal } = sending;
  const [, sleep, randomWaitMs, , Failure] = parts;
  const mostTries = body instanceof Blob ? transport.maxTries : 1;
  const host = hostOf(announced.url);
  for (let tries = 1; ; tries++) {
    let failure: Error;
    try {
      const status = await put(sending);
      // 412: the object exists. Only this upload writes it, so an earlier try arrived.
      if (status < 300 || status === 412) return;
      failure = new Failure(`${host} answered ${status} to the file`);
      if (!canPass(status)) throw failure;
    } catch (error) {
      mustGoOn(signal);
      if (error instanceof Failure) throw error;
      const reason = ((error as Error).cause as Error | undefined)?.message || (error as Error).message;
      failure = new Failure(`${host} did not take the file: ${reason}`, { cause: error });
    }
    if (tries >= mostTries) throw failure;
    await sleep(randomWaitMs(tries), signal);
  }
}

/** React Native's own `URL` does not tell it. */
const hostOf = (url: string): string => url.replace(/^\w+:\/\/|[/?#].*/g, "");

function mustGoOn(signal: AbortSignal): void {
  if (signal.aborted) throw signal.reason;
}

/** Sends the file once. Returns the status. */
async function put({ transport, announced, body, size, onProgress, signal }: Sending): Promise<number> {
  const { url, headers } = announced;
  const own = Object.entries(headers).filter(([name]) => name.toLowerCase() !== "content-length");
  if (body instanceof Blob && (onProgress === undefined || "XMLHttpRequest" in globalThis)) {
    // Browsers tell the progress of a request only this way.
    if (onProgress !== undefined) return putByPage(url, own, body, onProgress, signal);
    const init = { method: "PUT", headers: own, body, credentials: "omit", signal } as const;
    return (await transport.fetch(url, init)).status;
  }
  const stream = body instanceof Blob ? body.stream() : streamOf(body);
  const init = {
    method: "PUT",
    // Without it, a stream would be sent in chunks of unknown number, which S3 refuses.
    headers: [...own, ["content-length", String(size)] satisfies [string, string]],
    body: counted(stream, size, onProgress),
    duplex: "half" as const,
    signal,
  };
  return (await transport.fetch(url, init)).status;
}

/** Node, Deno and Bun have this method; the compiler's library does not know it. */
const streamOf = (pieces: AsyncIterable<Uint8Array>): ReadableStream<Bytes> =>
  (ReadableStream as unknown as { from(pieces: AsyncIterable<Uint8Array>): ReadableStream }).from(pieces);

/** The part of `XMLHttpRequest` that is used. */
interface PageRequest {
  readonly upload: { onprogress: (event: { loaded: number }) => void };
  readonly status: number;
  onload: () => void;
  onerror: () => void;
  onabort: () => void;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  send(body: Blob): void;
  abort(): void;
}

function putByPage(
  url: string,
  headers: readonly (readonly [string, string])[],
  body: Blob,
  onProgress: NonNullable<OnProgress>,
  signal: AbortSignal,
): Promise<number> {
  const request = new (globalThis as unknown as { XMLHttpRequest: new () => PageRequest }).XMLHttpRequest();
  return new Promise((resolve, reject) => {
    const stop = () => request.abort();
    const end = (settle: () => void) => () => {
      signal.removeEventListener("abort", stop);
      settle();
    };
    request.open("PUT", url);
    for (const [name, value] of headers) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded }) => onProgress({ bytes: loaded, totalBytes: body.size });
    request.onload = end(() => resolve(request.status));
    request.onerror = end(() => reject(new Error("the connection failed")));
    request.onabort = end(() => reject(signal.reason));
    signal.addEventListener("abort", stop);
    request.send(body);
  });
}
