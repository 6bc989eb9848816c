import { iso, type TaskKey, type TaskRecord } from "../model/record.ts";
import type { Clock, Records } from "../ports/tasks.ts";

/*
 * The speed of an operation that starts tasks again. Whatever made them fail may still be there, or come back under
 * their load: without a rate of the operator's an operation begins slowly, and becomes faster only while tasks that it
 * has started complete.
 */

/** The first rate, in tasks a second. It is doubled after this time, if a task has completed in it. */
const firstPerSecond = 10;
const doubleAfterMs = 10_000;

/**
 * Time between two looks at tasks that were started, in milliseconds. A look reads a part, and the records of a sample
 * at once.
 */
const lookEveryMs = 2_000;

/** Number of started tasks whose attempts are looked at. When all of them failed again, the operation stops. */
export const sampleSize = 20;

interface SpeedPorts {
  readonly clock: Clock;
  readonly records: Pick<Records, "getMany" | "loadPart">;
}

/** The part of an operation that has the rate to which an operator changed it. */
export const ratePart = "operation_rate";

/** A task that was started, and has not ended an attempt since. */
interface Sample {
  readonly key: TaskKey;
  readonly startedAt: string;
}

export class Speed {
  readonly #ports: SpeedPorts;
  readonly #operation: TaskKey;
  readonly #signal: AbortSignal;
  /** False: of an operation that starts no tasks, whose tasks are not looked at. */
  readonly #startsTasks: boolean;
  /** Tasks a second. Undefined: no limit. */
  #perSecond: number | undefined;
  /** True while the rate is the operation's own. */
  #isSlow: boolean;
  #nextFreeMs = 0;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #doubledAtMs: number;
  #waiting: Sample[] = [];
  /** Of the last tasks that ended an attempt: true for a completed one. */
  #verdicts: boolean[] = [];
  #hasCompleted = false;

  constructor(ports: SpeedPorts, operation: TaskKey, how: SpeedOptions) {
    this.#ports = ports;
    this.#operation = operation;
    this.#signal = how.signal;
    this.#startsTasks = how.startsTasks;
    this.#isSlow = how.startsTasks && how.perSecond === undefined;
    this.#perSecond = this.#isSlow ? firstPerSecond : how.perSecond;
    this.#doubledAtMs = ports.clock.now();
  }

  /**
   * Waits for a task's turn, at least 1/rate seconds after the one before. Unused time is not saved up, so that no
   * second has more than the rate. When the signal fires, throws its reason.
   */
  async turn(): Promise<void> {
    if (this.#perSecond === undefined) return;
    const now = this.#ports.clock.now();
    const at = Math.max(now, this.#nextFreeMs);
    this.#nextFreeMs = at + Math.ceil(1000 / this.#perSecond);
    if (at > now) await pause(this.#ports.clock, at - now, this.#signal);
  }

  /** Notes a task that was started. */
  started(key: TaskKey): void {
    if (!this.#startsTasks || this.#waiting.length >= sampleSize) return;
    this.#waiting.push({ key, startedAt: iso(this.#ports.clock.now()) });
  }

  /**
   * Looks at what became of the started tasks, and for another rate of an operator, when it is time to.
   * @returns True: the last ones all failed again.
   */
  async look(): Promise<boolean> {
    const now = this.#ports.clock.now();
    if (!this.#startsTasks || now - this.#lookedAtMs < lookEveryMs) return false;
    this.#lookedAtMs = now;
    await this.#readRate();
    await this.#judge();
    if (this.#verdicts.length === sampleSize && !this.#verdicts.includes(true)) return true;
    if (this.#isSlow && this.#hasCompleted && now - this.#doubledAtMs >= doubleAfterMs) {
      this.#perSecond = (this.#perSecond ?? firstPerSecond) * 2;
      this.#doubledAtMs = now;
      this.#hasCompleted = false;
    }
    return false;
  }

  async #readRate(): Promise<void> {
    const asked = (await this.#ports.records.loadPart(this.#operation, ratePart)) as
      | { readonly per_second: number }
      | undefined;
    if (asked === undefined) return;
    this.#perSecond = asked.per_second;
    this.#isSlow = false;
  }

  async #judge(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const samples = this.#waiting;
    const records = await this.#ports.records.getMany(samples.map(({ key }) => key));
    const verdicts = samples.map(({ startedAt }, at) => verdictOf(records[at], startedAt));
    this.#waiting = samples.filter((_, at) => verdicts[at] === "none yet");
    const known = verdicts.filter((verdict) => typeof verdict === "boolean");
    this.#hasCompleted ||= known.includes(true);
    this.#verdicts = [...this.#verdicts, ...known].slice(-sampleSize);
  }
}

interface SpeedOptions {
  readonly perSecond: number | undefined;
  readonly startsTasks: boolean;
  readonly signal: AbortSignal;
}

/** Undefined: the task is gone, or was cancelled. */
function verdictOf(record: TaskRecord | undefined, startedAt: string): boolean | "none yet" | undefined {
  if (record === undefined || record.status === "cancelled") return undefined;
  const attempt = record.history.findLast(({ finished_at: finishedAt }) => finishedAt >= startedAt);
  return attempt === undefined ? "none yet" : attempt.outcome === "completed";
}

/** Waits for `ms` milliseconds of the clock. When the signal fires, throws its reason immediately. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      stop();
      reject(signal.reason);
    };
    const stop = clock.after(ms, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
