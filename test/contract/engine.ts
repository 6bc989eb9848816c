import { renameSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { FakeClock } from "../../src/memory/clock.ts";

/** URL of another engine than the local server's for a service: `npm run test:engines`. Undefined: there is none. */
export const otherEngine = (service: "SQS" | "S3" | "SCHEDULER"): string | undefined =>
  process.env[`OFFLOAD_TEST_${service}`];

/** The time of that engine, which reads from a file how far a test is ahead of the machine's time. */
export class EngineClock extends FakeClock {
  readonly #file = process.env.OFFLOAD_TEST_CLOCK ?? "";
  readonly #start: number;

  constructor() {
    super(Date.now());
    this.#start = super.now();
    this.#tell();
  }

  override now(): number {
    return Date.now() + super.now() - this.#start;
  }

  override async advance(ms: number): Promise<void> {
    await super.advance(ms);
    this.#tell();
  }

  #tell(): void {
    writeFileSync(`${this.#file}.new`, `+${(super.now() - this.#start) / 1000}`);
    renameSync(`${this.#file}.new`, this.#file);
  }
}

/** A time that a queue noted: exactly this one, where the queue's time is the test's. */
export const about = (time: number): unknown => (otherEngine("SQS") === undefined ? time : expect.closeTo(time, -5));

/** Lets the emulator's time run, fast, until a call that may wait for it has its answer. That of an engine runs. */
export async function whileTimeRuns<T>(clock: FakeClock, call: Promise<T>): Promise<T> {
  let over = clock instanceof EngineClock;
  const ended = call.finally(() => {
    over = true;
  });
  while (!over) {
    await clock.advance(20);
    await sleep(1);
  }
  return ended;
}
