/** The wait of a suspended attempt. */
export type WaitingFor =
  /** For a time. */
  | { kind: "sleep"; until: string }
  /** For one of these signals, at most until then. */
  | { kind: "signal"; signals: string[]; until: string };

/** The end of an attempt that goes on later, as the same attempt. */
export interface Suspension {
  /** Epoch milliseconds at which it goes on. */
  dueAt: number;
  /** Undefined: it waits for nothing, and goes on as soon as a worker is free. */
  waitingFor?: WaitingFor;
}
