import type { Invocation } from "./invocation.ts";
import { type Service, useUp } from "./weather.ts";
import type { World } from "./world.ts";

/** One request to a service. */
export interface Request<T> {
  service: Service;
  /** For the story. */
  what: () => string;
  /** What the service does, all at once. */
  apply: () => T;
  /** For the story. Default: nothing is told of the answer. */
  answer?: (value: T) => string;
}

type Outcome<T> = { ok: true; value: T } | { ok: false; error: unknown };

/** What befalls a request, and the probability of the same name. */
const troubles = ["refuse", "loseAnswer", "repeat", "echo", "dieBefore", "dieAfter", "stand"] as const;
type Trouble = (typeof troubles)[number];

/** Sends a request over a wire on which everything can go wrong, and gives its answer, if one comes. */
export function request<T>(world: World, from: Invocation, asked: Request<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const give = (outcome: Outcome<T>) => (outcome.ok ? resolve(outcome.value) : reject(outcome.error));
    world.time.after(travelMs(world, from), () => new Arrived(world, from, asked, give).happen());
  });
}

/** A request that has come to its service. */
class Arrived<T> {
  readonly #world: World;
  readonly #from: Invocation;
  readonly #asked: Request<T>;
  readonly #give: (outcome: Outcome<T>) => void;

  constructor(world: World, from: Invocation, asked: Request<T>, give: (outcome: Outcome<T>) => void) {
    this.#world = world;
    this.#from = from;
    this.#asked = asked;
    this.#give = give;
  }

  happen(): void {
    const { dice, outages, time } = this.#world;
    if (!this.#from.process.alive) {
      // It was on its way when its process died.
      if (dice.chance(0.5)) this.#apply(" (its process is dead)");
    } else if (outages.until(this.#asked.service, time.now) !== undefined) {
      excuse(this.#world, this.#from, 20_000);
      this.#fail(" ✗ the service is down");
    } else {
      this.#meet(drawTrouble(this.#world, this.#from));
    }
  }

  #meet(trouble: Trouble | undefined): void {
    const { process } = this.#from;
    if (trouble === "refuse") this.#fail(" ✗ refused");
    else if (trouble === "dieBefore") process.kill(`died before it ${this.#asked.what()}`);
    else this.#work(trouble);
  }

  /** The service does what it was asked; then things may still go wrong. */
  #work(trouble: Trouble | undefined): void {
    const { dice, time } = this.#world;
    if (trouble === "stand") standStill(this.#world, this.#from);
    const outcome = this.#apply(trouble === undefined ? "" : ` ✗ ${trouble}`);
    if (trouble === "dieAfter") this.#from.process.kill(`died after it ${this.#asked.what()}`);
    else if (trouble === "loseAnswer") this.#fail(" ✗ its answer is lost");
    else if (trouble === "repeat") {
      time.after(dice.int(1, 6000), () => this.#answer(this.#apply(" (its client's own second try)")));
    } else {
      if (trouble === "echo") time.after(dice.spread(1, 10_000), () => this.#apply(" (a try that was given up on)"));
      this.#answer(outcome);
    }
  }

  #apply(note: string): Outcome<T> {
    const { what, apply, answer } = this.#asked;
    let outcome: Outcome<T>;
    try {
      outcome = { ok: true, value: apply() };
    } catch (error) {
      outcome = { ok: false, error };
    }
    this.#tell(() => {
      const answered = outcome.ok ? answer?.(outcome.value) : String(outcome.error);
      return `${what()}${answered === undefined ? "" : ` → ${answered}`}${note}`;
    });
    return outcome;
  }

  #answer(outcome: Outcome<T>): void {
    const delayMs = this.#world.dice.chance(0.5) ? 0 : travelMs(this.#world, this.#from);
    this.#from.process.after(delayMs, () => this.#give(outcome));
  }

  #fail(note: string): void {
    this.#tell(() => `${this.#asked.what()}${note}`);
    this.#answer({ ok: false, error: new this.#world.core.errors.PortUnavailable(this.#asked.service) });
  }

  #tell(text: () => string): void {
    this.#world.story.tell(this.#world.time.now, this.#from.name, text);
  }
}

/** Mostly some milliseconds, so that calls overlap in every way; sometimes seconds. */
function travelMs(world: World, from: Invocation): number {
  const { dice, weather } = world;
  if (!useUp(weather, dice.chance(weather.slow))) return dice.int(0, 4);
  const ms = dice.spread(10, 6000);
  excuse(world, from, ms + 10_000);
  return ms;
}

function drawTrouble(world: World, from: Invocation): Trouble | undefined {
  const { dice, weather } = world;
  if (weather.budget <= 0) return undefined;
  let draw = dice.next();
  for (const kind of troubles) {
    draw -= weather[kind];
    if (draw >= 0) continue;
    useUp(weather, true);
    excuse(world, from, 20_000);
    return kind;
  }
  return undefined;
}

/** What an invocation does late within the next time is excused. */
function excuse(world: World, from: Invocation, ms: number): void {
  from.troubledUntil = Math.max(from.troubledUntil, world.time.now + ms);
}

function standStill(world: World, from: Invocation): void {
  const ms = world.dice.spread(100, 300_000);
  world.story.tell(world.time.now, from.name, () => `✗ its process stands still for ${ms} ms`);
  excuse(world, from, ms + 20_000);
  from.process.stand(ms);
}
