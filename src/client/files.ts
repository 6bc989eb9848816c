import type { UploadView } from "../core/extras/files/uploads.ts";
import type { FileParts } from "./late-parts.ts";
import { send } from "./send-file.ts";
import { type Bytes, counted, type TransferOptions } from "./transfer.ts";
import type { Transport } from "./transport.ts";

/** A file to send. */
export type UploadSource = Blob | ArrayBuffer | ArrayBufferView | AsyncIterable<Uint8Array>;

/** Facts about a file to send. */
export interface NewFile {
  /** Media type. Default: that of the `Blob`, else `application/octet-stream`. */
  contentType?: string | undefined;
  /** Name for the handler. Default: that of the `File`, else none. */
  fileName?: string | undefined;
  /** Size in bytes. Required for a stream; otherwise the size of the source. */
  sizeBytes?: number | undefined;
  /** SHA-256 of the bytes, 64 hexadecimal digits. The file store then refuses other bytes. */
  sha256?: string | undefined;
}

/**
 * A result that is read as a stream. Only one of `body` and the methods can be used, once. React Native has the whole
 * file before the call resolves: there, the methods work, and `body` throws a TypeError.
 */
export interface Download extends Pick<Response, "arrayBuffer" | "blob" | "text" | "json"> {
  /** Name of the file; `result` when it has none. */
  readonly name: string;
  /** Media type. */
  readonly type: string;
  /** Size in bytes. Undefined: the answer does not say it. */
  readonly size: number | undefined;
  readonly body: ReadableStream<Bytes>;
}

/** Announces a file and sends it. Returns the id of the upload. */
export function upload(
  parts: FileParts,
  transport: Transport,
  source: UploadSource,
  { contentType, fileName, sizeBytes, sha256 }: NewFile = {},
  { onProgress, ...options }: TransferOptions = {},
): Promise<string> {
  const body = isStream(source) ? source : source instanceof Blob ? source : new Blob([source as Bytes]);
  const size = body instanceof Blob ? body.size : sizeBytes;
  if (size === undefined) throw new TypeError("sizeBytes: expected the size of the stream");
  const file = {
    content_type: contentType ?? ((body as Blob).type || "application/octet-stream"),
    file_name: fileName ?? (body as File).name,
    size_bytes: size,
    sha256,
  };
  const [within] = parts;
  return within(options, async (signal) => {
    const announced = await transport.post<UploadView>("/uploads", file, { signal });
    await send({ parts, transport, announced, body, size, onProgress, signal });
    return announced.upload_id;
  });
}

const isStream = (source: UploadSource): source is AsyncIterable<Uint8Array> => Symbol.asyncIterator in source;

/** Opens a result. */
export function download(
  parts: FileParts,
  transport: Transport,
  path: string,
  { onProgress, ...options }: TransferOptions = {},
): Promise<Download> {
  const [within] = parts;
  return within(options, (signal) =>
    open(parts, transport, path, signal, async (response) => {
      const { type, disposition, size } = factsOf(response);
      const stream = response.body ? counted(response.body, size, onProgress, options.signal) : undefined;
      const whole = stream ? new Response(stream, { headers: { "content-type": type } }) : response;
      return {
        name: fileNameIn(disposition ?? ""),
        type,
        size,
        get body() {
          return stream ?? streamOf(response);
        },
        arrayBuffer: () => whole.arrayBuffer(),
        blob: () => whole.blob(),
        text: () => whole.text(),
        json: () => whole.json(),
      };
    }),
  );
}

/** A stream of an answer whose runtime gives none. @throws TypeError where there are no streams */
function streamOf(response: Response): ReadableStream<Bytes> {
  if (typeof ReadableStream === "undefined") {
    throw new TypeError("this runtime has no streams; read the file with blob(), arrayBuffer() or text()");
  }
  return new ReadableStream({
    async start(controller) {
      const bytes = new Uint8Array(await response.arrayBuffer());
      if (bytes.byteLength > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
}

/** Reads a result that the status answer does not contain: a JSON value, or a `File`. */
export function storedResult(
  parts: FileParts,
  transport: Transport,
  path: string,
  signal: AbortSignal,
): Promise<unknown> {
  return open(parts, transport, path, signal, async (response) => {
    const { type, disposition } = factsOf(response);
    if (disposition === null && /^application\/json\b/.test(type)) return response.json();
    return new File([await response.blob()], fileNameIn(disposition ?? ""), { type });
  });
}

/**
 * Reads a result's answer, wherever it is. The place that an answer of 303 names is asked without the key. A replica of
 * the table can be behind the end, so that the answer is 202: not yet.
 */
async function open<T>(
  parts: FileParts,
  transport: Transport,
  path: string,
  signal: AbortSignal,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const [, sleep, , retryAfterOf] = parts;
  let redirect: "manual" | undefined = "manual";
  for (;;) {
    const request = {
      path,
      redirect,
      read: async (response: Response) => {
        if (response.status === 202) return { waitMs: (retryAfterOf(response) ?? 1) * 1000 };
        if (response.type === "opaqueredirect") return { waitMs: 0 };
        return {
          value: await read(response.status === 303 ? await follow(parts, transport, response, signal) : response),
        };
      },
    };
    const answer: { waitMs: number } | { value: T } = await transport.call(request, { signal });
    if ("value" in answer) return answer.value;
    // Browsers do not tell a page where a redirect leads. They follow it themselves, and keep the key from other
    // origins.
    if (answer.waitMs === 0) redirect = undefined;
    await sleep(answer.waitMs, signal);
  }
}

async function follow(
  [, , , , Failure]: FileParts,
  { fetch }: Transport,
  { headers, url }: Response,
  signal: AbortSignal,
): Promise<Response> {
  const place = new URL(headers.get("location") ?? "", url || undefined);
  const response = await fetch(place.href, { cache: "no-store", credentials: "omit", signal });
  if (response.ok) return response;
  throw new Failure(`${place.host} answered ${response.status} for the result`);
}

function factsOf({ headers }: Response) {
  const size = headers.get("content-length");
  return {
    type: headers.get("content-type") ?? "",
    disposition: headers.get("content-disposition"),
    size: size === null || headers.has("content-encoding") ? undefined : Number(size),
  };
}

/** Name of a file: the complete one of RFC 8187 when there is one. */
function fileNameIn(disposition: string): string {
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1];
  if (encoded !== undefined) return decodeURIComponent(encoded);
  return /filename="([^"]+)"/.exec(disposition)?.[1] ?? "result";
}
