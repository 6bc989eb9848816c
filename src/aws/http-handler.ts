import type { Agent } from "node:http";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { callSignal, callTimeFactor, nextTry, timeLeftMs } from "./call-times.ts";

type Handle = NodeHttpHandler["handle"];

/** Longest answer that is read, in bytes. DynamoDB's longest are 16 MB of items. */
const mostBytes = 40 * 1024 * 1024;

/** Sends a request, and reads the whole answer, within the time of one try. The SDK's clients and our own use it. */
export class BoundedHttpHandler extends NodeHttpHandler {
  constructor() {
    super({ connectionTimeout: 2_000 * callTimeFactor() });
  }

  /** The answer's body is a `Buffer`. No caller passes an abort signal: `callSignal` has it. */
  override async handle(request: Parameters<Handle>[0], options: Parameters<Handle>[1] = {}): ReturnType<Handle> {
    const cancelled = callSignal();
    if (cancelled?.aborted) throw named("AbortError", "the call is no longer needed");
    const { ms, isLast } = nextTry();
    if (ms <= 0) throw named("OutOfTime", "there was no time left for another try");
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), ms);
    const cancel = () => abort.abort();
    cancelled?.addEventListener("abort", cancel);
    try {
      const { response } = await super.handle(request, { ...options, abortSignal: abort.signal });
      response.body = await wholeBody(response.body as AsyncIterable<Buffer>);
      return { response };
    } catch (error) {
      if (!cancelled?.aborted) this.#endIdleConnections();
      throw abort.signal.aborted && !cancelled?.aborted ? tooSlow(ms, isLast, error) : error;
    } finally {
      cancelled?.removeEventListener("abort", cancel);
      clearTimeout(timer);
    }
  }

  /**
   * Ends the connections that no request uses, so that the next try opens one. Lambda freezes an idle environment, and
   * AWS closes its connections meanwhile: after the thaw each try would meet another dead one.
   */
  #endIdleConnections(): void {
    const { httpAgent, httpsAgent } = this.httpHandlerConfigs();
    for (const agent of [httpAgent, httpsAgent] as (Agent | undefined)[]) {
      for (const sockets of Object.values(agent?.freeSockets ?? {}))
        for (const socket of sockets ?? []) socket.destroy();
    }
  }
}

/** The clients' settings for requests: three tries, each with a bound. */
export const boundedTries = () => ({ maxAttempts: 3, requestHandler: new BoundedHttpHandler() });

/** Reads the body of an answer. @throws AnswerTooLarge */
export async function wholeBody(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > mostBytes) throw named("AnswerTooLarge", `the answer has more than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * The error of a try that took too long. The clients try again after a `TimeoutError`, but not after `OutOfTime`.
 * @param isLast True when the call ends with this try (`nextTry`).
 */
export const tooSlow = (ms: number, isLast: boolean, cause: unknown): Error =>
  named(!isLast && timeLeftMs() > 0 ? "TimeoutError" : "OutOfTime", `no complete answer came within ${ms} ms`, cause);

/** An error with a name by which the adapters recognize it. */
export const named = (name: string, message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { name });
