import type { MainQueue, Outgoing, Queues } from "../core/ports/tasks.ts";

/** SQS accepts this number of messages in one call. */
const maxMessages = 10;

/** Time in milliseconds for which a message waits for others. */
const gatherMs = 20;

interface Waiting {
  message: Outgoing;
  resolve(): void;
  reject(error: unknown): void;
}

export interface SendsMany {
  /** Sends up to ten messages to one queue, and returns the error of each; undefined: it was sent. */
  sendMany(queue: MainQueue, messages: readonly Outgoing[]): Promise<readonly (Error | undefined)[]>;
}

/**
 * Collects messages that are sent at about the same time into one call for up to ten, as SQS bills calls. Each `send`
 * ends as that message's part of the call ends.
 */
export class GatheredQueues implements Queues {
  readonly hold: Queues["hold"];
  readonly deadLetter: Queues["deadLetter"];
  readonly sendCheck: Queues["sendCheck"];
  readonly #sendMany: (queue: MainQueue, messages: readonly Outgoing[]) => Promise<readonly (Error | undefined)[]>;
  /** Messages that wait for others, by their queue. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(queues: Pick<Queues, "hold" | "deadLetter" | "sendCheck"> & SendsMany) {
    this.hold = queues.hold.bind(queues);
    this.deadLetter = queues.deadLetter.bind(queues);
    this.sendCheck = queues.sendCheck.bind(queues);
    this.#sendMany = queues.sendMany.bind(queues);
  }

  send(message: Outgoing): Promise<void> {
    return new Promise((resolve, reject) => {
      const key = `${message.tier} ${message.runsOn}`;
      const waiting = this.#waiting.get(key) ?? [];
      this.#waiting.set(key, waiting);
      waiting.push({ message, resolve, reject });
      if (waiting.length === maxMessages) this.#flush(message, key);
      else if (waiting.length === 1) setTimeout(() => this.#flush(message, key, waiting), gatherMs);
    });
  }

  /** @param only Does nothing when these messages were sent already. */
  #flush(queue: MainQueue, key: string, only?: Waiting[]): void {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined || (only !== undefined && only !== waiting)) return;
    this.#waiting.delete(key);
    this.#sendMany(
      queue,
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
