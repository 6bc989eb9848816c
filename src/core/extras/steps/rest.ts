import type { SuspendedFor } from "../../model/suspension.ts";
import type { Follow, Following } from "../../ports/notify.ts";
import type { Clock } from "../../ports/tasks.ts";
import { asOwnWork, codeOfAttempt } from "../../task/ambient.ts";

/** Pause between two looks at what the code has under way, in milliseconds. */
const lookMs = 250;

/** With less time than this until the attempt's time-out, in milliseconds, what may be over counts as over. */
const minMs = 1_000;

export interface RestPorts {
  clock: Clock;
  /** Loads what follows code, with the first wait. Absent: code has nothing under way but its calls. */
  loadFollow?: () => Promise<Follow>;
}

/** A call that ends the attempt until something happens. */
export interface OpenWait {
  /** Epoch milliseconds. */
  untilMs: number;
  /** Any of these ends it. */
  signals?: readonly string[];
  /** The child whose end ends it, and the way in which the record has such waits. */
  awaited?: { child: string; waitOf(waits: readonly OpenWait[]): SuspendedFor };
  /** The step that is tried again then. */
  step?: { name: string; attempt: number };
}

/**
 * Decides when an attempt may be suspended: when all of its open calls wait, and its code has nothing else under way.
 *
 * Code beside a wait is a call, as steps are; anything else is cut off. That changes with the first call that ends
 * while a wait is open: after a race the handler goes on, after one of all it does not. Only in this doubt its code is
 * followed.
 */
export class Rest {
  readonly #ports: RestPorts;
  readonly #onRest: (waits: readonly OpenWait[], continues: boolean) => void;
  /** Calls and other work under way, without the calls that wait. */
  #running = 0;
  /** Sleeps and waits under way, those included that have not looked at their entries yet. */
  #begun = 0;
  /** The calls that wait, and the stops of the timers that end them in this attempt. */
  readonly #waits = new Map<OpenWait, () => void>();
  #continues = false;
  #closed = false;
  #looks = false;
  #following: Following | undefined;
  #follow: Follow | undefined;
  #loading: Promise<void> | undefined;
  #remainingMs: () => number = () => Number.POSITIVE_INFINITY;

  /** @param onRest Suspends the attempt. Called once, and never after `close`. */
  constructor(ports: RestPorts, onRest: (waits: readonly OpenWait[], continues: boolean) => void) {
    this.#ports = ports;
    this.#onRest = onRest;
  }

  /** @param remainingMs Returns the time until the attempt times out. */
  open(remainingMs: () => number): void {
    this.#remainingMs = remainingMs;
  }

  /** Nothing suspends the attempt from now on. */
  close(): void {
    this.#closed = true;
    for (const stop of this.#waits.values()) stop();
    this.#endDoubt();
  }

  /** A call of the handler begins. Until it ends, or waits, nothing suspends the attempt. */
  begin(mayWait: boolean): void {
    this.#running += 1;
    if (!mayWait) return;
    this.#begun += 1;
    this.#loading ??= this.#load();
  }

  async #load(): Promise<void> {
    this.#follow = await this.#ports.loadFollow?.();
  }

  /** Before a call ends beside a wait, the code that then goes on can be followed. */
  async ready(): Promise<void> {
    if (this.#follow === undefined) await this.#loading;
  }

  end(mayWait: boolean): void {
    this.#running -= 1;
    if (mayWait) this.#begun -= 1;
    if (this.#begun === 0 || this.#closed) this.#endDoubt();
    else this.#following ??= this.#follow?.(codeOfAttempt());
    this.#consider();
  }

  /** Nothing suspends the attempt while a piece of work lasts. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.begin(false);
    try {
      return await work;
    } finally {
      await this.ready();
      this.end(false);
    }
  }

  /** Lets a step wait between two of its tries. */
  async pause(wait: OpenWait): Promise<void> {
    await this.ready();
    await this.wait(wait);
  }

  /** Resolves when the time of the wait comes in this attempt. If it is suspended, a later one makes the same call. */
  wait(wait: OpenWait): Promise<void> {
    this.#running -= 1;
    return new Promise<void>((resolve) => {
      const leftMs = wait.untilMs - this.#ports.clock.now();
      const isInTime = leftMs < this.#remainingMs();
      const ends = () => {
        if (this.#closed) return;
        this.#waits.delete(wait);
        this.#running += 1;
        resolve();
      };
      this.#waits.set(wait, isInTime ? this.#after(leftMs, ends) : () => {});
      this.#consider();
    });
  }

  continueLater(): void {
    this.#continues = true;
    this.#consider();
  }

  /** Suspends the attempt once nothing runs. What has just ended may start the handler's next call first. */
  #consider(): void {
    if (this.#isIdle() && !this.#looks) this.#look(0);
  }

  #look(afterMs: number): void {
    this.#looks = true;
    this.#after(afterMs, () => {
      this.#looks = false;
      if (!this.#isIdle()) return;
      if (!this.#continues && this.#isAtWork()) this.#look(lookMs);
      else this.#suspend();
    });
  }

  #suspend(): void {
    this.close();
    this.#onRest([...this.#waits.keys()], this.#continues);
  }

  #isIdle(): boolean {
    return !this.#closed && this.#running === 0 && (this.#continues || this.#waits.size > 0);
  }

  #isAtWork(): boolean {
    const activity = this.#following?.now() ?? "none";
    return activity === "some" || (activity === "perhaps" && this.#remainingMs() > minMs);
  }

  #endDoubt(): void {
    this.#following?.end();
    this.#following = undefined;
  }

  #after(delayMs: number, call: () => void): () => void {
    return asOwnWork(() => this.#ports.clock.after(delayMs, call));
  }
}
