import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { preferredWait } from "../../http/prefer.ts";

/**
 * Submits that run at the same time, at most: one process has all functions and the emulators, so more would end no
 * earlier, and the calls of workers would wait for all of them.
 */
const mostRunning = 3;

/** The requests that submit tasks, and are not answered yet: their messages are about to come. */
export class Submits {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** Number of requests that wait or run. */
  get open(): number {
    return this.#running + this.#waiting.length;
  }

  /** Calls the function for a request when fewer than three submits run; at once for any other request. */
  async run<Answer>(event: APIGatewayProxyEventV2, call: () => Promise<Answer>): Promise<Answer> {
    if (!isSubmit(event)) return call();
    if (this.#running >= mostRunning) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#running += 1;
    try {
      return await call();
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }
}

/** False for a submit that waits for the end of its task. */
function isSubmit({ rawPath, requestContext, headers, queryStringParameters }: APIGatewayProxyEventV2): boolean {
  const waits = queryStringParameters?.wait !== undefined || preferredWait(headers.prefer ?? "") !== undefined;
  return requestContext.http.method === "POST" && /^\/tasks(\/batch)?$/.test(rawPath) && !waits;
}
