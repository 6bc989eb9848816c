import { sharedByAllCopies } from "../util/copies.ts";

/** The process's end on purpose. `isAwaited`: it takes its time after SIGTERM, and then exits. */
export const ending = sharedByAllCopies("ending", () => ({ isAwaited: false }));

/**
 * Exits after SIGTERM when `end` is done. Lambda sends the signal only where the function has an extension, and kills
 * the process some hundred milliseconds later.
 */
export function endOnSignal(end: () => Promise<void> | undefined): void {
  ending.isAwaited = true;
  process.once("SIGTERM", async () => {
    await end();
    process.exit(0);
  });
}
