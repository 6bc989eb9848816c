import type { Outgoing, Queues } from "../core/ports.ts";
import type { Tier } from "../core/tier.ts";

/** SQS accepts this number of messages in one call. */
const mostMessages = 10;

/** Time in milliseconds for which a message waits for others. */
const gatherMs = 20;

interface Waiting {
  message: Outgoing;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Collects messages that are sent at about the same time into one call for up to ten, as SQS bills calls. Each `send` ends as that message's
 * part of the call ends.
 */
export class GatheredQueues implements Queues {
  readonly hold: Queues["hold"];
  readonly bury: Queues["bury"];
  readonly #sendMany: (tier: Tier, messages: readonly Outgoing[]) => Promise<readonly (Error | undefined)[]>;
  readonly #waiting = new Map<Tier, Waiting[]>();

  /** @param queues `sendMany` sends up to ten messages, and returns the error of each; undefined: it was sent. */
  constructor(
    queues: Pick<Queues, "hold" | "bury"> & {
      sendMany(tier: Tier, messages: readonly Outgoing[]): Promise<readonly (Error | undefined)[]>;
    },
  ) {
    this.hold = queues.hold.bind(queues);
    this.bury = queues.bury.bind(queues);
    this.#sendMany = queues.sendMany.bind(queues);
  }

  send(message: Outgoing): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(message.tier) ?? [];
      this.#waiting.set(message.tier, waiting);
      waiting.push({ message, resolve, reject });
      if (waiting.length === mostMessages) this.#flush(message.tier);
      else if (waiting.length === 1) setTimeout(() => this.#flush(message.tier, waiting), gatherMs);
    });
  }

  /** @param only Does nothing when these messages were sent already. */
  #flush(tier: Tier, only?: Waiting[]): void {
    const waiting = this.#waiting.get(tier);
    if (waiting === undefined || (only !== undefined && only !== waiting)) return;
    this.#waiting.delete(tier);
    this.#sendMany(
      tier,
      waiting.map(({ message }) => message),
    ).then(
      (errors) => {
        for (const [index, { resolve, reject }] of waiting.entries()) {
          const error = errors[index];
          error === undefined ? resolve() : reject(error);
        }
      },
      (error: unknown) => {
        for (const { reject } of waiting) reject(error);
      },
    );
  }
}
