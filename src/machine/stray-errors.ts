import { strayReceiver } from "../core/task/ambient.ts";

/** Events of a process for errors that no code has caught. */
const events = ["unhandledRejection", "uncaughtException"] as const;

type Listener = (error: unknown, ...more: unknown[]) => void;

export interface StrayOptions {
  /**
   * Takes an error that belongs to no attempt. Absent: the listeners from before get it; without any, the process ends
   * with it.
   */
  own?(error: unknown): void;
  /**
   * Called after an exception that no code has caught, also of a package: the state of the process is not to be
   * trusted.
   */
  onException?(): void;
}

/**
 * Hands each error that no code of this process has caught to the attempt whose code threw it: Node runs the events
 * with the ambient context of their origin. The listeners from before get no such error: in Lambda, they end the
 * process and with it the other attempts.
 * @returns Puts the listeners from before back.
 */
export function catchStrayErrors({ own, onException = () => {} }: StrayOptions): () => void {
  const releases = events.map((event) => {
    const earlier = process.listeners(event as "uncaughtException") as Listener[];
    const pass = own ?? ((error: unknown, ...more: unknown[]) => passOn(earlier, event, error, more));
    const listener: Listener = (error, ...more) => {
      if (event === "uncaughtException") onException();
      const receive = strayReceiver();
      if (receive === undefined) pass(error, ...more);
      else receive(error);
    };
    process.removeAllListeners(event);
    process.on(event, listener);
    return () => {
      process.off(event, listener);
      for (const one of earlier) process.on(event, one);
    };
  });
  return () => {
    for (const release of releases) release();
  };
}

function passOn(earlier: readonly Listener[], event: string, error: unknown, more: readonly unknown[]): void {
  // As Node does without a listener.
  if (earlier.length === 0) throw error;
  for (const one of earlier) one.call(process, error, ...(event === "uncaughtException" ? [event] : more));
}
