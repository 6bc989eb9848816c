import type { Dice } from "./dice.ts";

/** The parts of AWS that can be down. */
export const services = ["table", "queue", "scheduler", "outside"] as const;
export type Service = (typeof services)[number];

/**
 * The main subject of a world: everything; attempts that outlive their leases; messages that no worker can start; batches that mix
 * tasks of seconds and of minutes; without any fault of AWS, long tasks that crash beside others; tasks with steps, sleeps and signals; tasks
 * that wait for places, rates and pauses; submits that share unique and idempotency keys; in small worlds, a handful of those; long
 * steps in processes that stand still for longer than a lease; or, in small worlds, tasks that all fail after the resume of their type, or
 * tasks that wait for places in a tier that is minutes behind, or a few tasks that wait for weeks, or that
 * use all that a handler can, or inputs that gather in lists.
 */
export type Theme = (typeof themes)[number];
export const themes = [
  ...(["mixed", "long", "battered", "crowded", "calm"] as const),
  ...(["steps", "flow", "unique", "keys", "late", "resumes", "receivers", "behind", "weeks", "handlers"] as const),
  ...(["lists"] as const),
] as const;

/** A world of `flow` in which most types with places run their tasks in strict order. */
export type GivenTheme = Theme | "strict";
export const givenThemes: readonly GivenTheme[] = [...themes, "strict"];

/** How likely each kind of trouble is; 0 where a world does not know it. */
export interface Weather {
  /** A call is refused, and nothing was done. */
  refuse: number;
  /** A call does its work, and its answer is lost. */
  loseAnswer: number;
  /** A call does its work, its answer is lost, and the client calls again by itself. */
  repeat: number;
  /** A call does its work now, and once more some seconds later: a try that its client had given up on. */
  echo: number;
  /** The process dies right before, or right after, its call does its work. */
  dieBefore: number;
  dieAfter: number;
  /** The process stands still for a while. */
  stand: number;
  /** A call takes seconds. */
  slow: number;
  /** A read that may be eventually consistent shows the record as it was one change ago. */
  stale: number;
  /** A message is handed out and stays visible. */
  duplicate: number;
  /** A message whose deletion was answered comes again. */
  undelete: number;
  /** A received message reaches no worker: the function was throttled. */
  throttle: number;
  /** A schedule fires a second time. */
  fireTwice: number;
  /** A response never reaches its client. */
  loseResponse: number;
  /** A process's clock is off by some hundred milliseconds. */
  skew: number;
  /** Troubles that are left: when they are used up, everything works. */
  budget: number;
  /** Troubles so far. */
  used: number;
}

const kinds = {
  refuse: 0.1,
  loseAnswer: 0.1,
  repeat: 0.1,
  echo: 0.2,
  dieBefore: 0.05,
  dieAfter: 0.05,
  stand: 0.05,
  slow: 0.2,
  stale: 0.8,
  duplicate: 0.8,
  undelete: 0.3,
  throttle: 0.3,
  fireTwice: 0.8,
  loseResponse: 0.3,
  skew: 1,
} as const;

const none = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, 0])) as Record<keyof typeof kinds, 0>;

/** Draws a weather: each world has some kinds of trouble only, as much trouble of every kind hides what one kind does. */
export function drawWeather(dice: Dice, theme: Theme): Weather {
  if (["keys", "resumes", "weeks", "handlers", "lists"].includes(theme)) return drawSmallWeather(dice);
  const calm = dice.chance(theme === "crowded" || theme === "behind" ? 0.5 : theme === "steps" ? 0.3 : 0.1);
  const draw = (most: number) => (calm || dice.chance(0.6) ? 0 : most * dice.next());
  const weather: Record<string, number> = {};
  for (const [kind, most] of Object.entries(kinds)) weather[kind] = draw(most);
  const drawn = { ...(weather as Record<keyof typeof kinds, number>), budget: dice.spread(3, 100), used: 0 };
  if (theme === "calm" || (theme === "behind" && calm)) return { ...drawn, ...none, budget: 0 };
  // Workers that go on after their lease, in the middle of a step.
  if (theme === "steps" && dice.chance(0.3)) return { ...drawn, stand: 0.08, echo: 0.08, budget: drawn.budget + 30 };
  if (theme === "late") return { ...drawn, stand: 0.05, budget: drawn.budget + 20 };
  if (theme === "long") return { ...drawn, stand: 0.1, duplicate: 0.3 };
  return theme === "battered"
    ? { ...drawn, duplicate: 0.7, dieAfter: 0.05, throttle: 0.4, budget: drawn.budget + 60 }
    : drawn;
}

/** Troubles of a small world: one or two kinds, a few times, in the middle of its calls. */
function drawSmallWeather(dice: Dice): Weather {
  const weather: Weather = { ...none, budget: dice.int(1, 4), used: 0 };
  for (let count = dice.int(0, 2); count > 0; count--) weather[dice.pick(smallKinds)] = dice.spread(0.02, 0.3);
  return weather;
}

const smallKinds = [
  ...(["dieBefore", "dieAfter", "dieBefore", "dieAfter", "refuse", "loseAnswer"] as const),
  ...(["repeat", "echo", "slow", "stale", "stale", "duplicate", "loseResponse", "stand"] as const),
] as const;

/** Whether trouble comes about: only while there is some left. */
export function useUp(weather: Weather, wanted: boolean): boolean {
  if (!wanted || weather.budget <= 0) return false;
  weather.budget -= 1;
  weather.used += 1;
  return true;
}

/** Times at which a service is down, no worker is called, or the workers' bundle dies as it starts. */
export class Outages {
  readonly #until = new Map<string, number>();

  /** Outages so far. */
  count = 0;

  begin(what: Service | "workers" | "bundle", untilMs: number): void {
    this.count += 1;
    this.#until.set(what, untilMs);
  }

  /** Until when it is down; undefined when it is up. */
  until(what: Service | "workers" | "bundle", nowMs: number): number | undefined {
    const until = this.#until.get(what);
    return until !== undefined && until > nowMs ? until : undefined;
  }
}
