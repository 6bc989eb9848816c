import { nextTry, timeLeftMs } from "../call-times.ts";
import { answerOf, BoundedHttpHandler, type WireRequest, wholeBody } from "../http-handler.ts";

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
  readonly #stallMs: number;

  /** @param stallMs A try of an upload ends when no byte has moved for this time, in milliseconds. */
  constructor(stallMs: number) {
    super();
    this.#stallMs = stallMs;
  }

  override async handle(request: WireRequest): ReturnType<BoundedHttpHandler["handle"]> {
    const { method, query = {} } = request;
    if (method === "GET") return this.#download(request);
    if (method === "PUT") return this.#transfer(request, this.#stallMs);
    if (method === "POST" && "uploadId" in query) return this.#transfer(request, assemblyMs);
    return super.handle(request);
  }

  #transfer(request: WireRequest, stallMs: number): ReturnType<BoundedHttpHandler["handle"]> {
    const bounds = { ms: timeLeftMs(), isLast: true, stallMs };
    return this.try(request, bounds, async (answer) => answerOf(answer, await wholeBody(answer)));
  }

  /** The answer must begin within the time of one try. The reader bounds the waits for the bytes of an object. */
  #download(request: WireRequest): ReturnType<BoundedHttpHandler["handle"]> {
    return this.try(request, nextTry(), async (answer) => {
      const isObject = (answer.statusCode ?? 0) < 300;
      return answerOf(answer, isObject ? answer : await wholeBody(answer));
    });
  }
}
