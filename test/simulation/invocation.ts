import type { Tier } from "../../src/core/model/words.ts";
import type { Process } from "./scheduler.ts";

/** One call of one of the functions: the unit that holds leases, and whose port calls belong together. */
export interface Invocation {
  kind: "submit" | "control" | "worker" | "redrive" | "fire" | "notify";
  name: string;
  process: Process;
  /** The tier whose messages it works on. Absent: it is not a worker. */
  tier?: Tier;
  /** Whose request it serves, where it serves one. */
  tenantId?: string;
  /** What is to be submitted, as JSON, where a client submits. */
  input?: string;
  /** The same for each entry of a batch, by the fingerprint of its body. */
  inputs?: ReadonlyMap<string, string>;
  /** The mode and the longest wait of a client's submit with a unique key. */
  unique?: { mode: string; maxWaitSeconds: number | undefined };
  /** How far this process's clock is off, in milliseconds. */
  skewMs: number;
  /** True when its process has to end, as an attempt in it did not stop. */
  interrupted?: boolean;
  /** True when it has given its answer. */
  answered?: boolean;
  /** Until when trouble excuses slowness, in epoch milliseconds. */
  troubledUntil: number;
}
