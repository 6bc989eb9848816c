import type { WebhookTry } from "../../../src/api/acts/views.ts";
import type { StepView } from "../../../src/core/control/stored-parts.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import type { AttemptView } from "../../../src/core/pipeline/end/view.ts";
import { duration } from "../format.ts";
import type { Span } from "./task-axis.ts";
import type { Round } from "./task-rounds.ts";

/** A bar on the axis. Looks are classes of the style sheet. */
export interface Mark extends Span {
  look: "wait" | "run" | "held" | "asleep" | "child" | "retrying" | "completed" | "failed" | "cancelled";
  /** True for a time that is to come. */
  isToCome?: boolean;
  /** Tells it from others of its line at the same time. */
  id?: string;
}

/** One thing that happened to a task. */
export interface Line {
  key: string;
  /** Name of an icon. */
  icon: string;
  name: string;
  /** Word after the name, such as an outcome. */
  about?: string;
  /** True below an attempt: a step, a sleep, a signal. */
  isPart?: boolean;
  isBad?: boolean;
  /** True: each bar has a height of its own, one below the other. */
  isStack?: boolean;
  marks: readonly Mark[];
  /** Text at the right: a duration, mostly. */
  took: string;
  /** The attempt, if it has an error. */
  attempt?: AttemptView;
}

/** All that the API tells about a round. The steps and tries of a task are told with its last round. */
export interface Told {
  task: TaskView;
  round: Round;
  /** True for the last round of the task. */
  isLast: boolean;
  steps: readonly StepView[];
  children: readonly TaskView[];
  tries: readonly WebhookTry[];
  nowMs: number;
}

export const ms = (iso: string | null | undefined): number | undefined =>
  iso === null || iso === undefined ? undefined : Date.parse(iso);

/** The bars and the text of a wait whose end is known. */
export function waiting(fromMs: number, untilMs: number, nowMs: number, isOver: boolean, look: Mark["look"] = "wait") {
  const whole = duration(untilMs - fromMs);
  if (isOver) return { marks: [{ fromMs, toMs: untilMs, isWait: true, look }], took: whole };
  const middleMs = Math.min(untilMs, Math.max(fromMs, nowMs));
  const toCome: Mark = { fromMs: middleMs, toMs: untilMs, isWait: true, look, isToCome: true };
  const sofar: Mark = { fromMs, toMs: middleMs, isWait: true, look };
  return { marks: [sofar, toCome], took: `${duration(middleMs - fromMs)} of ${whole}` };
}
