import type { APIGatewayProxyStructuredResultV2, Context } from "aws-lambda";

/** Largest event and largest answer of a Lambda function, in bytes of JSON: the limit in Lambda's own error message. */
const largestPayloadBytes = 6_291_556;

/** A Lambda function that answers requests. */
export type HttpHandler = (event: never, context: Context) => Promise<APIGatewayProxyStructuredResultV2>;

/** Time limits of an invocation, in milliseconds. */
export interface InvocationLimits {
  /** Time-out of the function. */
  functionMs: number;
  /** Longest wait of API Gateway for a function. */
  integrationMs: number;
}

/** An invocation without a usable answer. */
export class InvocationFailed extends Error {
  /** Status with which API Gateway answers. */
  readonly status: 500 | 503;

  constructor(status: 500 | 503, message: string) {
    super(message);
    this.name = "InvocationFailed";
    this.status = status;
  }
}

/**
 * Invokes a function within the limits of Lambda and API Gateway. In AWS a function that exceeds its time-out is ended;
 * here it continues, but its answer is ignored.
 * @param name The function's name, for messages.
 * @throws InvocationFailed when a limit is exceeded; the function's own error
 */
export async function invoke<Answer>(
  name: string,
  handler: (event: never, context: Context) => Promise<Answer>,
  event: object,
  { functionMs, integrationMs }: InvocationLimits,
): Promise<Answer> {
  const deadlineMs = Date.now() + functionMs;
  const context = { functionName: name, getRemainingTimeInMillis: () => deadlineMs - Date.now() } as Context;
  const waitMs = Math.min(functionMs, integrationMs);
  const answer = await within(waitMs, handler(event as never, context));
  if (answer === undefined) {
    const seconds = waitMs / 1000;
    throw functionMs <= integrationMs
      ? new InvocationFailed(500, `The function ${name} did not end within its time-out of ${seconds} s.`)
      : new InvocationFailed(
          503,
          `The function ${name} did not answer within the ${seconds} s that API Gateway waits.`,
        );
  }
  if (!isTooLarge(answer)) return answer;
  throw new InvocationFailed(
    500,
    `The answer of the function ${name} has ${payloadBytes(answer)} bytes; Lambda accepts at most ${largestPayloadBytes}.`,
  );
}

/** Size of an event or an answer as Lambda counts it. */
const payloadBytes = (payload: unknown): number => Buffer.byteLength(JSON.stringify(payload) ?? "");

/** A body of so many characters fits: each has at most six bytes in JSON, and headers have at most 16 KiB. */
const surelyFits = 1_000_000;

/** True for an event or an answer that Lambda refuses for its size. */
export function isTooLarge(payload: unknown): boolean {
  const { body } = (payload ?? {}) as { body?: unknown };
  const isShort = typeof body === "string" && body.length <= surelyFits;
  return !isShort && payloadBytes(payload) > largestPayloadBytes;
}

/** Returns the result of some work, or undefined when it takes longer. */
async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  if (ms === Number.POSITIVE_INFINITY) return work;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
