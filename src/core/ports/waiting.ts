/**
 * Places for requests that wait for the end of a task. All processes of a deployment share them, because each waiting
 * request takes one concurrent invocation of the account. Contract suite: `test/contract/waits.ts`.
 */
export interface Waits {
  /**
   * Takes a place. A tenant can have at most half of the places. A place that is not given back is free again when the
   * interval after its own has ended.
   * @returns A function that gives the place back; undefined when there is no place.
   * @throws PortUnavailable
   */
  admit(tenantId: string, nowMs: number): Promise<Release | undefined>;
}

/** Returns the place. @throws PortUnavailable */
export type Release = () => Promise<void>;

/**
 * Length of an interval in milliseconds. No request that waits outlives the interval after its own: see
 * `longestWaitSeconds`.
 */
export const intervalMs = 25_000;

/** Largest number of seconds for which a request can wait. */
export const longestWaitSeconds = 20;

/** Places that one tenant can have. */
export const placesOfTenant = (places: number): number => Math.ceil(places / 2);

/** Time for AWS calls that is independent of the time that the present request has left. */
export interface CallTime {
  /** Runs AWS calls that must end within `ms` milliseconds from now. */
  within<T>(ms: number, work: () => Promise<T>): Promise<T>;
  /** Runs work that belongs to no request, such as a timer that several requests share. */
  apart<T>(work: () => T): T;
}
