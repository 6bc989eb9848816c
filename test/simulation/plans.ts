import { tiers } from "../../src/core/task.ts";
import type { Dice } from "./dice.ts";
import { lostType, type Step, type TaskPlan } from "./handlers.ts";

const types = ["quick", "quick", "quick", "soon", "soon", "late", "fixed", "fragile"] as const;

/** Draws what a task does in its attempts. */
export function drawTask(dice: Dice, depth = 0): TaskPlan {
  if (dice.chance(0.02)) return { type: lostType, tier: undefined, attempts: [[]] };
  if (dice.chance(0.04)) return { type: "long", tier: undefined, attempts: longAttempts(dice) };
  const attempts: Step[][] = [];
  while (dice.chance(0.45) && attempts.length < 6) attempts.push([...someSteps(dice, depth), badEnd(dice)]);
  // Some never succeed, whatever happens.
  if (attempts.length === 0 || !dice.chance(0.12)) attempts.push(someSteps(dice, depth));
  return { type: dice.pick(types), tier: dice.chance(0.2) ? dice.pick(tiers) : undefined, attempts };
}

/** Attempts that outlive their lease, so that it must be renewed. */
function longAttempts(dice: Dice): Step[][] {
  const steps = (): Step[] => [
    { do: "progress", percent: 10 },
    { do: "sleep", ms: dice.int(30_000, 250_000), deaf: dice.chance(0.5) },
    { do: "progress", percent: 90 },
  ];
  const attempts: Step[][] = [];
  if (dice.chance(0.4)) attempts.push([...steps(), badEnd(dice)]);
  return [...attempts, steps()];
}

function someSteps(dice: Dice, depth: number): Step[] {
  const steps: Step[] = [];
  const percent = 0;
  while (dice.chance(0.5)) {
    const draw = dice.next();
    if (draw < 0.4)
      steps.push({ do: "sleep", ms: dice.spread(1, dice.chance(0.1) ? 20_000 : 2500), deaf: dice.chance(0.3) });
    else if (draw < 0.6) steps.push({ do: "progress", percent });
    else if (draw < 0.8) steps.push({ do: "once", key: `k${dice.int(1, 3)}` });
    else if (draw < 0.92 && depth < 2) steps.push(submitStep(dice, depth));
    else steps.push({ do: "big" });
  }
  return steps;
}

const submitStep = (dice: Dice, depth: number): Step => ({
  do: "submit",
  child: drawTask(dice, depth + 1),
  key: dice.chance(0.5) ? `child-${dice.int(1, 1_000_000)}` : undefined,
  delaySeconds: dice.chance(0.2) ? dice.spread(1, 2000) : undefined,
});

const retried = ["transient", "conflict", "unavailable", "rate_limited"] as const;
const final = ["permanent", "business_rule", "validation", "not_found"] as const;

function badEnd(dice: Dice): Step {
  const draw = dice.next();
  if (draw < 0.4) return { do: "fail", kind: dice.pick(retried) };
  if (draw < 0.5)
    return { do: "fail", kind: "rate_limited", retryAfterSeconds: dice.spread(1, dice.chance(0.1) ? 2_592_000 : 5000) };
  if (draw < 0.6) return { do: "fail", kind: dice.pick(final) };
  return draw < 0.85 ? { do: "exit" } : { do: "hang" };
}
