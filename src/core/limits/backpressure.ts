import { lazily } from "../../util/lazily.ts";
import { Problem } from "../model/problem.ts";
import type { Tier } from "../model/words.ts";
import type { QueueDepths } from "../ports/tasks.ts";
import type { RefusalPorts } from "./refusals.ts";

/** A tier's depth is read again when the last reading is older than this, in milliseconds. */
const readEveryMs = 5_000;
/** Before a tier is closed, its depth is read again when the last reading is older than this, in milliseconds. */
const confirmEveryMs = 2_000;

/** `Retry-After` in seconds: for a tier that has just closed, and the maximum. */
const firstRetrySeconds = 5;
const maxRetrySeconds = 60;

/** Depth of one tier as this process sees it. */
interface Gauge {
  /** Messages in the tier at the last reading. */
  depth: number;
  /** Messages that this process has sent since the last reading. */
  sent: number;
  readAtMs: number;
  /** Time and depth when the tier was closed. Absent: it is open. */
  closed?: { atMs: number; depth: number } | undefined;
  reading?: Promise<void> | undefined;
}

export interface BackpressurePorts extends RefusalPorts {
  depths: Pick<QueueDepths, "ofTier">;
}

/**
 * Closes a tier for submits when its depth reaches the bound, and opens it again when the depth is half the bound.
 * Depths are read every few seconds; between two readings, the messages that this process sends are added.
 */
export class Backpressure {
  readonly #ports: BackpressurePorts;
  readonly #gauges = new Map<Tier, Gauge>();
  readonly #refusals = lazily(async () => new (await import("./refusals.ts")).Refusals(this.#ports));

  constructor(ports: BackpressurePorts) {
    this.#ports = ports;
  }

  /**
   * Lets one submit into a tier, unless the tier is closed.
   * @throws Problem `queue_full`
   */
  async admit(tier: Tier, bound: number): Promise<void> {
    const gauge = this.#gaugeOf(tier);
    await this.#readWhenOld(tier, gauge, readEveryMs);
    if (isFull(gauge, bound)) await this.#readWhenOld(tier, gauge, confirmEveryMs);
    if (!isFull(gauge, bound)) {
      gauge.closed = undefined;
      gauge.sent += 1;
      return;
    }
    gauge.closed ??= { atMs: this.#ports.clock.now(), depth: gauge.depth + gauge.sent };
    await this.#noteRefusal(tier);
    throw new Problem("queue_full", `The tier ${tier} is full. The task was not accepted.`, {
      retryAfterSeconds: this.#secondsToOpen(gauge, bound),
    });
  }

  /** Undoes one `enter` whose message was not sent. */
  leave(tier: Tier): void {
    const gauge = this.#gaugeOf(tier);
    gauge.sent = Math.max(0, gauge.sent - 1);
  }

  /** The code for it loads with the first refusal: most processes never refuse. */
  async #noteRefusal(tier: Tier): Promise<void> {
    await (await this.#refusals()).note(tier);
  }

  async #readWhenOld(tier: Tier, gauge: Gauge, ageMs: number): Promise<void> {
    if (this.#ports.clock.now() - gauge.readAtMs < ageMs) return;
    gauge.reading ??= this.#read(tier, gauge).finally(() => {
      gauge.reading = undefined;
    });
    await gauge.reading;
  }

  /**
   * Reads the depth. When that fails, the last depth stays in use: if the queue is down, sending to it will fail, too.
   */
  async #read(tier: Tier, gauge: Gauge): Promise<void> {
    const { sent } = gauge;
    try {
      const { visible, inFlight } = await this.#ports.depths.ofTier(tier);
      gauge.depth = visible + inFlight;
      gauge.sent -= sent;
    } catch (error) {
      this.#ports.log.warn("could not read the depth of a tier; the last depth stays in use", {
        queue: tier,
        error: String(error),
      });
    }
    gauge.readAtMs = this.#ports.clock.now();
  }

  /**
   * Estimates the seconds until the tier is down to half its bound, from the rate at which it has drained since it was
   * closed. The estimate is at most twice the time since then, as the rate may change.
   */
  #secondsToOpen({ depth, sent, closed }: Gauge, bound: number): number {
    if (closed === undefined) return firstRetrySeconds;
    const closedSeconds = (this.#ports.clock.now() - closed.atMs) / 1000;
    const drained = closed.depth - depth - sent;
    const needed = depth + sent - bound / 2;
    const seconds = drained > 0 ? (needed / drained) * closedSeconds : maxRetrySeconds;
    return Math.ceil(Math.max(1, Math.min(seconds, Math.max(firstRetrySeconds, 2 * closedSeconds), maxRetrySeconds)));
  }

  #gaugeOf(tier: Tier): Gauge {
    let gauge = this.#gauges.get(tier);
    if (gauge === undefined) {
      gauge = { depth: 0, sent: 0, readAtMs: 0 };
      this.#gauges.set(tier, gauge);
    }
    return gauge;
  }
}

const isFull = ({ depth, sent, closed }: Gauge, bound: number): boolean =>
  closed === undefined ? depth + sent >= bound : depth + sent > bound / 2;
