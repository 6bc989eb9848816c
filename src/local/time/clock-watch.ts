/** A clock that goes back by less, in milliseconds, is corrected by NTP: everything waits for so long only. */
const minMs = 30_000;

/** Wait between two looks, in milliseconds. */
const lookMs = 10_000;

/** The machine's clock, which may be set, and its time since the start, which only grows. Both in milliseconds. */
export interface Times {
  wall(): number;
  elapsed(): number;
}

const ofMachine: Times = { wall: () => Date.now(), elapsed: () => performance.now() };

/**
 * Tells when the machine's clock is set back: whatever was to happen by the former time then waits for as long, in
 * queues, leases and schedules. Returns a look at the clock.
 */
export function clockLooks(print: (line: string) => void, { wall, elapsed }: Times = ofMachine): () => void {
  let aheadMs = wall() - elapsed();
  return () => {
    const nowMs = wall() - elapsed();
    const backMs = aheadMs - nowMs;
    if (backMs < minMs && backMs > 0) return;
    aheadMs = nowMs;
    if (backMs <= 0) return;
    const until = new Date(wall() + backMs).toISOString();
    print(
      `The machine's clock was set back by ${Math.round(backMs / 1000)} s. Nothing is lost, but what was due soon (tasks, ` +
        `retries, schedules) waits until ${until}: set the clock forward again, or start the server with another folder (--state).`,
    );
  };
}

/** Looks at the machine's clock now and then. Returns a function that ends this. */
export function watchClock(print: (line: string) => void): () => void {
  const timer = setInterval(clockLooks(print), lookMs).unref();
  return () => clearInterval(timer);
}
