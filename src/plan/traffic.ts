import { PerSecond } from "./gauges.ts";

/** Load of one task on the API and the table. */
export interface TrafficModel {
  /** The API's throttle: a bucket of tokens, one for each request. */
  readonly throttle: { readonly requestsPerSecond: number; readonly burst: number };
  readonly pollsPerTask: number;
  /** Invocation time of the functions behind a submit and a poll, the authorizer's included. */
  readonly submitSeconds: number;
  readonly pollSeconds: number;
  /** Write units of a submit (including the index) and of an attempt. */
  readonly submitWrites: number;
  readonly attemptWrites: number;
}

/** Counts the requests to and from a simulated pipeline for each second. */
export class Traffic {
  readonly requests = new PerSecond();
  readonly submits = new PerSecond();
  readonly writes = new PerSecond();
  readonly schedules = new PerSecond();
  readonly firings = new PerSecond();
  /** Submits that the API's throttle refused with 429. */
  refused = 0;
  firstRefusedAt: number | undefined;
  /** Largest number of waiting one-off schedules, and the first time of it. */
  peakWaiting = { count: 0, atSeconds: 0 };
  readonly #model: TrafficModel;
  #tokens: number;
  #filledAt = 0;
  #second = 0;
  #secondsOfWork = 0;
  /** Concurrent invocations of the API's functions in the last full second. */
  #concurrency = 0;

  constructor(model: TrafficModel) {
    this.#model = model;
    this.#tokens = model.throttle.burst;
  }

  get concurrency(): number {
    return this.#concurrency;
  }

  /** Counts a submit and its polls. Polls follow within seconds, so their rate is that of the submits. False when refused. */
  submit(now: number): boolean {
    const { throttle, pollsPerTask, submitSeconds, pollSeconds, submitWrites } = this.#model;
    const requests = 1 + pollsPerTask;
    this.requests.add(now, requests);
    this.#tokens = Math.min(throttle.burst, this.#tokens + (now - this.#filledAt) * throttle.requestsPerSecond);
    this.#filledAt = now;
    if (this.#tokens < requests && this.#tokens < throttle.burst) {
      this.refused += 1;
      this.firstRefusedAt ??= now;
      return false;
    }
    this.#tokens -= requests;
    this.submits.add(now, 1);
    this.writes.add(now, submitWrites);
    this.#occupy(now, submitSeconds + pollsPerTask * pollSeconds);
    return true;
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

  #occupy(now: number, seconds: number): void {
    const second = Math.floor(now);
    if (second !== this.#second) {
      this.#concurrency = second === this.#second + 1 ? Math.ceil(this.#secondsOfWork) : 0;
      this.#second = second;
      this.#secondsOfWork = 0;
    }
    this.#secondsOfWork += seconds;
  }
}
