import { randomUUID } from "node:crypto";
import type { Clock } from "../../core/ports/tasks.ts";
import { DiskFault } from "../disk/disk-faults.ts";
import { queueArn } from "./queue-message.ts";
import type { QueueStore } from "./queue-store.ts";

/** SQS's maximum, and the default here. */
const maxPerSecond = 500;

type Status = "RUNNING" | "COMPLETED" | "CANCELLED" | "FAILED";
type FailureReason = "CouldNotDetermineMessageSource" | "AWS.SimpleQueueService.NonExistentQueue";

export interface MoveTaskOptions {
  store: QueueStore;
  clock: Clock;
  /** Name of the queue to empty. */
  source: string;
  /** ARN of the queue that gets the messages. Undefined: each message goes back to the queue that it came from. */
  destinationArn: string | undefined;
  /** 1 to 500. Default: 500. */
  perSecond: number | undefined;
  exists(queue: string): boolean;
}

/**
 * A message move task: sends the messages that a queue had at its start to another queue, a number of them each second.
 */
export class MoveTask {
  readonly id = randomUUID();
  readonly handle: string;
  readonly #options: MoveTaskOptions;
  readonly #startedAt: number;
  readonly #toMove: number;
  #moved = 0;
  #status: Status = "RUNNING";
  #failureReason: FailureReason | undefined;
  #cancelTimer = () => {};

  constructor(options: MoveTaskOptions) {
    this.#options = options;
    this.handle = Buffer.from(JSON.stringify({ taskId: this.id, sourceArn: queueArn(options.source) })).toString(
      "base64",
    );
    this.#startedAt = options.clock.now();
    this.#toMove = options.store.counts(options.source).visible;
    this.#step();
  }

  get running(): boolean {
    return this.#status === "RUNNING";
  }

  /** Stops, and returns the number of messages moved so far. */
  cancel(): number {
    this.#cancelTimer();
    this.#status = "CANCELLED";
    return this.#moved;
  }

  /** An entry of ListMessageMoveTasks. */
  state() {
    const { destinationArn, perSecond, source } = this.#options;
    return {
      ApproximateNumberOfMessagesMoved: this.#moved,
      ApproximateNumberOfMessagesToMove: this.#toMove,
      DestinationArn: destinationArn,
      FailureReason: this.#failureReason,
      MaxNumberOfMessagesPerSecond: perSecond,
      SourceArn: queueArn(source),
      StartedTimestamp: this.#startedAt,
      Status: this.#status,
      TaskHandle: this.running ? this.handle : undefined,
    };
  }

  #step(): void {
    try {
      this.#move();
    } catch (error) {
      if (!(error instanceof DiskFault)) throw error;
    }
    if (this.running) this.#cancelTimer = this.#options.clock.after(1000, () => this.#step());
  }

  #move(): void {
    const { store, source, perSecond = maxPerSecond } = this.#options;
    for (let count = 0; count < perSecond; count += 1) {
      if (this.#moved >= this.#toMove || !store.resend(source, (arn) => this.#target(arn))) {
        this.#status = this.#failureReason ? "FAILED" : "COMPLETED";
        return;
      }
      this.#moved += 1;
    }
  }

  #target(sourceArn: string | undefined): string | undefined {
    const name = (this.#options.destinationArn ?? sourceArn)?.split(":").at(-1);
    if (name === undefined) this.#failureReason = "CouldNotDetermineMessageSource";
    else if (this.#options.exists(name)) return name;
    else this.#failureReason = "AWS.SimpleQueueService.NonExistentQueue";
    return undefined;
  }
}
