import type { StepOwner } from "./steps.ts";

/** A link that sends one signal to one task, without a key. */
export interface SignalLink extends StepOwner {
  /** Name of the signal. */
  name: string;
  /** JSON Schema of the signal's body, as JSON. Absent: any JSON. */
  schema?: string;
}

/**
 * Links, by the hashes of their secrets. All methods throw `PortUnavailable`. Contract suite:
 * `test/contract/signal-links.ts`.
 */
export interface SignalLinks {
  create(secretHash: string, link: SignalLink, expiresAtMs: number): Promise<void>;
  /** Returns a link before its end. */
  find(secretHash: string, nowMs: number): Promise<SignalLink | undefined>;
}
