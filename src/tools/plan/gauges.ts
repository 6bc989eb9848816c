import { Histogram } from "./histogram.ts";

/** Counts events per second, and stores the highest second overall and of each minute. */
export class PerSecond {
  #second = 0;
  #count = 0;
  #peak = 0;
  #peakAt = 0;
  readonly #minutes: number[] = [];
  #minute = 0;
  #minuteTotal = 0;
  #busiestMinute = 0;
  total = 0;

  /** @param time Seconds from the start, not earlier than in the call before. */
  add(time: number, count: number): void {
    const second = Math.floor(time);
    if (second !== this.#second) this.#close(second);
    const minute = Math.floor(second / 60);
    if (minute !== this.#minute) this.#minuteTotal = 0;
    this.#minute = minute;
    this.#count += count;
    this.#minuteTotal += count;
    this.#busiestMinute = Math.max(this.#busiestMinute, this.#minuteTotal);
    this.total += count;
  }

  /** Highest count of one second, and the time of that second. */
  get peak(): { count: number; atSeconds: number } {
    this.#close(this.#second);
    return { count: this.#peak, atSeconds: this.#peakAt };
  }

  /** Average count per second in the busiest minute. */
  get sustained(): number {
    return this.#busiestMinute / 60;
  }

  /** Highest count of one second, for each minute. */
  get minutes(): readonly number[] {
    this.#close(this.#second);
    return this.#minutes;
  }

  #close(next: number): void {
    const minute = Math.floor(this.#second / 60);
    while (this.#minutes.length <= minute) this.#minutes.push(0);
    this.#minutes[minute] = Math.max(this.#minutes[minute] ?? 0, this.#count);
    if (this.#count > this.#peak) {
      this.#peak = this.#count;
      this.#peakAt = this.#second;
    }
    if (next !== this.#second) this.#count = 0;
    this.#second = next;
  }
}

/** Time series of one tier for the picture: a value for each interval. */
export interface TierSeries {
  /** Highest number of waiting messages. */
  depth: number[];
  /** Concurrent invocations at the interval's end. */
  running: number[];
  /** Waits of the tasks that started in the interval, in seconds. 0 when none started. */
  p50: number[];
  p99: number[];
}

/** Collects one tier's series. */
export class SeriesWriter {
  readonly series: TierSeries = { depth: [], running: [], p50: [], p99: [] };
  readonly #waits = new Histogram();
  #deepest = 0;

  deep(messages: number): void {
    if (messages > this.#deepest) this.#deepest = messages;
  }

  waited(seconds: number): void {
    this.#waits.add(seconds);
  }

  close(depth: number, running: number): void {
    this.series.depth.push(this.#deepest);
    this.#deepest = depth;
    this.series.running.push(running);
    this.series.p50.push(this.#waits.quantile(0.5));
    this.series.p99.push(this.#waits.quantile(0.99));
    if (this.#waits.count > 0) this.#waits.clear();
  }
}
