import type { Lives, Watched } from "./lives.ts";

/** A worker goes on with a line for a minute; the time in which its chain surely is not over, in milliseconds. */
const chainMs = 45_000;

/** A task that a worker takes from its line is claimed in this time, in milliseconds, however far its tier is behind. */
const paceMs = 20_000;

/** A task that was given a place of a line, and was not claimed yet. */
interface HandOver {
  line: string;
  /** When its worker began to go on with the line. */
  chainMs: number;
  atMs: number;
}

/** The promise of hand-overs: the next task of a line starts when one ends, and not when its tier gets to a message. */
export class HandOverLaws {
  readonly #watched: Watched;
  readonly #lives: Lives;
  readonly #isPrompt: () => boolean;
  /** Times at which workers began to go on with lines, by the tasks that they run. */
  readonly #chains = new Map<string, number>();
  readonly #handedOver = new Map<string, HandOver>();

  constructor(watched: Watched, lives: Lives, isPrompt: () => boolean) {
    this.#watched = watched;
    this.#lives = lives;
    this.#isPrompt = isPrompt;
  }

  claimed(task: string): void {
    const { now } = this.#watched.time;
    const handed = this.#handedOver.get(task);
    this.#handedOver.delete(task);
    const isTaken = handed !== undefined && now <= handed.atMs + paceMs;
    this.#chains.set(task, isTaken ? handed.chainMs : now);
  }

  handedOver(line: string, from: string, to: string): void {
    const { time } = this.#watched;
    const atMs = time.now;
    const since = this.#chains.get(from);
    // Not in a chain: a task whose message has just come takes the place of another task, which is on its way.
    if (since === undefined) return;
    this.#handedOver.set(to, { line, chainMs: since, atMs });
    if (atMs > since + chainMs) return;
    time.after(paceMs, () => {
      // A worker that has read the line before may hand over to a task that has just ended.
      const record = this.#lives.pending(to);
      const mayStart = record !== undefined && (record.line === undefined || record.line === line);
      const waits = mayStart && this.#handedOver.get(to)?.atMs === atMs;
      if (waits && this.#isPrompt()) this.#lives.violated(`it got a place in ${line}, and does not start`, to);
    });
  }

  /**
   * A task that meets a pause gives its place back, and waits in the pause's line. After the pause it comes to its own
   * line again, for another place.
   */
  parked(line: string, task: string): void {
    if (this.#handedOver.get(task)?.line !== line) this.#handedOver.delete(task);
  }

  /** The task that had the place for a moment waits on, and the successor hands the place over. */
  givenToSuccessor(from: string, id: string): void {
    this.#chains.set(id, this.#watched.time.now);
    this.#chains.delete(from);
  }
}
