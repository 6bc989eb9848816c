import type { ErrorKind } from "../../src/core/model/errors.ts";
import { type Tier, tiers } from "../../src/core/model/words.ts";
import type { Dice } from "./dice.ts";
import { longStepsType, type StepCall, StepPlanner, type StoredStep, stepTypes } from "./step-plans.ts";
import type { Theme } from "./weather.ts";

/** What a simulated handler does, one after the other. */
export type Step =
  | { do: "sleep"; ms: number; deaf: boolean }
  | { do: "progress"; percent: number }
  | { do: "once"; key: string }
  | {
      do: "submit";
      place: number;
      child: TaskPlan;
      key: string | undefined;
      delaySeconds: number | undefined;
      uniqueKey?: string;
    }
  | { do: "spawn"; place: number; child: TaskPlan; key: string | undefined; expiresInSeconds: number | undefined }
  | { do: "fail"; kind: ErrorKind; retryAfterSeconds?: number }
  /** An error that no code catches, and a handler that goes on. */
  | { do: "stray"; ms: number }
  /** A side effect whose outcome is no JSON. */
  | { do: "unkept" }
  | { do: "exit" }
  | { do: "hang" }
  /** A result beside the record, or in the bucket. */
  | { do: "big"; bytes: number }
  | StoredStep;

/** A task to submit: its type, and the steps of its attempts; the last attempt's steps repeat. */
export interface TaskPlan {
  type: string;
  tier: Tier | undefined;
  attempts: Step[][];
  /** Key of its type's limits. Undefined: none. */
  key?: string;
}

/** Known where tasks are submitted, and to no worker: a deployment that was rolled back half. */
export const lostType = "lost";

const types = ["quick", "quick", "quick", "soon", "soon", "late", "fixed", "fragile"] as const;

/** Types with limits. Their tasks are clients' own, as a child's family may be long. */
const flowTypes = ["placed", "placed", "placed", "placedlong", "rated", "rated", "both", "breaking"] as const;

/** Draws what a task of a client does. */
export function drawOwnTask(dice: Dice, theme: Theme): TaskPlan {
  const plan = drawTask(dice, theme);
  if (!dice.chance(theme === "flow" ? 0.8 : 0.04) || plan.type === familyType) return plan;
  const type = dice.pick(flowTypes);
  const attempts = type === "placedlong" ? [...plan.attempts.slice(0, -1), longWay(dice, 200_000)] : plan.attempts;
  return { ...plan, type, tier: undefined, attempts, key: `k${dice.int(1, 2)}` };
}

/** Draws what a task does: each attempt goes a part of the same way and ends badly, until one goes all of it. */
export function drawTask(dice: Dice, theme: Theme, depth = 0): TaskPlan {
  if (dice.chance(0.02)) return { type: lostType, tier: undefined, attempts: [[]] };
  if (depth < 2 && dice.chance(0.06)) return drawFamily(dice, theme, depth);
  if (dice.chance(stepsShare[theme])) return drawStepsTask(dice, theme, depth);
  const type = drawType(dice, theme);
  const longestMs = longestSleepMs[type];
  const way = longestMs === undefined ? shortWay(dice, theme, depth) : longWay(dice, longestMs);
  const attempts: Step[][] = [];
  while (dice.chance(0.45) && attempts.length < 6)
    attempts.push([...way.slice(0, dice.int(0, way.length)), badEnd(dice, theme)]);
  // Some never succeed, whatever happens.
  if (attempts.length === 0 || !dice.chance(0.12)) attempts.push(way);
  const ownTier = dice.chance(theme === "crowded" || theme === "calm" ? 0.05 : 0.2);
  return { type, tier: ownTier ? dice.pick(tiers) : undefined, attempts };
}

/** Of tasks with steps, by theme. */
const stepsShare = {
  mixed: 0.1,
  battered: 0.05,
  long: 0.03,
  crowded: 0.03,
  calm: 0.03,
  steps: 0.8,
  flow: 0.1,
  unique: 0.02,
  keys: 0,
  late: 0.9,
  resumes: 0,
  receivers: 0.1,
  behind: 0,
  weeks: 0,
  handlers: 0,
  lists: 0,
} as const;

/** A task with steps: each attempt makes the same calls in the same order, up to its bad end. */
function drawStepsTask(dice: Dice, theme: Theme, depth: number): TaskPlan {
  const planner = new StepPlanner(dice, true);
  const way: Step[] = [];
  do {
    if (dice.chance(0.15) && !planner.raced) way.push(...shortWay(dice, theme, depth + 1, way.length).slice(0, 1));
    way.push(planner.next());
  } while (dice.chance(0.7) && way.length < 9);
  const attempts: Step[][] = [];
  while (dice.chance(0.4) && attempts.length < 4)
    attempts.push([...way.slice(0, dice.int(0, way.length)), badEnd(dice, theme)]);
  if (attempts.length === 0 || !dice.chance(0.15)) attempts.push(way);
  if (theme === "late")
    return { type: longStepsType, tier: undefined, attempts: attempts.map((steps) => steps.map(stretched)) };
  return { type: dice.pick(stepTypes), tier: undefined, attempts };
}

/** A step that takes so long that a process may stand still in it for longer than a lease, and its attempt goes on. */
function stretched(step: Step): Step {
  if (step.do === "step" || step.do === "pages") return { ...step, ms: step.ms * 20 };
  return step.do === "together" ? { ...step, calls: step.calls.map((call) => stretched(call) as StepCall) } : step;
}

/** The type whose handler spawns children. */
export const familyType = "family";

/** A task that spawns up to eight children; some attempts die in between, or fail at the end. */
function drawFamily(dice: Dice, theme: Theme, depth: number): TaskPlan {
  const way: Step[] = [];
  const keyed = dice.chance(0.3);
  const planner = dice.chance(0.3) ? new StepPlanner(dice, false) : undefined;
  for (let place = 0; place < dice.int(1, 9); place++) {
    const key = keyed ? `spawned-${place}` : undefined;
    const expiresInSeconds = dice.chance(0.1) ? dice.spread(1, 300) : undefined;
    way.push({ do: "spawn", place, child: drawTask(dice, theme, depth + 1), key, expiresInSeconds });
    if (dice.chance(0.2)) way.push({ do: "sleep", ms: dice.spread(1, 3000), deaf: true });
    if (planner !== undefined && dice.chance(0.3)) way.push(planner.next());
  }
  const attempts: Step[][] = [];
  while (dice.chance(0.3) && attempts.length < 3)
    attempts.push([...way.slice(0, dice.int(0, way.length)), badEnd(dice, theme)]);
  // Some remember by their keys what they have spawned. The family of the last attempt is that of the earlier ones.
  const remembers = keyed && planner === undefined && attempts.length > 0 && way.length % 2 === 0;
  const last = remembers ? way.filter(({ do: what }) => what !== "spawn") : way;
  return { type: familyType, tier: undefined, attempts: [...attempts, last] };
}

/** Of types whose attempts are long, by theme. */
const longShare = {
  mixed: 0.03,
  battered: 0.03,
  long: 0.7,
  crowded: 0.3,
  calm: 0.8,
  steps: 0,
  flow: 0.03,
  unique: 0,
  keys: 0,
  late: 0,
  resumes: 0,
  receivers: 0.03,
  behind: 0,
  weeks: 0,
  handlers: 0,
  lists: 0,
} as const;

/** Of types whose attempts are long, those that take almost all of their worker's time. */
const longestShare = {
  mixed: 0.1,
  battered: 0.1,
  long: 0.1,
  crowded: 0.7,
  calm: 0.5,
  steps: 0,
  flow: 0,
  unique: 0,
  keys: 0,
  late: 0,
  resumes: 0,
  receivers: 0.1,
  behind: 0,
  weeks: 0,
  handlers: 0,
  lists: 0,
} as const;

/** The longest sleep of the types whose attempts are long, in milliseconds. */
const longestSleepMs: Readonly<Record<string, number>> = { long: 250_000, longest: 800_000 };

function drawType(dice: Dice, theme: Theme): string {
  if (!dice.chance(longShare[theme])) return dice.pick(types);
  return dice.chance(longestShare[theme]) ? "longest" : "long";
}

/** Attempts that outlive their lease, so that it must be renewed. */
const longWay = (dice: Dice, mostMs: number): Step[] => [
  { do: "progress", percent: 10 },
  { do: "sleep", ms: dice.int(30_000, mostMs), deaf: dice.chance(0.5) },
  { do: "progress", percent: 90 },
];

/** @param from Number of steps before these. */
function shortWay(dice: Dice, theme: Theme, depth: number, from = 0): Step[] {
  // Many begin with the same side effect, at the same time.
  const steps: Step[] = dice.chance(0.3) ? [{ do: "once", key: "k1" }] : [];
  let percent = 0;
  while (dice.chance(0.6) && steps.length < 8) {
    const draw = dice.next();
    percent += dice.int(1, 30);
    if (draw < 0.35) steps.push({ do: "sleep", ms: sleepMs(dice), deaf: dice.chance(0.4) });
    else if (draw < 0.5) steps.push({ do: "progress", percent });
    else if (draw < 0.7) steps.push({ do: "progress", percent }, { do: "sleep", ms: dice.int(900, 2000), deaf: true });
    else if (draw < 0.83) steps.push({ do: "once", key: `k${dice.int(1, 3)}` });
    else if (draw < 0.92 && depth < 2) steps.push(submitStep(dice, theme, depth, from + steps.length));
    else steps.push(bigStep(dice));
  }
  return steps;
}

const bigStep = (dice: Dice): Step => ({ do: "big", bytes: dice.chance(0.1) ? 310_000 : 5_000 });

/** Within every time-out, but for some. */
const sleepMs = (dice: Dice): number => (dice.chance(0.15) ? dice.spread(2000, 20_000) : dice.spread(1, 2500));

const submitStep = (dice: Dice, theme: Theme, depth: number, place: number): Step => ({
  do: "submit",
  place,
  child: drawTask(dice, theme, depth + 1),
  key: dice.chance(0.5) ? `child-${place}` : undefined,
  delaySeconds: dice.chance(0.2) ? dice.spread(1, 2000) : undefined,
});

const retried = ["transient", "conflict", "unavailable", "rate_limited"] as const;
const final = ["permanent", "business_rule", "validation", "not_found"] as const;

function badEnd(dice: Dice, theme: Theme): Step {
  if ((theme === "battered" || theme === "calm") && dice.chance(0.6)) return { do: "exit" };
  const draw = dice.next();
  if (draw < 0.4) return { do: "fail", kind: dice.pick(retried) };
  if (draw < 0.5) return { do: "fail", kind: "rate_limited", retryAfterSeconds: retryAfterSeconds(dice, theme) };
  if (draw < 0.58) return { do: "fail", kind: dice.pick(final) };
  if (draw < 0.6) return { do: "unkept" };
  if (draw < 0.66) return { do: "stray", ms: dice.int(1, 2000) };
  return draw < 0.85 ? { do: "exit" } : { do: "hang" };
}

function retryAfterSeconds(dice: Dice, theme: Theme): number {
  const longest = 2_592_000;
  if (theme === "steps" && dice.chance(0.2)) return dice.int(longest / 2, longest);
  return dice.spread(1, dice.chance(0.1) ? longest : 5000);
}
