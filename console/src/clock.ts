/** Lead of the deployment's clock over this device's, in milliseconds. */
let aheadMs = 0;

/** A difference below this is the time of the answer and the header's whole seconds. */
const leastMs = 5_000;

/** Takes the deployment's time from the header `Date` of an answer that has just come. */
export function setClock(date: string | null): void {
  const ms = Date.parse(date ?? "") - Date.now();
  aheadMs = Math.abs(ms) >= leastMs ? ms : 0;
}

/** The deployment's time, in milliseconds since 1970. Ages on a device whose clock is wrong are right by it. */
export const nowMs = (): number => Date.now() + aheadMs;
