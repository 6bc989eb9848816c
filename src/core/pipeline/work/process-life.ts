import { within } from "../../../util/within.ts";
import type { Clock, Log } from "../../ports/tasks.ts";
import { outsideAttempts } from "../../task/ambient.ts";
import { handlersWithin, type TaskProcess } from "../../task/process.ts";
import type { TaskType } from "../../task/task.ts";

/** The longest time, in milliseconds, for which the load of task types waits for a process's start. */
const startMs = 3_000;

/** The longest time of a flush, in milliseconds, and what of a batch's time stays behind it. */
const [flushMs, afterFlushMs] = [3_000, 1_000];

/** The longest time, in milliseconds, of the last flush and of the stop that follows. */
const stopMs = 2_000;

interface LifePorts {
  clock: Clock;
  log: Log;
}

/** The life of a process that runs handlers, as `tasks/process.ts` defines it. Only attempts get its errors. */
export class ProcessLife {
  readonly #ports: LifePorts;
  readonly #own: TaskProcess;
  #starting: Promise<void> | undefined;
  #started = false;
  #ending: Promise<void> | undefined;
  #running = 0;
  /** True when code of attempts has run since the last flush. */
  #used = false;

  constructor(ports: LifePorts, own: TaskProcess) {
    this.#ports = ports;
    this.#own = own;
  }

  /** Starts the process. Waits for a while only: attempts wait for the rest. Never throws. */
  async begin(): Promise<void> {
    const started = this.#start().catch((error: unknown) => this.#sayFailed("start", error));
    await within(this.#ports.clock, startMs, started, () => {});
  }

  /** Task types whose code runs after the start. */
  readonly started = (types: readonly TaskType[]): TaskType[] =>
    handlersWithin(types, async (call) => {
      this.#used = true;
      this.#running += 1;
      try {
        await this.#start();
        return await call();
      } finally {
        this.#running -= 1;
      }
    });

  /**
   * Flushes, where code of attempts has run since the last flush. Never throws.
   * @param deadlineMs Epoch milliseconds at which the process is stopped. Default: it is not.
   */
  async flush(deadlineMs = Number.POSITIVE_INFINITY): Promise<void> {
    if (!this.#used && this.#running === 0) return;
    this.#used = false;
    const leftMs = deadlineMs - afterFlushMs - this.#ports.clock.now();
    await this.#call("flush", Math.max(0, Math.min(flushMs, leftMs)));
  }

  /** Flushes and stops, once. Never throws. */
  end(): Promise<void> {
    this.#ending ??= this.#call("flush", stopMs).then(() => this.#call("stop", stopMs));
    return this.#ending;
  }

  /** A start that failed runs again. It belongs to no attempt, whichever waits for it. */
  #start(): Promise<void> {
    this.#starting ??= outsideAttempts(async () => {
      await this.#own.start?.();
      this.#started = true;
    }).catch((error: unknown) => {
      this.#starting = undefined;
      throw error;
    });
    return this.#starting;
  }

  /** Calls a function of a process that has started. */
  async #call(name: "flush" | "stop", limitMs: number): Promise<void> {
    const call = this.#own[name];
    if (call === undefined || !this.#started) return;
    const called = outsideAttempts(async () => void (await call())).catch((error: unknown) =>
      this.#sayFailed(name, error),
    );
    await within(this.#ports.clock, limitMs, called, () => {
      this.#ports.log.warn("a function of tasks/process.ts has not ended in its time", {
        function: name,
        limit_ms: limitMs,
      });
    });
  }

  #sayFailed(name: keyof TaskProcess, error: unknown): void {
    const shown = error instanceof Error ? error : String(error);
    this.#ports.log.error("a function of tasks/process.ts failed", { function: name, error: shown });
  }
}
