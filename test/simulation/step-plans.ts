import type { Dice } from "./dice.ts";

/** A call of a handler that later attempts find done. */
export type StepCall =
  /**
   * `risk`: probability that the worker dies in it, or that it throws. `empty`: it returns undefined. `tries`: most
   * attempts of its own; absent: it has none.
   */
  | { do: "step"; name: string; ms: number; risk: number; empty: boolean; tries?: number; waitSeconds?: number }
  | { do: "nap"; place: number; seconds: number }
  | { do: "wait"; name: string; seconds: number };

/** A call whose errors the handler catches, to go on with the next one. */
type Tried = { tried?: boolean };

export type StoredStep =
  | (StepCall & Tried)
  /** Calls at the same time: the handler goes on after all of them, or after the first, with an effect that is no step. */
  | { do: "together"; calls: (StepCall & Tried)[]; race: boolean; actMs: number }
  /** Pages of work with a checkpoint after each, or two at the same time. After `perAttempt` pages the attempt continues later. */
  | { do: "pages"; count: number; ms: number; perAttempt: number; risk: number; twice: boolean };

/** Types whose handlers make such calls. */
export const stepTypes = ["steps", "steps", "lasting"] as const;

/** A type with such calls whose attempts renew their leases. */
export const longStepsType = "longsteps";

export const hasSteps = (type: string): boolean =>
  type === longStepsType || (stepTypes as readonly string[]).includes(type);

/** Names of signals that waits have. */
const signalNames = ["go", "ok", "stop"] as const;

/** Name of a signal that clients send: sometimes one that no task waits for. */
export const drawSignalName = (dice: Dice): string => (dice.chance(0.1) ? "other" : dice.pick(signalNames));

const daySeconds = 86_400;

/** Seconds of a sleep or a wait: none, some seconds, minutes, or days. */
export function drawWaitSeconds(dice: Dice): number {
  const draw = dice.next();
  if (draw < 0.05) return 0;
  if (draw < 0.4) return dice.spread(1, 120);
  return draw < 0.7 ? dice.int(600, 1500) : dice.int(1, 50) * daySeconds;
}

/** Draws calls whose names are new. */
export class StepPlanner {
  readonly #dice: Dice;
  #calls = 0;
  #paged = false;
  #raced = false;
  readonly #names: string[];

  readonly #races: boolean;

  /** @param races True: the handler may go on after the first of several calls. */
  constructor(dice: Dice, races: boolean) {
    this.#dice = dice;
    this.#races = races;
    this.#names = dice.shuffle([...signalNames]);
  }

  /** True after a race: its losers still wait, and all that runs beside a wait must be a step. */
  get raced(): boolean {
    return this.#raced;
  }

  next(): StoredStep {
    const dice = this.#dice;
    const draw = dice.next();
    if (draw < 0.15 && !this.#paged && !this.#raced) {
      this.#paged = true;
      const [count, ms] = [dice.int(1, 6), dice.spread(1, 3000)];
      return {
        do: "pages",
        count,
        ms,
        perAttempt: dice.int(1, 4),
        risk: dice.chance(0.3) ? 0.1 : 0,
        twice: dice.chance(0.4),
      };
    }
    if (draw > 0.25) return this.call();
    const calls = Array.from({ length: dice.int(2, 3) }, () => this.call());
    const race = this.#races && dice.chance(0.4);
    this.#raced ||= race;
    return { do: "together", calls, race, actMs: (this.#calls * 997) % 3_000 };
  }

  /** Every fourth call is tried: without a draw, which would change the worlds of all seeds. */
  call(): StepCall & Tried {
    return this.#calls % 4 === 1 ? { ...this.#draw(), tried: true } : this.#draw();
  }

  #draw(): StepCall {
    const dice = this.#dice;
    const draw = dice.next();
    const place = this.#calls++;
    if (draw < 0.4) return { do: "nap", place, seconds: drawWaitSeconds(dice) };
    const name = draw < 0.7 ? this.#names.pop() : undefined;
    if (name !== undefined) return { do: "wait", name, seconds: drawWaitSeconds(dice) };
    const risk = dice.chance(0.25) ? 0.4 : 0;
    const step = { do: "step", name: `s${place}`, ms: dice.spread(1, 3000), risk, empty: dice.chance(0.15) } as const;
    // Without a draw, which would change the worlds of all seeds.
    if (risk === 0 || place % 2 === 0) return step;
    return { ...step, risk: 0.7, tries: 1 + (place % 4), waitSeconds: place % 3 === 0 ? 2_000 : 20 };
  }
}
