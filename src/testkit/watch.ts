import {
  attemptIsOpen,
  childSubmitOf,
  runInContext,
  type SpawnOptions,
  type TaskContext,
} from "../core/task/context.ts";
import type { TaskType } from "../core/task/task.ts";
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

/** Wraps a type so that the calls of its handler and its `aggregate` on the context, and their ends, are steps. Its progress and its log lines are stored. */
export function watchedType(type: TaskType, watch: Watch): TaskType {
  const watched =
    <Given>(name: string, code: (given: Given, task: TaskContext) => unknown) =>
    (given: Given, task: TaskContext) => {
      const isOpen = attemptIsOpen();
      const step: MakeStep = (name, fields) => (isOpen() ? watch.step({ name, fields }, task.signal) : undefined);
      const context = watchedContext(task, watch, step);
      return stepAfter(step, name, () => {
        watch.mustStart();
        return runInContext(context, isOpen, () => code(given, context));
      });
    };
  const { handler, aggregate } = type;
  return {
    ...type,
    handler: watched("handler", handler as (input: unknown, task: TaskContext) => unknown),
    aggregate: aggregate && watched("aggregate", aggregate),
  };
}

function watchedContext(task: TaskContext, { track, lines, isAlive, ...watch }: Watch, step: MakeStep): TaskContext {
  const attempt = watch.attempt();
  return Object.freeze({
    ...task,
    progress: (percent: number) => {
      void step(`task.progress(${percent})`);
      if (isAlive() && !task.signal.aborted) track.progressOf(attempt).push(percent);
      task.progress(percent);
    },
    log: lines.storing(task.log, { track, attempt, isAlive }, ({ level, message, fields }) => {
      void step(`task.log.${level}(${message})`, fields);
    }),
    submit: async (...given: Parameters<typeof childSubmitOf>) => {
      const child = childSubmitOf(...given);
      const fault = step(`task.submit(${child.type})`);
      if (fault !== undefined) await fault;
      return task.submit(child);
    },
    ...watchedSpawns(task, step),
    ...watchedSteps(task, step),
    once: async <T>(key: string, effect: (idempotencyKey: string) => Promise<T> | T): Promise<T> => {
      const fault = step(`task.once(${key})`);
      if (fault !== undefined) await fault;
      return task.once(key, (idempotencyKey) => stepAfter(step, `effect of once ${key}`, () => effect(idempotencyKey)));
    },
  });
}

function watchedSteps(
  task: TaskContext,
  step: MakeStep,
): Pick<TaskContext, "step" | "sleep" | "waitFor" | "checkpoint" | "continueLater"> {
  const before = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
    const fault = step(name);
    if (fault !== undefined) await fault;
    return call();
  };
  return {
    step: (name, run) =>
      before(`task.step(${name})`, () => task.step(name, (key) => stepAfter(step, `step ${name}`, () => run(key)))),
    sleep: (seconds) => before(`task.sleep(${seconds})`, () => task.sleep(seconds)),
    waitFor: (name, options) => before(`task.waitFor(${name})`, () => task.waitFor(name, options)),
    checkpoint: (state) => before("task.checkpoint", () => task.checkpoint(state)),
    continueLater: () => before("task.continueLater", () => task.continueLater()),
  };
}

function watchedSpawns(task: TaskContext, step: MakeStep): Pick<TaskContext, "spawn" | "spawnAll"> {
  return {
    spawn: async (...given: Parameters<typeof childSubmitOf<SpawnOptions>>) => {
      const child = childSubmitOf(...given);
      const fault = step(`task.spawn(${child.type})`);
      if (fault !== undefined) await fault;
      return task.spawn(child);
    },
    spawnAll: async (...given: unknown[]) => {
      const { name } = given[0] as { name?: unknown };
      const fault = step(typeof name === "string" ? `task.spawnAll(${name})` : "task.spawnAll");
      if (fault !== undefined) await fault;
      return (task.spawnAll as (...given: unknown[]) => Promise<number>)(...given);
    },
  };
}

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
