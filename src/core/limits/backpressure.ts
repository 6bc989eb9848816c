import type { Clock, Log, QueueDepths } from "../ports.ts";
import { Problem } from "../problem.ts";
import type { Tier } from "../tier.ts";

/** How often a tier's depth is read, in milliseconds; and before a tier is closed on a guess, at the most so often. */
const readEveryMs = 5_000;
const confirmEveryMs = 2_000;

/** `Retry-After` in seconds: what is said of a tier that has just closed, and the most that is ever said. */
const firstSeconds = 5;
const longestSeconds = 60;

/** What this process knows of a tier. */
interface Gauge {
  /** As it was read, and what this process has sent since. */
  depth: number;
  sent: number;
  readAtMs: number;
  /** When it was closed, and how deep it was. Absent: it is open. */
  closed?: { atMs: number; depth: number } | undefined;
  reading?: Promise<void> | undefined;
}

/**
 * Closes a tier for submits while it holds more messages than its bound, and opens it again at half of that. Depths are read
 * every few seconds; in between, what this process sends is added.
 */
export class Backpressure {
  readonly #ports: { clock: Clock; depths: Pick<QueueDepths, "ofTier">; log: Log };
  readonly #gauges = new Map<Tier, Gauge>();

  constructor(ports: { clock: Clock; depths: Pick<QueueDepths, "ofTier">; log: Log }) {
    this.#ports = ports;
  }

  /**
   * Lets one submit into a tier.
   * @throws Problem `queue_full`
   */
  async enter(tier: Tier, bound: number): Promise<void> {
    const gauge = this.#gaugeOf(tier);
    await this.#readWhenOld(tier, gauge, readEveryMs);
    if (isFull(gauge, bound)) await this.#readWhenOld(tier, gauge, confirmEveryMs);
    if (!isFull(gauge, bound)) {
      gauge.closed = undefined;
      gauge.sent += 1;
      return;
    }
    gauge.closed ??= { atMs: this.#ports.clock.now(), depth: gauge.depth + gauge.sent };
    throw new Problem("queue_full", `The tier ${tier} holds as many tasks as it may; nothing was accepted.`, {
      retryAfterSeconds: this.#secondsToOpen(gauge, bound),
    });
  }

  /** Takes back one that was not sent. */
  leave(tier: Tier): void {
    const gauge = this.#gaugeOf(tier);
    gauge.sent = Math.max(0, gauge.sent - 1);
  }

  async #readWhenOld(tier: Tier, gauge: Gauge, ageMs: number): Promise<void> {
    if (this.#ports.clock.now() - gauge.readAtMs < ageMs) return;
    gauge.reading ??= this.#read(tier, gauge).finally(() => {
      gauge.reading = undefined;
    });
    await gauge.reading;
  }

  /** Reads the depth. A queue that does not answer leaves the gauge as it is: what is wrong shows when something is sent. */
  async #read(tier: Tier, gauge: Gauge): Promise<void> {
    const { sent } = gauge;
    try {
      const { visible, inFlight } = await this.#ports.depths.ofTier(tier);
      gauge.depth = visible + inFlight;
      gauge.sent -= sent;
    } catch (error) {
      this.#ports.log.warn("the depth of a tier could not be read", { queue: tier, error: String(error) });
    }
    gauge.readAtMs = this.#ports.clock.now();
  }

  /**
   * When the tier will be down to half its bound, at the pace at which it has drained since it was closed. A pace is not
   * trusted for longer than twice the time that it was seen.
   */
  #secondsToOpen({ depth, sent, closed }: Gauge, bound: number): number {
    if (closed === undefined) return firstSeconds;
    const seenSeconds = (this.#ports.clock.now() - closed.atMs) / 1000;
    const drained = closed.depth - depth - sent;
    const needed = depth + sent - bound / 2;
    const seconds = drained > 0 ? (needed / drained) * seenSeconds : longestSeconds;
    return Math.ceil(Math.max(1, Math.min(seconds, Math.max(firstSeconds, 2 * seenSeconds), longestSeconds)));
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
