import { InvokeCommand, LambdaClient } from "#aws-sdk/client-lambda";
import type { Log } from "../core/ports/tasks.ts";
import { boundedCalls, callTime, timeLeftMs } from "./call-times.ts";
import { BoundedHttpHandler } from "./http-handler.ts";

/**
 * A process calls the function at most once in this time, in milliseconds. A container that has started stays for
 * longer.
 */
const quietMs = 60_000;

/** Time that a sender gives the call, in milliseconds. */
const callMs = 1_500;

/** Parts of a wake that tests replace. */
interface WakeParts {
  /** Starts the function without waiting for its end. */
  readonly invoke: (functionName: string) => Promise<unknown>;
  readonly now: () => number;
}

/**
 * Returns a function to call after each message to a queue of container workers. It starts the function that starts a
 * container when none runs (`lambdas/wake.ts`): CloudWatch has the metrics of an idle queue up to 15 minutes late, so
 * scaling alone would let the first task wait. It never throws: after an error the next message tries again, and the
 * scaling follows the backlog in any case.
 */
export function containerWaker(
  functionName: string,
  log: Log,
  { invoke, now }: WakeParts = { invoke: invoker(), now: Date.now },
): () => Promise<void> {
  let quietUntil = 0;
  let calling: Promise<void> | undefined;
  const call = async (): Promise<void> => {
    try {
      await callTime.within(Math.min(callMs, timeLeftMs()), () => invoke(functionName));
      quietUntil = now() + quietMs;
    } catch (error) {
      const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      log.warn("could not start the function that wakes container workers; the scaling starts one within minutes", {
        error: text,
      });
    } finally {
      calling = undefined;
    }
  };
  return () => {
    if (now() < quietUntil) return Promise.resolve();
    calling ??= call();
    return calling;
  };
}

function invoker(): WakeParts["invoke"] {
  const client = boundedCalls(new LambdaClient({ maxAttempts: 1, requestHandler: new BoundedHttpHandler() }));
  return (FunctionName) => client.send(new InvokeCommand({ FunctionName, InvocationType: "Event" }));
}
