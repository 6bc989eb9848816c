import type { Envelope } from "../../model/envelope.ts";
import { AttemptCrashed } from "../../model/errors.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { Tier } from "../../model/words.ts";
import type { WorkQueues } from "../../ports/queues.ts";
import type { DispatchPorts } from "../../ports/steps.ts";
import type { Clock, Delivery, Log } from "../../ports/tasks.ts";
import type { Permit } from "../../task/limiter.ts";
import { closeList, inputsOf, isList } from "../send/collected-list.ts";
import { storedEnvelope } from "../send/large-input.ts";
import { keptUntil } from "../send/parts.ts";

/** The list of a task. */
interface Gathered {
  record: TaskRecord;
  envelope: Envelope;
  /** The error with which the attempt ends without a call of the handler. Undefined: none. */
  fault: unknown;
}

/**
 * Closes the list of a claimed task, and makes its inputs the task's input: a part that the record names, as after a
 * replacement. Each later attempt, and a replay, reads that part. An attempt that dies before finds the same list.
 * @returns Undefined: the list is empty, as the submit that began it died.
 * @throws PortUnavailable
 */
export async function gather(
  ports: DispatchPorts,
  record: TaskRecord,
  permit: Permit | undefined,
): Promise<Gathered | undefined> {
  if (!isList(record)) return undefined;
  await closeList(ports, record);
  const inputs = await inputsOf(ports, record);
  if (inputs.length === 0) return undefined;
  const envelope: Envelope = { ...(await storedEnvelope(ports, record, inputs)), collected: true };
  const input_part = envelope.message_id;
  await ports.records.savePart(record, `input#${input_part}`, envelope, keptUntil(record.purge_at));
  const changed = await ports.records.change(record, {
    when: { status: { is: "processing" }, attempts_total: { is: record.attempts_total } },
    set: { input_part },
  });
  if (changed.record?.input_part !== input_part) throw new AttemptCrashed("the lease ended before the list was read");
  const { input_ref: _, ...frame } = envelope;
  const fault = await permit?.faultOfList({ ...frame, input: inputs });
  return { record: changed.record, envelope, fault };
}

/** Longest wait of a poll that watches an empty tier, in seconds: the maximum of SQS. */
const watchSeconds = 20;

/**
 * Wait of a poll of a tier that had messages, in seconds. Without a wait SQS asks only some of its servers, and misses
 * messages.
 */
const receiveSeconds = 1;

/** A poll that is open for this time, in milliseconds, shows that its tier is empty. */
const provenMs = 1_000;

/** Messages are hidden for this time at their receive, in seconds. The start of the work hides them for the lease. */
export const firstHoldSeconds = 60;

/** Pauses after a poll that failed, in milliseconds. */
const [firstPauseMs, longestPauseMs] = [1_000, 10_000];

export interface IntakeOptions {
  clock: Clock;
  log: Log;
  workQueues: WorkQueues;
  /** Most urgent first. */
  tiers: readonly Tier[];
  /** Number of attempts that could start now. */
  free(): number;
  /** Starts work on a message, which takes a slot. */
  start(delivery: Delivery): void;
  /** Sends a message again for which no slot is left. Never throws. */
  giveBack(delivery: Delivery): Promise<void>;
  /** When it aborts, no work starts any more. */
  stopped: AbortSignal;
}

/**
 * Receives messages for the free slots of a worker in strict priority: a message of a tier starts only while all
 * higher tiers are empty. A tier is empty while a poll on it is open. So no slot waits for an empty tier, and what
 * arrives there starts first. A poll that is still open when the last slot is taken can bring a message without a
 * slot: it is given back.
 */
export class Intake {
  readonly #options: IntakeOptions;
  readonly #bell: Bell;
  /** Tiers that had messages when they were last asked. */
  readonly #filled = new Set<Tier>();
  /** Open polls on empty tiers, with the time from which each proves that its tier is empty. */
  readonly #watching = new Map<Tier, number>();
  /** Time at which a tier was last found empty. */
  readonly #emptyAt = new Map<Tier, number>();
  readonly #polls = new Set<Promise<void>>();
  /** Received messages that wait for the proof that the higher tiers are empty. */
  #inHand = 0;
  #pauseMs = firstPauseMs;
  /** A receive with this signal is never cut off. */
  readonly #never = new AbortController().signal;
  #lastReceiveAt: number;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.#bell = new Bell(options.clock);
    this.#lastReceiveAt = options.clock.now();
    options.stopped.addEventListener("abort", () => this.#bell.ring());
  }

  /** Time of the last answer of a queue, in epoch milliseconds. */
  get lastReceiveAt(): number {
    return this.#lastReceiveAt;
  }

  /** Call it when a slot has become free. */
  slotFreed(): void {
    this.#bell.ring();
  }

  /** Receives until it is stopped. Resolves when no poll is open and every message without a slot is given back. */
  async run(): Promise<void> {
    const { clock, stopped } = this.#options;
    while (!stopped.aborted) {
      const next = this.#free() > 0 ? this.#next() : undefined;
      if (next === undefined) await this.#bell.heard();
      else if (next.fromMs > clock.now()) await this.#bell.heard(next.fromMs - clock.now());
      else await this.#receive(next.tier);
    }
    while (this.#polls.size > 0) await Promise.all(this.#polls);
  }

  #free(): number {
    return this.#options.free() - this.#inHand;
  }

  /**
   * The highest tier that had messages, and the time from which the tiers above it are proven to be empty. Watches
   * these.
   */
  #next(): { tier: Tier; fromMs: number } | undefined {
    let fromMs = 0;
    for (const tier of this.#options.tiers) {
      if (this.#filled.has(tier)) return { tier, fromMs };
      fromMs = Math.max(fromMs, this.#watching.get(tier) ?? this.#watch(tier));
    }
    return undefined;
  }

  async #receive(tier: Tier): Promise<void> {
    const max = Math.min(10, Math.max(1, this.#free() - this.#watching.size));
    // It ends soon. Cut off, it would leave the messages that are on their way hidden.
    const received = await this.#poll(tier, max, receiveSeconds, this.#never);
    if (received === undefined) return;
    if (received.length === 0) this.#foundEmpty(tier);
    const { free, stopped } = this.#options;
    for (const delivery of received) this.#startOrGiveBack(delivery, free() > 0 && !stopped.aborted);
  }

  /** Opens a poll that watches an empty tier. Returns the time from which it proves that the tier is empty. */
  #watch(tier: Tier): number {
    const now = this.#options.clock.now();
    const provenAt = now - (this.#emptyAt.get(tier) ?? 0) <= provenMs ? now : now + provenMs;
    this.#watching.set(tier, provenAt);
    this.#track(
      this.#poll(tier, 1, watchSeconds, this.#options.stopped).then(async (received) => {
        this.#watching.delete(tier);
        if (received?.length === 0) this.#foundEmpty(tier);
        else if (received !== undefined) this.#filled.add(tier);
        this.#bell.ring();
        for (const delivery of received ?? []) await this.#inTurn(tier, delivery);
      }),
    );
    return provenAt;
  }

  /** Starts a message when all higher tiers are proven to be empty. */
  async #inTurn(tier: Tier, delivery: Delivery): Promise<void> {
    const { clock, tiers, free, stopped } = this.#options;
    const higher = tiers.slice(0, tiers.indexOf(tier));
    const mayStart = () => free() > 0 && !stopped.aborted && !higher.some((one) => this.#filled.has(one));
    const provenFrom = () => Math.max(0, ...higher.map((one) => this.#watching.get(one) ?? this.#watch(one)));
    this.#inHand += 1;
    while (mayStart() && provenFrom() > clock.now()) await this.#bell.heard(provenFrom() - clock.now());
    this.#inHand -= 1;
    this.#startOrGiveBack(delivery, mayStart());
    this.#bell.ring();
  }

  #startOrGiveBack(delivery: Delivery, mayStart: boolean): void {
    const { start, giveBack } = this.#options;
    if (mayStart) start(delivery);
    else this.#track(giveBack(delivery));
  }

  #foundEmpty(tier: Tier): void {
    this.#filled.delete(tier);
    this.#emptyAt.set(tier, this.#options.clock.now());
  }

  /**
   * Undefined: the queue did not answer, and a pause has passed. Until then the tier counts as not proven to be empty.
   */
  async #poll(tier: Tier, max: number, waitSeconds: number, signal: AbortSignal): Promise<Delivery[] | undefined> {
    const { workQueues, stopped, clock, log } = this.#options;
    try {
      const options = { max, waitSeconds, hideSeconds: firstHoldSeconds };
      const received = await workQueues.receive(tier, options, signal);
      this.#lastReceiveAt = clock.now();
      this.#pauseMs = firstPauseMs;
      return received;
    } catch (error) {
      if (stopped.aborted) return [];
      log.warn("could not receive messages; the worker tries again", { queue: tier, error: String(error) });
      if (this.#watching.has(tier)) this.#watching.set(tier, Number.POSITIVE_INFINITY);
      await this.#pause();
      return undefined;
    }
  }

  async #pause(): Promise<void> {
    const untilMs = this.#options.clock.now() + this.#pauseMs;
    this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2);
    while (!this.#options.stopped.aborted && this.#options.clock.now() < untilMs) {
      await this.#bell.heard(untilMs - this.#options.clock.now());
    }
  }

  #track(work: Promise<void>): void {
    this.#polls.add(work);
    void work.finally(() => this.#polls.delete(work));
  }
}

/** Wakes the calls that wait for a change. */
export class Bell {
  readonly #clock: Clock;
  #waiting: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves at the next ring, or after `ms` milliseconds. */
  async heard(ms = Number.POSITIVE_INFINITY): Promise<void> {
    let stop = () => {};
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      if (ms < Number.POSITIVE_INFINITY) stop = this.#clock.after(ms, resolve);
    });
    stop();
  }

  ring(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
