import { PerSecond } from "./gauges.ts";

/** Load of one request, and of one task, on the API and the table. */
export interface TrafficModel {
  /** The API's throttle: a bucket of tokens, one for each request. */
  readonly throttle: { readonly requestsPerSecond: number; readonly burst: number };
  readonly pollsPerTask: number;
  /** Invocation time of the functions behind a submit and a poll, the authorizer's included. */
  readonly submitSeconds: number;
  /** Invocation time that each further task of a batch adds. */
  readonly entrySeconds: number;
  readonly pollSeconds: number;
  /** Requests of each task that wait for its end, the seconds of each, and how many can wait at the same time. */
  readonly waits: { readonly perTask: number; readonly seconds: number; readonly places: number };
  /** Write units of a submit (including the index) and of an attempt. */
  readonly submitWrites: number;
  /** Write units of a child: those of a submit, and its part of its family. */
  readonly spawnWrites: number;
  readonly attemptWrites: number;
}

/** Counts the requests to and from a simulated pipeline for each second. */
export class Traffic {
  readonly requests = new PerSecond();
  readonly submits = new PerSecond();
  /** Tasks that clients submit and handlers spawn. */
  readonly created = new PerSecond();
  readonly writes = new PerSecond();
  readonly schedules = new PerSecond();
  readonly firings = new PerSecond();
  /**
   * Seconds for which the requests wait that began in each second: the number that waits at the same time while tasks
   * come evenly.
   */
  readonly waits = new PerSecond();
  /** Accepted requests that submit, the time of their invocations, and the tasks of those with more than one. */
  readonly accepted = { requests: 0, seconds: 0, batchTasks: 0 };
  /** Requests that the API's throttle refused with 429. */
  refused = 0;
  firstRefusedAt: number | undefined;
  /** Largest number of waiting one-off schedules, and the first time of it. */
  peakWaiting = { count: 0, atSeconds: 0 };
  readonly #model: TrafficModel;
  #tokens: number;
  #filledAt = 0;
  #second = 0;
  #secondsOfWork = 0;
  #secondsOfWaits = 0;
  /** Concurrent invocations of the API's functions in the last full second. */
  #concurrency = 0;

  constructor(model: TrafficModel) {
    this.#model = model;
    this.#tokens = model.throttle.burst;
  }

  get concurrency(): number {
    return this.#concurrency;
  }

  /**
   * Counts a request that submits tasks, and their polls. Polls follow within seconds, so their rate is that of the
   * submits. False when refused.
   */
  submit(now: number, tasks: number): boolean {
    const { throttle, pollsPerTask, submitSeconds, entrySeconds, pollSeconds, submitWrites, waits } = this.#model;
    const polls = tasks * (pollsPerTask + waits.perTask);
    const waiting = tasks * waits.perTask * waits.seconds;
    const requests = 1 + polls;
    this.requests.add(now, requests);
    this.#tokens = Math.min(throttle.burst, this.#tokens + (now - this.#filledAt) * throttle.requestsPerSecond);
    this.#filledAt = now;
    if (this.#tokens < requests && this.#tokens < throttle.burst) {
      this.refused += 1;
      this.firstRefusedAt ??= now;
      return false;
    }
    this.#tokens -= requests;
    const seconds = submitSeconds + (tasks - 1) * entrySeconds;
    this.accepted.requests += 1;
    this.accepted.seconds += seconds;
    if (tasks > 1) this.accepted.batchTasks += tasks;
    this.submits.add(now, tasks);
    this.created.add(now, tasks);
    this.writes.add(now, tasks * submitWrites);
    this.waits.add(now, waiting);
    this.#occupy(now, seconds + polls * pollSeconds, waiting);
    return true;
  }

  spawn(now: number, tasks: number): void {
    this.created.add(now, tasks);
    this.writes.add(now, tasks * this.#model.spawnWrites);
  }

  attempt(now: number, attempts: number): void {
    this.writes.add(now, attempts * this.#model.attemptWrites);
  }

  schedule(now: number): void {
    this.schedules.add(now, 1);
    const count = this.schedules.total - this.firings.total;
    if (count > this.peakWaiting.count) this.peakWaiting = { count, atSeconds: now };
  }

  fire(now: number): void {
    this.firings.add(now, 1);
  }

  /** Requests beyond the places are answered immediately, so that they take no concurrency. */
  #occupy(now: number, seconds: number, waiting: number): void {
    const second = Math.floor(now);
    if (second !== this.#second) {
      const waits = Math.min(this.#model.waits.places, this.#secondsOfWaits);
      this.#concurrency = second === this.#second + 1 ? Math.ceil(this.#secondsOfWork + waits) : 0;
      this.#second = second;
      this.#secondsOfWork = 0;
      this.#secondsOfWaits = 0;
    }
    this.#secondsOfWork += seconds;
    this.#secondsOfWaits += waiting;
  }
}
