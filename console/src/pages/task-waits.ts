import type { StepView } from "../../../src/core/control/stored-parts.ts";
import { type Line, ms, type Told, waiting } from "./task-line.ts";
import type { Bar, Round } from "./task-rounds.ts";

/** The time of an attempt, in epoch milliseconds. Undefined: it has not started. */
export function spanOf(round: Round, bar: Bar): { fromMs: number; toMs: number } | undefined {
  if (bar.runMs === undefined) return undefined;
  const fromMs = Date.parse(round.startedAt) + bar.fromMs + bar.waitMs;
  return { fromMs, toMs: fromMs + bar.runMs };
}

/** A sleep, or a wait for a signal, with the attempt in which it was. */
export interface Held {
  step: StepView;
  /** The end of the wait before it, or the start of its attempt: the API has no start of a wait. */
  fromMs: number;
  toMs: number;
  ofBar: Bar;
}

const isHeld = ({ kind }: StepView): boolean => kind === "sleep" || kind === "wait";

/** The end of a wait: the signal that came, else the time of its end. */
function endOf(step: StepView, steps: readonly StepView[]): number | undefined {
  const signal = steps.find(({ kind, name }) => kind === "signal" && name === step.name);
  return (step.kind === "wait" ? ms(signal?.at) : undefined) ?? ms(step.until);
}

/** The waits of a round's attempts, one after the other. A wait that ended before the round is left out. */
export function waitsIn({ round, steps }: Told): Held[] {
  const found: Held[] = [];
  const bars = round.bars.flatMap((bar) => ({ bar, span: spanOf(round, bar) }));
  let beforeMs = 0;
  for (const step of steps.filter(isHeld)) {
    const endMs = endOf(step, steps);
    if (endMs === undefined) continue;
    const open = bars.findLast(({ span }) => span !== undefined);
    const of = bars.find(({ span }) => span && endMs >= span.fromMs && endMs <= span.toMs) ?? open;
    if (of?.span === undefined || endMs < of.span.fromMs) continue;
    const fromMs = Math.max(of.span.fromMs, Math.min(beforeMs, of.span.toMs));
    found.push({ step, fromMs, toMs: Math.max(fromMs, endMs), ofBar: of.bar });
    beforeMs = endMs;
  }
  return found;
}

const partLooks: Readonly<Record<string, [string, string]>> = {
  sleep: ["asleep", "sleep"],
  wait: ["waiting", "signal"],
  step: ["open", "step"],
  try: ["failed", "step"],
  run: ["tasks", "child"],
  state: ["open", "checkpoint"],
  submit: ["submit", "submitted tasks"],
};

/** The handler's calls in their order. Only those that wait have times. */
export function stepLines(told: Told): Line[] {
  const held = waitsIn(told);
  const signals = told.steps.filter(({ kind }) => kind === "signal");
  return told.steps.flatMap((step): Line[] => {
    const [icon, word] = partLooks[step.kind] ?? [];
    if (icon === undefined || word === undefined) return [];
    const signal = signals.find(({ name }) => step.kind === "wait" && name === step.name);
    const bad = step.error != null || step.timed_out || signal?.timed_out === true;
    const wait = held.find((one) => one.step === step);
    return [
      {
        ...{ key: `${step.kind} ${step.name}`, icon: bad ? "failed" : icon, isPart: true, isBad: bad },
        // Most parents have a single end of each child, so its number is left out.
        name:
          step.kind === "state" ? word : `${word} ${step.kind === "run" ? step.name.replace(/ #1$/, "") : step.name}`,
        about: aboutStep(step, signal, told.nowMs),
        ...(wait ? heldBars(told.nowMs, wait) : { marks: [], took: "" }),
      },
    ];
  });
}

/** A wait whose attempt has ended is over, too. */
function heldBars(nowMs: number, { fromMs, toMs, ofBar }: Held): Pick<Line, "marks" | "took"> {
  const untilMs = Math.max(fromMs, Math.min(toMs, ms(ofBar.attempt?.finished_at) ?? toMs));
  return waiting(fromMs, untilMs, nowMs, untilMs <= nowMs, "asleep");
}

function aboutStep(step: StepView, signal: StepView | undefined, nowMs: number): string {
  if (step.error != null) return `failed: ${step.error}`;
  if (step.timed_out || signal?.timed_out) return "timed out";
  if (step.kind === "step" || step.kind === "run") return "done";
  if (step.kind === "state") return step.attempt === null ? "" : `of attempt ${step.attempt}`;
  if (step.kind === "wait") return signal === undefined ? "" : "came";
  return step.kind === "sleep" && (ms(step.until) ?? 0) > nowMs ? "until then" : "";
}
