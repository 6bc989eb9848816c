import { AsyncLocalStorage } from "node:async_hooks";
import type { Context } from "aws-lambda";
import type { CallTime } from "../core/control/task-ends.ts";
import { localServicesVariable } from "./local-services.ts";

/** Times for calls to AWS, in milliseconds. */
interface CallTimes {
  /** Of one try, until the whole answer has arrived. */
  readonly tryMs: number;
  /** Of a call with all its tries. */
  readonly callMs: number;
}

/** For functions that a client waits for: a write that undoes a failed request still fits in. */
const shortTimes: CallTimes = { tryMs: 2_500, callMs: 4_000 };

/**
 * For all other code. A try is longer than the longest wait for messages of a DLQ, 4 s. A call ends before a worker
 * gives up a claim (`beginSeconds` in `src/core/pipeline/work/batch-plan.ts`).
 */
const usualTimes: CallTimes = { tryMs: 5_000, callMs: 9_000 };

/** Time that the authorizer has to answer, in milliseconds. The gateway calls it before the request's function. */
export const authorizerMs = 2_500;

/**
 * Time that the API's functions have to answer: with the authorizer's time, a client has an answer within ten seconds.
 */
export const apiMs = 6_000;

/** Time that a batch of submits has, in milliseconds: the function is stopped after 15 s. */
const batchMs = 12_000;

/**
 * The local server plays AWS on the developer's machine. A slow answer there is a busy machine, and never a reason to
 * give up.
 */
const localFactor = 20;

/**
 * The times of present calls, as a multiple of those of a deployment. Contract suites set one, as an emulator may be
 * slow.
 */
export const callTimeFactor = (env: NodeJS.ProcessEnv = process.env): number =>
  Number(env.OFFLOAD_CALL_TIME_FACTOR ?? (env[localServicesVariable] === undefined ? 1 : localFactor));

/** Times that end `ms` milliseconds from now. */
function presentOf({ tryMs, callMs }: CallTimes, ms: number): Present {
  const factor = callTimeFactor();
  return { tryMs: tryMs * factor, callMs: callMs * factor, untilMs: Date.now() + ms };
}

/** Runs AWS calls that end within `ms` milliseconds from now, whatever time the present request has left. */
const within = <T>(ms: number, work: () => Promise<T>): Promise<T> =>
  store.run(presentOf(shortTimes, ms * callTimeFactor()), work);

/**
 * Runs the AWS calls of a batch of submits, for which a client waits, with more time together than other requests have.
 */
export const asBatch = <T>(work: () => Promise<T>): Promise<T> => within(batchMs, work);

/** Work in this context belongs to no request: neither to its time nor to its span. */
const apart = AsyncLocalStorage.snapshot();

/** Time for the calls of requests that wait for longer than `apiMs`. */
export const callTime: CallTime = { within, apart: (work) => apart(work) };

/** Calls end this long before Lambda stops a function. */
const stopMarginMs = 2_000;

/** The present call, or the present invocation. `untilMs`: epoch milliseconds at which all calls must have ended. */
type Present = CallTimes & {
  readonly untilMs: number;
  readonly signal?: AbortSignal;
  /** The time is that of one call already. */
  readonly isOneCall?: true;
};

const store = new AsyncLocalStorage<Present>();
const present = (): Present => store.getStore() ?? presentOf(usualTimes, Number.POSITIVE_INFINITY);

/** Wraps a handler that a client waits for. All its calls to AWS end within `ms` milliseconds from its start. */
export const answersWithin =
  <Args extends unknown[], Answer>(ms: number, handler: (...args: Args) => Answer) =>
  (...args: Args): Answer =>
    store.run(presentOf(shortTimes, ms * callTimeFactor()), () => handler(...args));

/** Wraps a handler without a waiting client. All its calls to AWS end before Lambda stops the function. */
export const endsInTime =
  <Event, Answer>(handler: (event: Event, context: Context) => Answer) =>
  (event: Event, context: Context): Answer => {
    const ms = context.getRemainingTimeInMillis() - stopMarginMs;
    return store.run(presentOf(usualTimes, ms), () => handler(event, context));
  };

/**
 * Runs a call that the service may answer up to `waitMs` milliseconds later than others, such as a long poll.
 * @param signal Ends the call when it aborts.
 */
export function waiting<T>(waitMs: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const { tryMs, callMs, untilMs } = present();
  return store.run({ tryMs: tryMs + waitMs, callMs: callMs + waitMs, untilMs, signal }, work);
}

/** Bounds the time of work to that of one call, also when it makes several. */
export function asOneCall<T>(work: () => Promise<T>): Promise<T> {
  const now = present();
  if (now.isOneCall) return work();
  const untilMs = Math.min(now.untilMs, Date.now() + now.callMs);
  return store.run({ ...now, untilMs, isOneCall: true }, work);
}

/** Bounds the time of each of a client's calls, with all its tries. */
export function boundedCalls<Client extends { send: (...args: never[]) => Promise<unknown> }>(client: Client): Client {
  const send = client.send.bind(client) as (...args: unknown[]) => Promise<unknown>;
  return Object.assign(client, { send: (...args: unknown[]) => asOneCall(() => send(...args)) });
}

/** Ends the present call when it aborts. Undefined: only its time ends it. */
export const callSignal = (): AbortSignal | undefined => present().signal;

/** Time in milliseconds that the present call has left. */
export const timeLeftMs = (): number => present().untilMs - Date.now();

/**
 * Time in milliseconds for the next try; 0 or less: the call has no time left. `isLast`: the call ends with this try. A
 * clock that is read after the try cannot tell, as a timer may end a few milliseconds early.
 */
export function nextTry(): { readonly ms: number; readonly isLast: boolean } {
  const { tryMs } = present();
  const leftMs = timeLeftMs();
  return { ms: Math.min(tryMs, leftMs), isLast: leftMs <= tryMs };
}
