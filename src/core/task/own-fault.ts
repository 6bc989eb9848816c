import {
  AttemptCancelled,
  AttemptCrashed,
  Misuse,
  PortUnavailable,
  RetryAfter,
  TaskError,
  WorkerStopping,
} from "../model/errors.ts";
import { Problem } from "../model/problem.ts";

/** Wraps what a function of the author threw within a call of the context: it is the handler's, whatever it is. */
class Thrown {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** The error of a function of the author within a call of the context. Undefined: it threw none. */
export const thrownBy = (error: unknown): Thrown | undefined => (error instanceof Thrown ? error : undefined);

/** Makes a function of the author whose error the handler gets. What is no function is for the call to refuse. */
export const byAuthor = <Given extends unknown[], T>(
  run: (...given: Given) => Promise<T> | T,
): ((...given: Given) => Promise<T>) =>
  typeof run !== "function"
    ? run
    : async (...given) => {
        try {
          return await run(...given);
        } catch (error) {
          throw new Thrown(error);
        }
      };

/** Failures of these kinds say that Offload could not do its part: no worker, no lease, no other release. */
const ownKinds: ReadonlySet<string> = new Set(["unavailable", "crashed", "transient"]);

/**
 * True for an error of a call of the context that says nothing about the call: the table, a queue or the bucket does
 * not answer, the lease is lost, another attempt has the key of `once`, or this worker has another release.
 */
function isOwn(error: unknown): boolean {
  if (error instanceof RetryAfter) return error.cause instanceof Problem && error.cause.code === "unavailable";
  if (error instanceof TaskError) return ownKinds.has(error.kind);
  return ![Misuse, AttemptCancelled, WorkerStopping].some((theirs) => error instanceof theirs);
}

/** True for an error of a port or of the lease, also where no call of the context made it. */
export const isOwnEnd = (error: unknown): boolean =>
  error instanceof PortUnavailable || error instanceof AttemptCrashed;

/** Passes on the answer of a call of Offload's own parts, and those of its errors that are for the handler. */
export type ForHandler = <T>(answer: Promise<T>) => Promise<T>;

/**
 * Where Offload's own parts fail, the attempt ends: nothing that a handler catches is ours. The promise stays open.
 * @param lost Ends the attempt.
 */
export const forHandler =
  (lost: (error: unknown) => void): ForHandler =>
  async (answer) => {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof Thrown) throw error.error;
      if (!isOwn(error)) throw error;
      lost(error);
      return new Promise<never>(() => {});
    }
  };

/** Each value of `from`, as `forHandler` passes answers on. */
export async function* eachForHandler<T>(from: AsyncIterable<T>, forHandler: ForHandler): AsyncGenerator<T> {
  const values = from[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await forHandler(values.next());
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await values.return?.();
  }
}
