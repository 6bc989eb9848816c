import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { preferredWait } from "../../api/http/prefer.ts";
import { Bounded } from "../lambda/bounded.ts";

/**
 * Submits that run at the same time, at most: one process has all functions and the emulators, so more would end no
 * earlier, and the calls of workers would wait for all of them.
 */
const maxRunning = 3;

/** The requests that submit tasks, and are not answered yet: their messages are about to come. */
export class Submits {
  readonly #calls = new Bounded(maxRunning);

  /** Number of requests that wait or run. */
  get open(): number {
    return this.#calls.open;
  }

  /** Calls the function for a request when fewer than three submits run; at once for any other request. */
  run<Answer>(event: APIGatewayProxyEventV2, call: () => Promise<Answer>): Promise<Answer> {
    return isSubmit(event) ? this.#calls.run(call) : call();
  }
}

/** False for a submit that waits for the end of its task. */
function isSubmit({ rawPath, requestContext, headers, queryStringParameters }: APIGatewayProxyEventV2): boolean {
  const waits = queryStringParameters?.wait !== undefined || preferredWait(headers.prefer ?? "") !== undefined;
  return requestContext.http.method === "POST" && /^\/tasks(\/batch)?$/.test(rawPath) && !waits;
}
