import type { Dice } from "./dice.ts";
import type { Step } from "./plans.ts";
import type { StepCall } from "./step-plans.ts";

/** A type whose handler makes each kind of call, and whose `onFailed` runs. */
export const jobType = "jobs";

/** The children of its tasks. */
export const jobChildType = "jobchild";

/** Name of the signals that it reads one after the other. */
export const jobSignal = "msg";

/** A call of its handler. Calls that fail for good are caught. */
export type JobCall =
  | Extract<StepCall, { do: "step" | "nap" }>
  | { do: "run"; key: string; attempts: Step[][] }
  | { do: "next"; seconds: number }
  | { do: "progress"; percent: number };

export interface JobPlan {
  /** Calls of a group are made at the same time. */
  groups: JobCall[][];
  /** The children that it spawns. */
  spawns: { key: string; attempts: Step[][]; delaySeconds: number }[];
  /** It fails for good in so many rounds, and in one attempt before in another way. */
  failingRounds: number;
  stumbles: boolean;
}

/** Attempts of a child: some fail, and some end for good without success. */
function drawChild(dice: Dice): Step[][] {
  const work: Step = { do: "sleep", ms: dice.spread(1, 4_000), deaf: false };
  const end: Step[] = dice.chance(0.3) ? [{ do: "fail", kind: "permanent" }] : [];
  const bad: Step = dice.chance(0.5) ? { do: "exit" } : { do: "fail", kind: "transient" };
  return dice.chance(0.3)
    ? [
        [work, bad],
        [work, ...end],
      ]
    : [[work, ...end]];
}

export function drawJob(dice: Dice): JobPlan {
  let count = 0;
  const call = (): JobCall => {
    const place = count++;
    const draw = dice.next();
    if (draw < 0.3) return { do: "run", key: `r${place}`, attempts: drawChild(dice) };
    if (draw < 0.5) return { do: "next", seconds: dice.spread(1, 100_000) };
    if (draw < 0.6) return { do: "nap", place, seconds: dice.spread(1, 5_000) };
    if (draw < 0.7) return { do: "progress", percent: dice.int(0, 100) };
    const step = { do: "step", name: `s${place}`, ms: dice.spread(1, 2_000), empty: dice.chance(0.2) } as const;
    if (dice.chance(0.4)) return { ...step, risk: 0.3 };
    return { ...step, risk: 0.6, tries: dice.int(1, 4), waitSeconds: dice.spread(1, 2_000) };
  };
  // One stream is read by one call at a time.
  const group = (): JobCall[] => {
    const calls = Array.from({ length: dice.chance(0.4) ? dice.int(2, 4) : 1 }, call);
    return calls.filter(
      (one, index) => one.do !== "next" || calls.findIndex(({ do: kind }) => kind === "next") === index,
    );
  };
  const spawned = dice.chance(0.3) ? dice.int(1, 5) : 0;
  const spawn = (_: unknown, place: number) => ({
    ...{ key: `c${place}`, attempts: drawChild(dice) },
    delaySeconds: dice.chance(0.5) ? dice.spread(1, 5_000) : 0,
  });
  return {
    groups: Array.from({ length: dice.int(1, 4) }, group),
    spawns: Array.from({ length: spawned }, spawn),
    failingRounds: dice.chance(0.4) ? dice.int(1, 2) : 0,
    stumbles: dice.chance(0.3),
  };
}
