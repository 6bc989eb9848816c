import type { Tier } from "../../core/model/words.ts";
import type { Random } from "../../core/ports/tasks.ts";
import { decideRetry } from "../../core/task/retry.ts";
import type { Arrivals } from "./arrivals.ts";
import { limits } from "./figures.ts";
import type { TierSeries } from "./gauges.ts";
import { EventHeap } from "./heap.ts";
import { type TierModel, type TierOutcome, TierRun } from "./tier-run.ts";
import { Traffic, type TrafficModel } from "./traffic.ts";

/** Input of a simulation: a pipeline on AWS, or on the local server. */
export interface Model extends TrafficModel {
  readonly arrivals: Arrivals;
  readonly tiers: readonly TierModel[];
  readonly random: Random;
  /** Share of attempts that fail and are retried, 0 to 1. */
  readonly failureRate: number;
  readonly maxAttempts: number;
  /** Share of tasks with a delay, 0 to 1, and the delay in seconds. */
  readonly delayed: { readonly share: number; readonly seconds: number };
  /** Time from a visible message to the start of its invocation. */
  readonly pickUpSeconds: number;
  /** Time that claim and settle add to a batch. */
  readonly batchSeconds: number;
  readonly coldStartSeconds: number;
  /** Concurrent invocations of the account, shared by all functions. */
  readonly concurrency: number;
  /** Number of points of each series over the time of the arrivals. */
  readonly points: number;
  /** Time during which tasks arrive. */
  readonly seconds: number;
}

/** Result of a simulation. */
export interface Outcome {
  readonly tiers: readonly TierOutcome[];
  readonly series: Readonly<Partial<Record<Tier, TierSeries>>>;
  /** Seconds between two points of the series. */
  readonly secondsPerPoint: number;
  readonly traffic: Traffic;
  /** Maximum of concurrent invocations, over all functions. */
  readonly peakConcurrency: number;
  /** Tasks that had not ended when the simulation stopped. */
  readonly unfinished: number;
}

/** A one-off schedule fires this long before the task is due. `src/core/pipeline/send/dispatch.ts` explains why. */
const scheduleLeadSeconds = 60;

const kinds = { ended: 0, grow: 4, take: 8 } as const;

/** The code of a waiting message holds its tier (2 bits), its attempts so far, and a flag: held by a schedule. */
const attemptsShift = 2;
const scheduledFlag = 1 << 12;

/** Simulates until the last task has ended, or until the backlog lasts too long after the last arrival. */
export const simulate = (model: Model): Outcome => new Simulation(model).run();

class Simulation {
  readonly #model: Model;
  readonly #tiers: TierRun[];
  readonly #traffic: Traffic;
  /** Ends of batches, growth steps of event sources, and ends of batching windows. */
  readonly #events = new EventHeap();
  /** Delayed messages, held by SQS or by a schedule. */
  readonly #held = new EventHeap();
  readonly #thresholds: number[];
  readonly #indexes: ReadonlyMap<Tier, number>;
  readonly #secondsPerPoint: number;
  #nextSecond = 1;
  #nextPoint: number;
  #running = 0;
  #peakConcurrency = 0;
  #nextFiringAt = 0;
  /** Index of the tier that is served first when the account has free concurrency again. */
  #turn = 0;

  constructor(model: Model) {
    this.#model = model;
    this.#tiers = model.tiers.map((tier) => new TierRun(tier));
    this.#traffic = new Traffic(model);
    let sum = 0;
    this.#thresholds = model.tiers.map((tier) => (sum += tier.share));
    this.#indexes = new Map(model.tiers.map(({ tier }, index) => [tier, index]));
    this.#secondsPerPoint = model.seconds / model.points;
    this.#nextPoint = this.#secondsPerPoint;
  }

  run(): Outcome {
    const giveUpAt = this.#model.seconds * 2 + 86_400;
    let arrival = this.#model.arrivals.next();
    for (;;) {
      const now = Math.min(arrival, this.#events.time, this.#held.time);
      if (now >= giveUpAt) break;
      if (now >= this.#nextSecond) this.#tick(now);
      if (now === this.#events.time) this.#onEvent(now);
      else if (now === this.#held.time) this.#onDue(now);
      else {
        this.#submit(now);
        arrival = this.#model.arrivals.next();
      }
    }
    return this.#outcome();
  }

  /** Completes the seconds and the points of the series up to `now`. */
  #tick(now: number): void {
    for (; this.#nextSecond <= now; this.#nextSecond++) {
      for (const tier of this.#tiers) tier.tick(this.#nextSecond);
      // Nothing happens for a long time, so skip seconds that are all alike.
      if (this.#running === 0 && now - this.#nextSecond > 3_600) this.#nextSecond += 1_800;
    }
    for (; this.#nextPoint <= now; this.#nextPoint += this.#secondsPerPoint) {
      for (const tier of this.#tiers) tier.series.close(tier.backlog.size, tier.running);
    }
  }

  #submit(now: number): void {
    const { tasks, spawned } = this.#model.arrivals;
    if (spawned) this.#traffic.spawn(now, tasks);
    else if (!this.#traffic.submit(now, tasks)) return;
    for (let task = 0; task < tasks; task++) this.#accept(now);
    // After all tasks of the request: a worker's batch can have several of them.
    for (const [index, tier] of this.#tiers.entries()) if (tier.sendBatch()) this.#serve(tier, index, now);
  }

  #accept(now: number): void {
    const { random, delayed } = this.#model;
    const index = this.#pickTier();
    const tier = this.#tiers[index] as TierRun;
    tier.outcome.tasks += 1;
    const isDelayed = delayed.share > 0 && random() < delayed.share;
    if (!isDelayed) tier.arrive(now, 0);
    if (!isDelayed || this.#hold(index, now, now + delayed.seconds, 0)) tier.batch += 1;
  }

  #pickTier(): number {
    const { tier } = this.#model.arrivals;
    if (tier !== undefined) return this.#indexes.get(tier) ?? 0;
    if (this.#thresholds.length === 1) return 0;
    const drawn = this.#model.random();
    const index = this.#thresholds.findIndex((threshold) => drawn < threshold);
    return index < 0 ? this.#thresholds.length - 1 : index;
  }

  /**
   * Delays a message as `dispatch` does: in the queue for up to 15 minutes, with a one-off schedule for longer. Returns
   * true when it is in the queue.
   */
  #hold(index: number, now: number, dueAt: number, attempts: number): boolean {
    const code = index | (attempts << attemptsShift);
    const isInQueue = dueAt - now <= limits.delaySeconds.value;
    if (isInQueue) this.#held.push(dueAt, code, dueAt);
    else {
      this.#traffic.schedule(now);
      this.#held.push(dueAt - scheduleLeadSeconds, code | scheduledFlag, dueAt);
    }
    return isInQueue;
  }

  /** A delayed message becomes visible, or a schedule fires. Firings per second are limited. */
  #onDue(now: number): void {
    const { code, value: dueAt } = this.#held;
    this.#held.pop();
    const index = code & 3;
    const tier = this.#tiers[index] as TierRun;
    if ((code & scheduledFlag) === 0) {
      tier.arrive(dueAt, (code & ~scheduledFlag) >> attemptsShift);
      this.#serve(tier, index, now);
      return;
    }
    const firesAt = Math.max(now, this.#nextFiringAt);
    this.#nextFiringAt = firesAt + 1 / limits.firings.value;
    this.#traffic.fire(now);
    tier.send(1);
    this.#held.push(Math.max(firesAt, dueAt), code & ~scheduledFlag, dueAt);
  }

  #onEvent(now: number): void {
    const { code, value } = this.#events;
    this.#events.pop();
    const index = code & 3;
    const tier = this.#tiers[index] as TierRun;
    const kind = code & ~3;
    if (kind === kinds.ended) {
      tier.end(value);
      this.#running -= 1;
      this.#serve(tier, index, now);
      if (this.#tiers.length > 1) this.#serveOthers(now);
      return;
    }
    if (kind === kinds.grow) {
      tier.growing = false;
      if (tier.backlog.size > 0) tier.room.grow(tier.running, now);
    } else {
      tier.gathering = false;
      if (tier.backlog.size > 0) this.#begin(tier, index, now);
    }
    this.#serve(tier, index, now);
  }

  /** The account has free concurrency again: tiers that waited for it take turns. */
  #serveOthers(now: number): void {
    this.#turn = (this.#turn + 1) % this.#tiers.length;
    for (let offset = 0; offset < this.#tiers.length; offset++) {
      const index = (this.#turn + offset) % this.#tiers.length;
      const tier = this.#tiers[index] as TierRun;
      if (tier.obstacle === "account" && tier.backlog.size > 0) this.#serve(tier, index, now);
    }
  }

  /** Starts batches until there are no more messages or a limit is reached. Then stores this limit as the obstacle. */
  #serve(tier: TierRun, index: number, now: number): void {
    tier.obstacle = undefined;
    while (tier.backlog.size > 0) {
      if (!tier.room.fits(tier.running, now)) {
        this.#wantRoom(tier, index, now);
        return;
      }
      if (this.#running + this.#traffic.concurrency >= this.#model.concurrency) {
        tier.obstacle = "account";
        return;
      }
      if (tier.inFlight >= limits.inFlight.value) {
        tier.obstacle = "inFlight";
        return;
      }
      if (tier.model.gatherSeconds > 0) {
        if (!tier.gathering) this.#events.push(now + tier.model.gatherSeconds, kinds.take | index);
        tier.gathering = true;
        return;
      }
      this.#begin(tier, index, now);
    }
  }

  #wantRoom(tier: TierRun, index: number, now: number): void {
    tier.obstacle = tier.room.atMost ? "most" : "ramp";
    tier.room.want(now);
    if (tier.growing || tier.room.atMost) return;
    tier.growing = true;
    this.#events.push(now + tier.room.stepSeconds, kinds.grow | index);
  }

  /** An invocation takes a batch. Its tasks run concurrently, and it ends with the longest one. */
  #begin(tier: TierRun, index: number, now: number): void {
    const { pickUpSeconds, batchSeconds, coldStartSeconds } = this.#model;
    const { backlog, outcome } = tier;
    const messages = Math.min(limits.batch.value, backlog.size);
    const begunAt = now + pickUpSeconds;
    const startsAt = tier.begin(messages, now) ? begunAt + coldStartSeconds : begunAt;
    this.#running += 1;
    let longest = 0;
    for (let message = 0; message < messages; message++) {
      const { since, attempts } = backlog;
      backlog.shift();
      if (attempts === 0) tier.waited(startsAt - since);
      const seconds = tier.model.durations.draw(this.#model.random);
      if (seconds > longest) longest = seconds;
      this.#settle(tier, index, now, startsAt + seconds, attempts + 1);
    }
    outcome.attempts += messages;
    this.#traffic.attempt(now, messages);
    const endsAt = startsAt + longest + batchSeconds;
    outcome.busySeconds += endsAt - begunAt;
    this.#events.push(endsAt, kinds.ended | index, messages);
    const concurrency = this.#running + this.#traffic.concurrency;
    if (concurrency > this.#peakConcurrency) this.#peakConcurrency = concurrency;
  }

  #settle(tier: TierRun, index: number, now: number, endsAt: number, attempts: number): void {
    const { random, failureRate, maxAttempts } = this.#model;
    if (failureRate === 0 || random() >= failureRate) {
      tier.outcome.completed += 1;
      return;
    }
    const failure = { kind: "transient", attempt: attempts, maxAttempts, earlierOfKind: attempts - 1 } as const;
    const decision = decideRetry({}, failure, random);
    if (!decision.retry) tier.outcome.dead += 1;
    else if (this.#hold(index, now, endsAt + decision.waitSeconds, attempts)) tier.send(1);
  }

  #outcome(): Outcome {
    const tiers = this.#tiers.map((tier) => tier.outcome);
    const ended = tiers.reduce((sum, tier) => sum + tier.completed + tier.dead, 0);
    const came = tiers.reduce((sum, tier) => sum + tier.tasks, 0);
    return {
      tiers,
      series: Object.fromEntries(this.#tiers.map((tier) => [tier.model.tier, tier.series.series])),
      secondsPerPoint: this.#secondsPerPoint,
      traffic: this.#traffic,
      peakConcurrency: this.#peakConcurrency,
      unfinished: came - ended,
    };
  }
}
