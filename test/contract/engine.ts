import { renameSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { FakeClock } from "../../src/memory/clock.ts";

/** URL of another engine than the local server's for a service: `npm run test:engines`. Undefined: there is none. */
export const otherEngine = (service: "SQS" | "S3" | "SCHEDULER"): string | undefined =>
  process.env[`OFFLOAD_TEST_${service}`];

/**
 * The time of that engine, which libfaketime reads from a file. It stands still but for some microseconds with each
 * look at it, as a message that is not older than its sending may be hidden.
 */
export class EngineClock extends FakeClock {
  readonly #file = process.env.OFFLOAD_TEST_CLOCK ?? "";

  constructor() {
    super(Math.floor(Date.now() / 1000) * 1000);
    this.#tell();
  }

  override async advance(ms: number): Promise<void> {
    await super.advance(ms);
    this.#tell();
  }

  #tell(): void {
    const time = new Date(this.now()).toISOString().slice(0, 19).replace("T", " ");
    writeFileSync(`${this.#file}.new`, `${time} i0.0005`);
    renameSync(`${this.#file}.new`, this.#file);
  }
}

/** A time that a queue noted: exactly this one, where the queue's time is the test's. */
export const about = (time: number): unknown => (otherEngine("SQS") === undefined ? time : expect.closeTo(time, -6));

/** Lets the time of an emulator or engine run, fast, until a call that may wait for it has its answer. */
export async function whileTimeRuns<T>(clock: FakeClock, call: Promise<T>): Promise<T> {
  let over = false;
  const ended = call.finally(() => {
    over = true;
  });
  const [stepMs, pauseMs] = clock instanceof EngineClock ? [1_000, 300] : [20, 1];
  while (!over) {
    await clock.advance(stepMs);
    await Promise.race([sleep(pauseMs), ended]);
  }
  return ended;
}
