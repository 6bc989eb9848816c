import type { Clock, Records } from "../ports.ts";
import { hasEnded, isKept, type TaskKey, type TaskRecord } from "../record.ts";
import type { CallTime } from "./ports.ts";

export interface TaskEndPorts {
  clock: Clock;
  records: Records;
  callTime: CallTime;
}

/** A task that has ended. `record` is undefined when the task does not exist any more. */
export interface Ended {
  record: TaskRecord | undefined;
}

/** Time between two reads of all watched records, in milliseconds; the second while more than `fewTasks` are watched. */
const usualPauseMs = 500;
const longPauseMs = 800;
const fewTasks = 200;

/** Shortest pause between two reads, when the reads take long. */
const leastPauseMs = 100;

/** Largest number of keys in one call of `getMany`. */
const pageSize = 100;

/** Time for one call of `getMany`, in milliseconds. */
const readMs = 4_000;

interface Watched {
  key: TaskKey;
  /** Called when the task has ended. */
  waiters: Set<(ended: Ended) => void>;
}

/**
 * Waits for the ends of tasks. All waiters of a process share its reads, which stop when no one waits. A read that fails is
 * repeated with the next one.
 */
export class TaskEnds {
  readonly #ports: TaskEndPorts;
  readonly #watched = new Map<string, Watched>();
  #isReading = false;

  constructor(ports: TaskEndPorts) {
    this.#ports = ports;
  }

  /** Resolves when the task has ended, or with undefined at `untilMs`. Never rejects. */
  wait(key: TaskKey, untilMs: number): Promise<Ended | undefined> {
    const { clock, callTime } = this.#ports;
    return new Promise((resolve) => {
      const tell = (ended: Ended | undefined) => {
        stop();
        this.#remove(key, tell);
        resolve(ended);
      };
      const stop = clock.after(untilMs - clock.now(), () => tell(undefined));
      this.#add(key, tell);
      if (this.#isReading) return;
      this.#isReading = true;
      void callTime.apart(() => this.#readUntilIdle());
    });
  }

  #add({ tenant_id, task_id }: TaskKey, waiter: (ended: Ended) => void): void {
    const name = nameOf({ tenant_id, task_id });
    const watched = this.#watched.get(name) ?? { key: { tenant_id, task_id }, waiters: new Set() };
    watched.waiters.add(waiter);
    this.#watched.set(name, watched);
  }

  #remove(key: TaskKey, waiter: (ended: Ended) => void): void {
    const waiters = this.#watched.get(nameOf(key))?.waiters;
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#watched.delete(nameOf(key));
  }

  async #readUntilIdle(): Promise<void> {
    const { clock } = this.#ports;
    let readSince = clock.now();
    while (this.#watched.size > 0) {
      const pauseMs = this.#watched.size > fewTasks ? longPauseMs : usualPauseMs;
      const nextMs = Math.max(leastPauseMs, readSince + pauseMs - clock.now());
      await new Promise<void>((resolve) => void clock.after(nextMs, resolve));
      readSince = clock.now();
      await this.#readAll();
    }
    this.#isReading = false;
  }

  async #readAll(): Promise<void> {
    const all = [...this.#watched.values()];
    for (let from = 0; from < all.length; from += pageSize) await this.#readPage(all.slice(from, from + pageSize));
  }

  async #readPage(page: readonly Watched[]): Promise<void> {
    const { clock, records, callTime } = this.#ports;
    const read = () => records.getMany(page.map(({ key }) => key));
    const found = await callTime.within(readMs, read).catch(() => undefined);
    if (found === undefined) return;
    for (const [index, { waiters }] of page.entries()) {
      const record = found[index];
      const isGone = record === undefined || !isKept(record, clock.now());
      if (!isGone && !hasEnded(record, clock.now())) continue;
      for (const tell of [...waiters]) tell({ record: isGone ? undefined : record });
    }
  }
}

const nameOf = ({ tenant_id, task_id }: TaskKey): string => `${tenant_id}\n${task_id}`;
