import type { Tier } from "../../core/model/words.ts";
import { Backlog } from "./backlog.ts";
import type { DurationSource } from "./durations.ts";
import { limits } from "./figures.ts";
import { SeriesWriter } from "./gauges.ts";
import { Histogram } from "./histogram.ts";
import { Room, type Scaling } from "./scaling.ts";

/** Input of the simulation of one tier. */
export interface TierModel {
  readonly tier: Tier;
  /** Share of all tasks, 0 to 1. */
  readonly share: number;
  readonly durations: DurationSource;
  readonly scaling: Scaling;
  /** Batching window: time that the event source waits for more messages before it takes a batch. 0: none. */
  readonly gatherSeconds: number;
}

/** Reason why due messages of a tier had to wait. */
export type Obstacle = "ramp" | "most" | "account" | "inFlight";

/** Time that an obstacle held messages up. */
export interface Held {
  /** Total number of seconds at whose start it held messages up. */
  seconds: number;
  /** Longest series of such seconds, and its first second. */
  longestSeconds: number;
  longestFrom: number;
}

/** Result of the simulation of one tier. */
export interface TierOutcome {
  tier: Tier;
  /** Tasks that arrived. */
  tasks: number;
  completed: number;
  /** Tasks that failed permanently. */
  dead: number;
  attempts: number;
  /** Messages sent, retries included. */
  sends: number;
  /** Calls to SQS that sent them. */
  sendCalls: number;
  invocations: number;
  coldStarts: number;
  /** Billed time of all worker invocations. */
  busySeconds: number;
  /** Times from a task's due time to the start of its first attempt. */
  waits: Histogram;
  /** Maximum of concurrent invocations: allowed (`mostRunning`) and needed (`peakRunning`). */
  mostRunning: number;
  peakRunning: number;
  peakDepth: number;
  peakInFlight: number;
  /** Longest of `waits`, in seconds. */
  longestWait: number;
  /** Highest number of invocations started in one second, and its time. */
  peakStarts: { count: number; atSeconds: number };
  /** Highest number of new environments within ten seconds, and its time. */
  peakNew: { count: number; atSeconds: number };
  /** Times that messages were held up, by obstacle. */
  held: Record<Obstacle, Held>;
}

const notHeld = (): Held => ({ seconds: 0, longestSeconds: 0, longestFrom: 0 });

/** Assumed lifetime of idle environments. AWS does not document it. */
const environmentMinutes = 10;

/** Lambda counts a function's new environments in windows of this length. */
const environmentWindowSeconds = 10;

/** Counts an event in its time window, and stores the window with the highest count. */
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

/** State of one tier during the simulation. */
export class TierRun {
  readonly model: TierModel;
  readonly outcome: TierOutcome;
  readonly backlog = new Backlog();
  readonly room: Room;
  readonly series = new SeriesWriter();
  /** Messages of the present request, which are sent together. */
  batch = 0;
  running = 0;
  inFlight = 0;
  /** True while a growth step, or the end of a batching window, is among the events. */
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
      ...{
        tasks: 0,
        completed: 0,
        dead: 0,
        attempts: 0,
        sends: 0,
        sendCalls: 0,
        invocations: 0,
        coldStarts: 0,
        busySeconds: 0,
      },
      waits: new Histogram(),
      mostRunning: model.scaling.most,
      ...{ peakRunning: 0, peakDepth: 0, peakInFlight: 0 },
      longestWait: 0,
      peakStarts: { count: 0, atSeconds: 0 },
      peakNew: { count: 0, atSeconds: 0 },
      held: { ramp: notHeld(), most: notHeld(), account: notHeld(), inFlight: notHeld() },
    };
  }

  /** Sends the messages of the present request. Returns false when it has none for this tier. */
  sendBatch(): boolean {
    const messages = this.batch;
    this.batch = 0;
    this.send(messages);
    return messages > 0;
  }

  /** Counts messages that are sent at the same time. */
  send(messages: number): void {
    this.outcome.sends += messages;
    this.outcome.sendCalls += Math.ceil(messages / limits.sendBatch.value);
  }

  /** Stores the wait of a task whose first attempt starts. */
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

  /** Starts an invocation with these messages. Returns true when it needs a new environment (a cold start). */
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

  /** Called once per second. Counts the obstacle at its start. */
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

  /** Removes environments that were not needed in the last minutes. */
  #trim(): void {
    this.#minutePeaks.push(this.#minutePeak);
    if (this.#minutePeaks.length > environmentMinutes) this.#minutePeaks.shift();
    this.#environments = Math.min(this.#environments, Math.max(...this.#minutePeaks));
    this.#minutePeak = this.running;
  }
}
