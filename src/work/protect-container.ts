import type { ScaleInProtection } from "../aws/scale-in-protection.ts";
import type { Clock } from "../core/ports/tasks.ts";

/** Milliseconds between two looks at the number of attempts. */
const lookMs = 1_000;

/**
 * Looks in a row without an attempt before the protection ends, so that short attempts do not end and begin it all the
 * time.
 */
const idleLooks = 10;

/** Longer than any attempt. The protection is renewed until it is ended, so this only bounds what a bug could do. */
const longestMs = 24 * 3_600_000;

/**
 * Keeps ECS from stopping this container while attempts run in it.
 * @param running Returns the number of attempts of all processes.
 * @returns a function that ends it
 */
export function protectWhileRunning(
  protection: ScaleInProtection,
  clock: Clock,
  running: () => number,
): () => Promise<void> {
  let idle = idleLooks;
  let cancel = (): void => {};
  const look = (): void => {
    cancel = clock.after(lookMs, look);
    if (running() > 0) {
      if (idle >= idleLooks) void protection.protect(clock.now() + longestMs);
      idle = 0;
      return;
    }
    idle += 1;
    if (idle === idleLooks) void protection.unprotect();
  };
  look();
  return async () => {
    cancel();
    if (idle < idleLooks) await protection.unprotect();
  };
}
