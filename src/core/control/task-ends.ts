import { hasEnded, isKept, type TaskKey, type TaskRecord } from "../model/record.ts";
import type { Clock, Records } from "../ports/tasks.ts";

/**
 * Places for requests that wait for the end of a task. All processes of a deployment share them, because each waiting
 * request takes one concurrent invocation of the account. Contract suite: `test/contract/waits.ts`.
 */
export interface Waits {
  /**
   * Acquires a permit. A tenant can have at most half of the permits. A permit that is not given back is free again
   * when the interval after its own has ended.
   * @returns A function that gives the permit back; undefined when there is no permit.
   * @throws PortUnavailable
   */
  admit(tenantId: string, nowMs: number): Promise<Release | undefined>;
}

/** Returns the permit. @throws PortUnavailable */
export type Release = () => Promise<void>;

/**
 * Length of an interval in milliseconds. No request that waits outlives the interval after its own: see
 * `longestWaitSeconds`.
 */
export const intervalMs = 25_000;

/** Largest number of seconds for which a request can wait. */
export const longestWaitSeconds = 20;

/** Places that one tenant can have. */
export const permitsOfTenant = (permits: number): number => Math.ceil(permits / 2);

/** Time for AWS calls that is independent of the time that the present request has left. */
export interface CallTime {
  /** Runs AWS calls that must end within `ms` milliseconds from now. */
  within<T>(ms: number, work: () => Promise<T>): Promise<T>;
  /** Runs work that belongs to no request, such as a timer that several requests share. */
  apart<T>(work: () => T): T;
}

export interface TaskEndPorts {
  clock: Clock;
  records: Records;
  callTime: CallTime;
}

/** A task as it was read. `record` is undefined when the task does not exist any more. */
export interface Seen {
  record: TaskRecord | undefined;
  /** Epoch milliseconds at which the read began. */
  atMs: number;
}

/**
 * Time between two reads of all watched records, in milliseconds; the second while more than `fewTasks` are watched.
 */
const usualPauseMs = 500;
const longPauseMs = 800;
const fewTasks = 200;

/** Shortest pause between two reads, when the reads take long. */
const minPauseMs = 100;

/** A read that is not older than this is still true when the time of a wait is over, in milliseconds. */
const freshMs = 1_000;

/** Largest number of keys in one call of `getMany`. */
const pageSize = 100;

/** Time for one call of `getMany`, in milliseconds. */
const readMs = 4_000;

interface Watched {
  key: TaskKey;
  /** Called when the task has ended. */
  waiters: Set<(ended: Seen) => void>;
  /** The last read. Undefined: not read yet. */
  seen: Seen | undefined;
}

/**
 * Waits for the ends of tasks. All waiters of a process share its reads, which stop when no one waits. A read that
 * fails is repeated with the next one.
 */
export class TaskEnds {
  readonly #ports: TaskEndPorts;
  readonly #watched = new Map<string, Watched>();
  #isReading = false;

  constructor(ports: TaskEndPorts) {
    this.#ports = ports;
  }

  /**
   * Resolves when the task has ended, or at `untilMs`, with the task as it was read within the last second. Undefined:
   * it could not be read. Never rejects.
   */
  wait(key: TaskKey, untilMs: number): Promise<Seen | undefined> {
    const { clock, callTime } = this.#ports;
    return new Promise((resolve) => {
      const notify = (seen: Seen | undefined) => {
        stop();
        this.#remove(key, notify);
        resolve(seen);
      };
      const watched = this.#add(key, notify);
      const stop = clock.after(untilMs - clock.now(), () => notify(freshOf(watched, clock.now())));
      if (this.#isReading) return;
      this.#isReading = true;
      void callTime.apart(() => this.#readUntilIdle());
    });
  }

  #add({ tenant_id, task_id }: TaskKey, waiter: (ended: Seen) => void): Watched {
    const key = { tenant_id, task_id };
    const watched = this.#watched.get(nameOf(key)) ?? { key, waiters: new Set(), seen: undefined };
    watched.waiters.add(waiter);
    this.#watched.set(nameOf(key), watched);
    return watched;
  }

  #remove(key: TaskKey, waiter: (ended: Seen) => void): void {
    const waiters = this.#watched.get(nameOf(key))?.waiters;
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#watched.delete(nameOf(key));
  }

  async #readUntilIdle(): Promise<void> {
    const { clock } = this.#ports;
    let readSince = clock.now();
    while (this.#watched.size > 0) {
      const pauseMs = this.#watched.size > fewTasks ? longPauseMs : usualPauseMs;
      const nextMs = Math.max(minPauseMs, readSince + pauseMs - clock.now());
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
    const atMs = clock.now();
    const read = () => records.getMany(page.map(({ key }) => key));
    const found = await callTime.within(readMs, read).catch(() => undefined);
    if (found === undefined) return;
    for (const [index, watched] of page.entries()) {
      const stored = found[index];
      const record = stored !== undefined && isKept(stored, clock.now()) ? stored : undefined;
      watched.seen = { record, atMs };
      if (record !== undefined && !hasEnded(record, clock.now())) continue;
      for (const notify of [...watched.waiters]) notify(watched.seen);
    }
  }
}

/** The last read, if it is fresh. */
const freshOf = ({ seen }: Watched, nowMs: number): Seen | undefined =>
  seen !== undefined && nowMs - seen.atMs <= freshMs ? seen : undefined;

const nameOf = ({ tenant_id, task_id }: TaskKey): string => `${tenant_id}\n${task_id}`;
