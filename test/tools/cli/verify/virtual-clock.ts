import type { VerifyClock } from "../../../../src/tools/cli/verify/check.ts";

/** A clock that goes to the end of the next pause as soon as nothing else is left to do. */
export class VirtualClock implements VerifyClock {
  #now = Date.parse("2027-01-01T00:00:00.000Z");
  readonly #pauses: { atMs: number; end: () => void }[] = [];
  #isTicking = false;

  now(): number {
    return this.#now;
  }

  pause(ms: number): Promise<void> {
    const ended = new Promise<void>((end) => {
      this.#pauses.push({ atMs: this.#now + ms, end });
    });
    this.#tick();
    return ended;
  }

  #tick(): void {
    if (this.#isTicking) return;
    this.#isTicking = true;
    setImmediate(() => {
      this.#isTicking = false;
      this.#pauses.sort((a, b) => a.atMs - b.atMs);
      const next = this.#pauses.shift();
      if (next === undefined) return;
      this.#now = Math.max(this.#now, next.atMs);
      next.end();
      this.#tick();
    });
  }
}
