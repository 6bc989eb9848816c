import { AsyncLocalStorage } from "node:async_hooks";
import { sharedByAllCopies } from "../../util/copies.ts";
import { PermanentError } from "../model/errors.ts";
import type { TaskContext, TaskIdentity } from "./context.ts";
import type { Redact } from "./handler-log.ts";

/** A step, or an effect of `once`, whose function runs. */
interface Within {
  kind: "step" | "once";
  name: string;
}

/** The attempt to which code belongs. */
export interface Ambient {
  /** Undefined: its handler has not started. */
  context?: TaskContext;
  isOpen(): boolean;
  /**
   * Takes an error that the code threw where nobody could catch it: in a timer, in a listener, in a promise that nobody
   * awaits.
   */
  stray(error: unknown): void;
  /** Removes what a sensitive type keeps secret from a text. Undefined: the type is not sensitive. */
  redact?: Redact;
  /** The steps and the effects within which the code runs, outermost first. */
  within?: readonly Within[];
  /** True for what Offload does itself for the attempt. */
  own?: true;
}

const storage = sharedByAllCopies("attempt", () => new AsyncLocalStorage<Ambient>());

/** Returns the redaction of the sensitive type whose handler this code is; undefined for every other code. */
export const currentRedaction = (): Redact | undefined => storage.getStore()?.redact;

/** Returns the context of the attempt that this code runs in; undefined outside of an attempt, or after its end. */
export function currentTask(): TaskContext | undefined {
  const store = storage.getStore();
  return store?.isOpen() === true ? store.context : undefined;
}

/** Returns the attempt that this code runs in, open or not; undefined outside of an attempt. */
export const runningTask = (): TaskIdentity | undefined => storage.getStore()?.context;

/**
 * An expression whose value is the id of the task that the code runs in, for a debugger that has stopped this process.
 */
export const attemptExpression = 'globalThis[Symbol.for("offload.attempt")]?.getStore()?.context?.taskId';

/** Returns a function that returns true as long as the attempt that this code runs in is open. */
export const attemptIsOpen = (): (() => boolean) => storage.getStore()?.isOpen ?? (() => false);

/**
 * Returns a function that is true in the code of the attempt that this code runs in, but for its steps and effects,
 * which end with their calls.
 */
export function codeOfAttempt(): () => boolean {
  const isOpen = storage.getStore()?.isOpen;
  return () => {
    const now = storage.getStore();
    return now !== undefined && now.isOpen === isOpen && now.within === undefined && now.own !== true;
  };
}

/** Does something of Offload's own for an attempt, such as to start a timer: that is no work of its code. */
export function asOwnWork<T>(call: () => T): T {
  const store = storage.getStore();
  return store === undefined ? call() : storage.run({ ...store, own: true }, call);
}

/** Takes a stray error of the code that runs now. Undefined: the code belongs to no attempt. */
export const strayReceiver = (): ((error: unknown) => void) | undefined => storage.getStore()?.stray;

/**
 * Returns `traceHeaders()` of the attempt that this code runs in; no headers outside of an attempt. For shared HTTP
 * clients.
 */
export const traceHeaders = (): Record<string, string> => currentTask()?.traceHeaders() ?? {};

/** Runs `call`, and everything that it starts, as code of an attempt. */
export const runAmbient = <T>(ambient: Ambient, call: () => T): T => storage.run(ambient, call);

/** Runs `call`, and everything that it starts, with this ambient context, as long as the attempt is open. */
export const runInContext = <T>(context: TaskContext, call: () => T): T =>
  storage.run({ isOpen: () => false, stray: () => {}, ...storage.getStore(), context }, call);

/** Runs `call`, and everything that it starts, as code of no attempt. */
export const outsideAttempts = <T>(call: () => T): T => storage.exit(call);

/** Runs the function of a step or of an effect. */
export function runWithin<T>(within: Within, call: () => T): T {
  const store = storage.getStore();
  return store === undefined ? call() : storage.run({ ...store, within: [...(store.within ?? []), within] }, call);
}

const named = ({ kind, name }: Within): string => `${kind} ${JSON.stringify(name)}`;

/**
 * A call that ends the attempt would leave a step half done.
 * @throws PermanentError within the function of a step or of an effect of `once`
 */
export function mustBeOutside(what: string): void {
  const [outer] = storage.getStore()?.within ?? [];
  if (outer === undefined) return;
  throw new PermanentError(
    `${what} was called within ${named(outer)}, which it would leave half done: call it outside`,
  );
}

/** @throws PermanentError within the function of the same step or effect, which would wait for itself */
export function mustNotBeWithin({ kind, name }: Within): void {
  const within = storage.getStore()?.within ?? [];
  if (!within.some((one) => one.kind === kind && one.name === name)) return;
  throw new PermanentError(`${named({ kind, name })} was called within itself: it would wait for its own end`);
}
