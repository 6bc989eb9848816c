import type { Tier } from "../core/tier.ts";
import { Backlog } from "./backlog.ts";
import type { DurationSource } from "./durations.ts";
import { SeriesWriter } from "./gauges.ts";
import { Histogram } from "./histogram.ts";
import { Room, type Scaling } from "./scaling.ts";

/** One tier as it is simulated. */
export interface TierModel {
  readonly tier: Tier;
  /** Which part of all tasks goes into it. */
  readonly share: number;
  readonly durations: DurationSource;
  readonly scaling: Scaling;
  /** How long the event source lets a batch gather before it takes it, one batch at a time; 0: takes at once. */
  readonly gatherSeconds: number;
}

/** Why messages of a tier had to wait although they could start. */
export type Obstacle = "ramp" | "most" | "account" | "inFlight";

/** How an obstacle was felt. */
export interface Held {
  /** The seconds at whose start it held messages up, all together. */
  seconds: number;
  /** The most of them in a row, and the first of these. */
  longestSeconds: number;
  longestFrom: number;
}

/** What became of one tier. */
export interface TierOutcome {
  tier: Tier;
  /** Tasks that came. */
  tasks: number;
  completed: number;
  /** Tasks that failed for good. */
  dead: number;
  attempts: number;
  /** Messages sent, retries included. */
  sends: number;
  invocations: number;
  coldStarts: number;
  /** Billed time of the worker, over all invocations. */
  busySeconds: number;
  /** From when a task could start until it did; retries left out. */
  waits: Histogram;
  /** Invocations at once at the most, as allowed and as needed. */
  mostRunning: number;
  peakRunning: number;
  peakDepth: number;
  peakInFlight: number;
  /** From when a task could start until it did, at the most. */
  longestWait: number;
  /** Invocations that began in a second, at the most, and when. */
  peakStarts: { count: number; atSeconds: number };
  /** New environments within ten seconds, at the most, and when. */
  peakNew: { count: number; atSeconds: number };
  /** What held messages up, by obstacle. */
  held: Record<Obstacle, Held>;
}

const unfelt = (): Held => ({ seconds: 0, longestSeconds: 0, longestFrom: 0 });

/** Idle environments are given up after about this long; AWS does not promise any time. */
const environmentMinutes = 10;

/** Lambda counts a function's new environments in windows of this length. */
const environmentWindowSeconds = 10;

/** Counts an event in its window of time, and keeps the window that had the most. */
function countIn(
  current: { window: number; count: number },
  peak: { count: number; atSeconds: number },
  now: number,
  seconds: number,
): void {
  const window = Math.floor(now / seconds);
  if (window !== current.window) Object.assign(current, { window, count: 0 });
  current.count += 1;
  if (current.count > peak.count) Object.assign(peak, { count: current.count, atSeconds: window * seconds });
}

/** A tier's state while it is simulated. */
export class TierRun {
  readonly model: TierModel;
  readonly outcome: TierOutcome;
  readonly backlog = new Backlog();
  readonly room: Room;
  readonly series = new SeriesWriter();
  running = 0;
  inFlight = 0;
  /** Whether a step of growth, or a gathering batch, is among the events. */
  growing = false;
  gathering = false;
  obstacle: Obstacle | undefined;
  #heldBy: Obstacle | undefined;
  #heldFrom = 0;
  #environments = 0;
  #minutePeak = 0;
  readonly #minutePeaks: number[] = [];
  readonly #starts = { window: 0, count: 0 };
  readonly #new = { window: 0, count: 0 };

  constructor(model: TierModel) {
    this.model = model;
    this.room = new Room(model.scaling);
    this.outcome = {
      tier: model.tier,
      ...{ tasks: 0, completed: 0, dead: 0, attempts: 0, sends: 0, invocations: 0, coldStarts: 0, busySeconds: 0 },
      waits: new Histogram(),
      mostRunning: model.scaling.most,
      ...{ peakRunning: 0, peakDepth: 0, peakInFlight: 0 },
      longestWait: 0,
      peakStarts: { count: 0, atSeconds: 0 },
      peakNew: { count: 0, atSeconds: 0 },
      held: { ramp: unfelt(), most: unfelt(), account: unfelt(), inFlight: unfelt() },
    };
  }

  /** A task's first attempt starts. */
  waited(seconds: number): void {
    this.outcome.waits.add(seconds);
    this.series.waited(seconds);
    if (seconds > this.outcome.longestWait) this.outcome.longestWait = seconds;
  }

  /** A message becomes visible. */
  arrive(since: number, attempts: number): void {
    this.backlog.push(since, attempts);
    this.series.deep(this.backlog.size);
    if (this.backlog.size > this.outcome.peakDepth) this.outcome.peakDepth = this.backlog.size;
  }

  /** An invocation takes messages; gives whether it needs a new environment. */
  begin(messages: number, now: number): boolean {
    const { outcome } = this;
    this.running += 1;
    this.inFlight += messages;
    outcome.invocations += 1;
    if (this.running > this.#minutePeak) this.#minutePeak = this.running;
    if (this.running > outcome.peakRunning) outcome.peakRunning = this.running;
    if (this.inFlight > outcome.peakInFlight) outcome.peakInFlight = this.inFlight;
    countIn(this.#starts, outcome.peakStarts, now, 1);
    if (this.running <= this.#environments) return false;
    this.#environments = this.running;
    outcome.coldStarts += 1;
    countIn(this.#new, outcome.peakNew, now, environmentWindowSeconds);
    return true;
  }

  end(messages: number): void {
    this.running -= 1;
    this.inFlight -= messages;
  }

  /** Called for each second, with what holds messages up at its start. */
  tick(second: number): void {
    const obstacle = this.backlog.size > 0 ? this.obstacle : undefined;
    if (obstacle !== this.#heldBy) this.#heldFrom = second;
    this.#heldBy = obstacle;
    if (obstacle !== undefined) {
      const held = this.outcome.held[obstacle];
      const inARow = second - this.#heldFrom + 1;
      held.seconds += 1;
      if (inARow > held.longestSeconds) Object.assign(held, { longestSeconds: inARow, longestFrom: this.#heldFrom });
    }
    if (second % 60 === 0) this.#trim();
  }

  /** Gives up environments that were not needed lately. */
  #trim(): void {
    this.#minutePeaks.push(this.#minutePeak);
    if (this.#minutePeaks.length > environmentMinutes) this.#minutePeaks.shift();
    this.#environments = Math.min(this.#environments, Math.max(...this.#minutePeaks));
    this.#minutePeak = this.running;
  }
}
