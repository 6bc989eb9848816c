import { NodeHttpHandler } from "@smithy/node-http-handler";
import { nextTry, timeLeftMs } from "../call-times.ts";
import { BoundedHttpHandler, named, tooSlow, wholeBody } from "../http-handler.ts";

type Handle = NodeHttpHandler["handle"];
type Request = Parameters<Handle>[0];
type Options = NonNullable<Parameters<Handle>[1]>;

const connectionTimeout = 2_000;

/**
 * S3 puts the parts of an upload together before it answers. Time without a byte that this may take, in milliseconds.
 */
const assemblyMs = 60_000;

/**
 * Sends requests to S3. Bytes may flow for as long as the invocation may run, and a stall ends a try: a bound for the
 * whole call would cut large bodies. Requests without bytes end within the time of one try, like those to other
 * services.
 */
export class S3HttpHandler extends BoundedHttpHandler {
  readonly #uploads: NodeHttpHandler;
  readonly #assemblies = new NodeHttpHandler({ connectionTimeout, socketTimeout: assemblyMs });
  readonly #downloads = new NodeHttpHandler({ connectionTimeout, socketTimeout: 0 });

  /** @param stallMs A try of an upload ends when no byte has moved for this time, in milliseconds. */
  constructor(stallMs: number) {
    super();
    this.#uploads = new NodeHttpHandler({ connectionTimeout, socketTimeout: stallMs });
  }

  override handle(request: Request, options: Options = {}): ReturnType<Handle> {
    const { method, query = {} } = request;
    if (method === "GET") return this.#download(request, options);
    if (method === "PUT")
      return within(allThatIsLeft(), (signal) => this.#uploads.handle(request, { ...options, ...signal }));
    if (method === "POST" && "uploadId" in query) {
      return within(allThatIsLeft(), (signal) => this.#assemblies.handle(request, { ...options, ...signal }));
    }
    return super.handle(request, options);
  }

  override destroy(): void {
    for (const handler of [this.#uploads, this.#assemblies, this.#downloads]) handler.destroy();
    super.destroy();
  }

  /** The answer must begin within the time of one try. The reader bounds the waits for the bytes of an object. */
  #download(request: Request, options: Options): ReturnType<Handle> {
    return within(nextTry(), async (signal) => {
      const { response } = await this.#downloads.handle(request, { ...options, ...signal });
      if (response.statusCode >= 300) response.body = await wholeBody(response.body as AsyncIterable<Buffer>);
      return { response };
    });
  }
}

/** The longest wait of a Node timer. A longer one would end immediately. */
const longestTimerMs = 2 ** 31 - 1;

const allThatIsLeft = () => ({ ms: timeLeftMs(), isLast: true });

/** @throws OutOfTime when there is no time; TimeoutError or OutOfTime after `ms` */
async function within<T>(
  { ms, isLast }: ReturnType<typeof nextTry>,
  work: (signal: { abortSignal: AbortSignal }) => Promise<T>,
): Promise<T> {
  if (ms <= 0) throw named("OutOfTime", "there was no time left for another try");
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), Math.min(ms, longestTimerMs));
  try {
    return await work({ abortSignal: abort.signal });
  } catch (error) {
    throw abort.signal.aborted ? tooSlow(ms, isLast, error) : error;
  } finally {
    clearTimeout(timer);
  }
}
