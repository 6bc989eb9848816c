import type { Credentials } from "./environment.ts";

/** Credentials that end. */
export interface EndingCredentials {
  readonly credentials: Credentials;
  /** Epoch milliseconds. */
  readonly expiresAtMs: number;
}

/** Credentials are read again this long before they expire. Their sources renew them earlier. */
const marginMs = 5 * 60_000;

/** Shortest time between two reads while the present credentials are still valid: their source may be down. */
const readEveryMs = 30_000;

/**
 * Keeps credentials until they expire. The first call reads them. Shortly before they expire they are read again, while
 * calls use the old ones: a source that is down for less than the margin stops no call.
 */
export class KeptCredentials {
  readonly #read: () => Promise<EndingCredentials>;
  readonly #now: () => number;
  #kept: EndingCredentials | undefined;
  #reading: Promise<EndingCredentials> | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(read: () => Promise<EndingCredentials>, now: () => number = Date.now) {
    this.#read = read;
    this.#now = now;
  }

  /** @throws the error of the last read, when no credentials are valid */
  async get(): Promise<Credentials> {
    const nowMs = this.#now();
    const kept = this.#kept;
    if (kept === undefined || nowMs >= kept.expiresAtMs) return (await this.#readOnce(nowMs)).credentials;
    const isDue = nowMs >= kept.expiresAtMs - marginMs && nowMs >= this.#readAtMs + readEveryMs;
    // The next call tries again.
    if (isDue) this.#readOnce(nowMs).catch(() => {});
    return kept.credentials;
  }

  /** Calls at the same time share one read. After an error the next call reads again. */
  #readOnce(nowMs: number): Promise<EndingCredentials> {
    if (this.#reading !== undefined) return this.#reading;
    this.#readAtMs = nowMs;
    this.#reading = this.#read()
      .then((read) => {
        this.#kept = read;
        return read;
      })
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }
}
