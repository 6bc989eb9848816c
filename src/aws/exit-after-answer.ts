import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ClientRequest } from "node:http";

/** Node publishes here that the answer to a request of this process has arrived. */
const channel = "http.client.response.finish";

/** Path of the runtime's request that hands an answer to Lambda. */
const answerPath = /\/runtime\/invocation\/[^/]+\/(response|error)$/;

/**
 * Ends this process of a function when Lambda has its present answer: the next invocation gets a new one. An earlier
 * end would lose the answer, and a later one the next invocation.
 */
export function exitAfterAnswer(exit: () => void = () => process.exit(1)): void {
  const onFinish = (message: unknown) => {
    const { request } = message as { request: ClientRequest };
    if (!answerPath.test(request.path)) return;
    unsubscribe(channel, onFinish);
    exit();
  };
  subscribe(channel, onFinish);
}
