import { attemptIsOpen, runInContext } from "../core/task/ambient.ts";
import type { TaskContext } from "../core/task/context.ts";
import type { StepAttempt, StepOptions } from "../core/task/step-calls.ts";
import type { TaskType } from "../core/task/task.ts";
import { inShort } from "../util/foreign-value.ts";
import type { Lines, LogLine, Step, Track } from "./track.ts";

/** The worker of a watched handler. */
export interface Watch {
  readonly track: Track;
  readonly lines: Lines;
  isAlive(): boolean;
  /** Number of the worker's attempt, over all rounds. */
  attempt(): number;
  /** A step of the handler, at which a fault can happen. Undefined: no fault happens there. */
  step(step: HandlerStep, signal: AbortSignal): Promise<void> | undefined;
  /** Throws the error of a fault that replaces the author's code. */
  mustStart(): void;
}

/** A step's name, and the fields of a log line. */
export type HandlerStep = Pick<Step, "name" | "fields">;

/** Makes a step while the attempt is open. */
type MakeStep = (name: string, fields?: LogLine["fields"]) => Promise<void> | undefined;

/**
 * Wraps a type so that the calls of its handler and its `aggregate` on the context, and their ends, are steps. Its
 * progress and its log lines are stored.
 */
export function watchedType(type: TaskType, watch: Watch): TaskType {
  const watched =
    <Given extends unknown[]>(name: string, code: (...given: [...Given, TaskContext]) => unknown) =>
    (...all: [...Given, TaskContext]) => {
      const task = all.at(-1) as TaskContext;
      const given = all.slice(0, -1) as Given;
      const isOpen = attemptIsOpen();
      const step: MakeStep = (name, fields) => (isOpen() ? watch.step({ name, fields }, task.signal) : undefined);
      const context = watchedContext(task, watch, step);
      return stepAfter(step, name, () => {
        watch.mustStart();
        return runInContext(context, () => code(...given, context));
      });
    };
  const { handler, aggregate, onFailed } = type;
  return {
    ...type,
    handler: watched("handler", handler as (input: unknown, task: TaskContext) => unknown),
    onFailed: onFailed && watched("onFailed", onFailed),
    aggregate: aggregate && watched("aggregate", aggregate),
  };
}

function watchedContext(task: TaskContext, { track, lines, isAlive, ...watch }: Watch, step: MakeStep): TaskContext {
  const attempt = watch.attempt();
  return Object.freeze<TaskContext>({
    ...task,
    progress: (percent, details) => {
      void step(`task.progress(${inText(percent)})`);
      task.progress(percent, details);
      const reported = progressOf(percent);
      if (isAlive() && !task.signal.aborted && reported !== undefined) track.progressOf(attempt).push(reported);
    },
    log: lines.storing(task.log, { track, attempt, isAlive }, ({ level, message, fields }) => {
      void step(`task.log.${level}(${message})`, fields);
    }),
    submit: async (...given: unknown[]) => {
      const fault = step(`task.submit(${typeNameIn(given)})`);
      if (fault !== undefined) await fault;
      return (task.submit as Submit)(...given);
    },
    ...watchedSpawns(task, step),
    ...watchedSchedules(task, step),
    ...watchedSteps(task, step),
    signalUrl: async (name, options) => {
      const fault = step(`task.signalUrl(${inText(name)})`);
      if (fault !== undefined) await fault;
      return task.signalUrl(name, options);
    },
    once: async <T>(key: string, effect: (idempotencyKey: string) => Promise<T> | T): Promise<T> => {
      const fault = step(`task.once(${inText(key)})`);
      if (fault !== undefined) await fault;
      return task.once(key, stepping(step, `effect of once ${inText(key)}`, effect));
    },
  });
}

function watchedSteps(
  task: TaskContext,
  step: MakeStep,
): Pick<
  TaskContext,
  "step" | "run" | "sleep" | "sleepUntil" | "waitFor" | "nextSignal" | "waitForAny" | "checkpoint" | "continueLater"
> {
  const before = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
    const fault = step(name);
    if (fault !== undefined) await fault;
    return call();
  };
  return {
    step: <T>(name: string, ...given: [StepRun<T>] | [StepOptions, StepRun<T>]) =>
      before(`task.step(${inText(name)})`, () => {
        const watched = (run: StepRun<T>) => stepping(step, `step ${inText(name)}`, run);
        if (given.length < 2) return task.step(name, watched(given[0] as StepRun<T>));
        return task.step(name, given[0] as StepOptions, watched(given[1] as StepRun<T>));
      }),
    run: (...given: unknown[]) =>
      before(`task.run(${typeNameIn(given)})`, () => (task.run as (...given: unknown[]) => Promise<never>)(...given)),
    sleep: (seconds) => before(`task.sleep(${inText(seconds)})`, () => task.sleep(seconds)),
    sleepUntil: (date) => before(`task.sleepUntil(${inText(date)})`, () => task.sleepUntil(date)),
    waitForAny: (signals, options) =>
      before(`task.waitForAny(${Object.keys(signals ?? {}).join(", ")})`, () => task.waitForAny(signals, options)),
    nextSignal: (name, options) => before(`task.nextSignal(${inText(name)})`, () => task.nextSignal(name, options)),
    waitFor: (name, options) => before(`task.waitFor(${inText(name)})`, () => task.waitFor(name, options)),
    checkpoint: (state) => before("task.checkpoint", () => task.checkpoint(state)),
    continueLater: () => before("task.continueLater", () => task.continueLater()),
  };
}

function watchedSpawns(task: TaskContext, step: MakeStep): Pick<TaskContext, "spawn" | "spawnAll"> {
  return {
    spawn: async (...given: unknown[]) => {
      const fault = step(`task.spawn(${typeNameIn(given)})`);
      if (fault !== undefined) await fault;
      return (task.spawn as Submit)(...given);
    },
    spawnAll: async (...given: unknown[]) => {
      const { name } = (given[0] ?? {}) as { name?: unknown };
      const fault = step(typeof name === "string" ? `task.spawnAll(${name})` : "task.spawnAll");
      if (fault !== undefined) await fault;
      return (task.spawnAll as (...given: unknown[]) => Promise<number>)(...given);
    },
  };
}

function watchedSchedules(task: TaskContext, step: MakeStep): Pick<TaskContext, "putSchedule" | "deleteSchedule"> {
  return {
    putSchedule: async (...given: [unknown, unknown]) => {
      const fault = step(`task.putSchedule(${inText(given[0])})`);
      if (fault !== undefined) await fault;
      return (task.putSchedule as Submit)(...given);
    },
    deleteSchedule: async (name) => {
      const fault = step(`task.deleteSchedule(${inText(name)})`);
      if (fault !== undefined) await fault;
      return task.deleteSchedule(name);
    },
  };
}

/** A submit or a spawn with whatever the handler gives it: the core checks it. */
type Submit = (...given: unknown[]) => Promise<string>;

/** The name of the type in the arguments of a submit, which may be wrong. */
function typeNameIn([first]: readonly unknown[]): string {
  const { type, name } = (first ?? {}) as { type?: unknown; name?: unknown };
  return inText(typeof type === "string" ? type : name);
}

const inText = (value: unknown): string => (typeof value === "string" ? value : inShort(value));

/** The progress that a client sees of a report. Undefined: none. */
function progressOf(percent: unknown): number | undefined {
  const whole = Math.floor(Math.min(100, Math.max(0, percent as number)));
  return Number.isNaN(whole) ? undefined : whole;
}

/** Makes a step of the end of the author's code. What is no function is for the core to refuse. */
const stepping = <Given extends unknown[], T>(
  step: MakeStep,
  name: string,
  run: (...given: Given) => Promise<T> | T,
): typeof run => (typeof run === "function" ? (...given) => stepAfter(step, name, () => run(...given)) : run);

type StepRun<T> = (idempotencyKey: string, attempt: StepAttempt) => Promise<T> | T;

/** Runs code of the author, and then a step: a worker that dies there has done the work, and has not stored it. */
async function stepAfter<T>(step: MakeStep, name: string, call: () => Promise<T> | T): Promise<T> {
  let value: T;
  try {
    value = await call();
  } catch (error) {
    await step(`${name} threw`);
    throw error;
  }
  await step(`${name} returned`);
  return value;
}
