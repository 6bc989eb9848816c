import type { FirePayload } from "../../src/core/ports/tasks.ts";
import type { Dice } from "./dice.ts";
import type { Scheduler } from "./scheduler.ts";
import { useUp, type Weather } from "./weather.ts";

type Fire = (name: string, payload: FirePayload, sinceMs: number) => void;

/** EventBridge Scheduler's one-offs: each fires at least once, up to a minute late, and is deleted some time after. */
export class Schedules {
  readonly #time: Scheduler;
  readonly #dice: Dice;
  readonly #weather: Weather;
  readonly #fire: Fire;
  readonly #names = new Set<string>();
  /** Number of one-offs so far. */
  count = 0;

  /** @param fire Called each time that a one-off fires. */
  constructor(time: Scheduler, dice: Dice, weather: Weather, fire: Fire) {
    this.#time = time;
    this.#dice = dice;
    this.#weather = weather;
    this.#fire = fire;
  }

  create({ name, at, payload }: { name: string; at: string; payload: FirePayload }): void {
    const time = this.#time;
    const dice = this.#dice;
    const weather = this.#weather;
    if (this.#names.has(name)) return;
    this.#names.add(name);
    this.count += 1;
    const dueAt = Math.floor(Date.parse(at) / 1000) * 1000;
    time.at(dueAt + dice.int(0, 59_999), () => {
      if (!this.#names.has(name)) return;
      this.#fire(name, payload, time.now);
      if (useUp(weather, dice.chance(weather.fireTwice)))
        time.after(dice.spread(1, 7_200_000), () => this.#fire(name, payload, time.now));
      time.after(dice.spread(1, 600_000), () => this.#names.delete(name));
    });
  }

  delete(name: string): void {
    this.#names.delete(name);
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** How many there are. */
  get size(): number {
    return this.#names.size;
  }
}
