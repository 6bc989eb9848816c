import { isPromise } from "../../util/foreign-value.ts";
import { Misuse, PermanentError } from "../model/errors.ts";
import { Problem } from "../model/problem.ts";
import type { TaskRecord } from "../model/record.ts";
import type { Tier } from "../model/words.ts";
import { anything, type Check, type Checks, type ChecksOf, optionsFault, text } from "./check-options.ts";
import { jsonText, maxValueBytes } from "./json-value.ts";
import { isSignalName } from "./step-calls.ts";
import type { TaskFile } from "./task-file.ts";

/** A unique submit: 1 to 256 characters that name its task among those of its type that have not ended. */
export interface UniqueOptions {
  key: string;
  /**
   * When a task has the key: `existing` returns that task, `reject` fails the attempt as `permanent`, `replace` gives
   * it the new input as long as it waits, `debounce` does the same and lets it wait anew, and `restart` cancels it:
   * the new task starts when that one is over. `collect`, for a type that collects, adds the input to the list of that
   * task. Default: `existing`.
   */
  mode?: "existing" | "reject" | "replace" | "debounce" | "restart" | "collect";
  /** Wait after each submit in seconds, 1 to 86,400. Required with `debounce`, and only allowed there. */
  waitSeconds?: number;
  /**
   * The most seconds from the first submit until the task is due, up to 604,800. Only with `debounce`. Default: ten
   * times `waitSeconds`.
   */
  maxWaitSeconds?: number;
}

/** Options of a handler's submit; all but `key` are those of a client's submit. */
export interface SubmitOptions {
  /** Tier of the task. Default: the type's own. */
  priority?: Tier;
  /** Run no earlier than this many seconds from now, 0 to 31,536,000. Default: 0. */
  delaySeconds?: number;
  /**
   * The task expires when no attempt has started this many seconds after it is first due, 1 to 1,209,600. Default: it
   * does not expire.
   */
  expiresInSeconds?: number;
  /** Most attempts, 1 to 20. Default: the type's own. */
  maxAttempts?: number;
  /** Tags by which clients find the task, at most 10. Default: none. */
  tags?: Record<string, string>;
  /**
   * Effect of a key that another task of the type has that has not ended. Default: the task has no key. A child that
   * `spawn` creates cannot have one.
   * @example { unique: { key: "shop-7", mode: "debounce", waitSeconds: 30 } }
   */
  unique?: UniqueOptions;
  /**
   * Names this submit within the task, so that a retry does not submit it again. Default: its number in the attempt.
   */
  key?: string;
}

/** A handler's submit of a type by its name, such as a type of another service. */
export interface ChildSubmit extends SubmitOptions {
  /** Name of the task type. */
  type: string;
  /** Input of the task, as JSON. */
  input?: unknown;
}

/** Options of a handler's spawn. */
export interface SpawnOptions extends Omit<SubmitOptions, "unique"> {
  /**
   * Files of this task for the child, by their names in the child's type. They are kept as long as this task. Default:
   * none.
   */
  files?: Readonly<Record<string, TaskFile | undefined>>;
}

/** Options of a child whose end the handler awaits. */
export interface RunOptions extends Omit<SpawnOptions, "key"> {
  /**
   * Names this child among those of `run` within the task, 1 to 100 characters: an attempt that makes the call again
   * gets the same child. Default: the number of the call, from 1; a handler that uses `checkpoint` gives a key.
   */
  key?: string;
}

/** A type whose child a handler awaits. Every type that `defineTask` returns fits. */
export interface Runnable<Input = unknown, Output = unknown> {
  readonly name: string;
  /** Never set: carries the types for the compiler. */
  readonly types?: { input: Input; output: Output };
}

/** A handler's run of a type by its name. */
export interface NamedRun extends Omit<ChildSubmit, "unique" | "key">, RunOptions {}

/** A handler's spawn of a type by its name. */
export interface NamedSpawn extends Omit<ChildSubmit, "unique">, SpawnOptions {}

/** A child to spawn: a type by its definition or its name, and its input. */
export type ChildSpawn = Omit<NamedSpawn, "type"> & { type: Submittable | string };

/** Options of a handler's spawn of many children of one type. */
export interface SpawnAllOptions<Input> extends Omit<SpawnOptions, "key"> {
  /** Names a child within the task, so that a retry does not spawn it again. Default: its number, from 0. */
  key?: (input: Input, index: number) => string;
}

/** The part of a task type that a handler's submit needs. Every type that `defineTask` returns fits. */
export interface Submittable<Input = unknown> {
  readonly name: string;
  /** Never set: carries the input's type for the compiler. */
  readonly types?: { input: Input; output: unknown };
}

/** The parts of a handler's schedule that do not depend on the type of its tasks. */
interface ScheduleParts {
  /** Five fields, as in crontab: minute hour day-of-month month day-of-week. Either this or `everySeconds`. */
  cron?: string;
  /** Whole minutes in seconds, 60 to 31536000, counted from `startsAt` or the schedule's creation. */
  everySeconds?: number;
  /** Time zone of `cron`: an IANA name. Default: `UTC`. */
  timezone?: string;
  /** Earliest time, as a date or an ISO text with its offset from UTC. Default: no bound. */
  startsAt?: Date | string;
  /** All times are before this one. Default: no bound. */
  endsAt?: Date | string;
  /** `skip`: a time gets no task while the schedule's last task has not ended. Default: `allow`. */
  overlap?: "allow" | "skip";
  /** False: it submits nothing. Default: true. */
  enabled?: boolean;
  /** True: each time without a task counts for the alarm on missed schedules. Default: false. */
  alarm?: boolean;
  /** Tier of the tasks. Default: the type's own. */
  priority?: Tier;
  /** Attempts for each task, 1 to 20. Default: the type's own. */
  maxAttempts?: number;
  /** Tags of the tasks, at most 10. Default: none. */
  tags?: Record<string, string>;
}

/** A schedule that a handler makes. */
export interface HandlerSchedule<Input = unknown> extends ScheduleParts {
  /** The type of the tasks. */
  type: Submittable<Input>;
  /** Input of the tasks. */
  input: NoInfer<Input>;
}

/** A schedule of a type by its name. */
export interface NamedSchedule extends ScheduleParts {
  /** Name of the task type. */
  type: string;
  /** Input of the tasks, as JSON. */
  input?: unknown;
}

/** Changes the schedules of a task's tenant, for its handler. Throws `PortUnavailable`, and errors for the handler. */
export interface HandlerSchedules {
  /** @returns The schedule's id. */
  put(task: TaskRecord, name: string, schedule: HandlerSchedule | NamedSchedule): Promise<string>;
  delete(task: TaskRecord, name: string): Promise<void>;
}

/** Two objects have the same text, so they cannot be keys. Nor can halves of characters, which are the same bytes. */
const key: Check = (value) => {
  if (typeof value === "number" && Number.isFinite(value)) return undefined;
  return text(value) ?? ((value as string).isWellFormed() ? undefined : "a text without half a character");
};

const uniqueChecks: ChecksOf<UniqueOptions> = {
  key: text,
  mode: anything,
  waitSeconds: anything,
  maxWaitSeconds: anything,
};

/** The values of options are checked as those of a client's submit. */
const common: ChecksOf<Omit<SpawnOptions, "files">> = {
  priority: anything,
  delaySeconds: anything,
  expiresInSeconds: anything,
  maxAttempts: anything,
  tags: anything,
  key,
};

const submitChecks: ChecksOf<SubmitOptions> = { ...common, unique: anything };
const filesOfTask: Check = (value) =>
  typeof value === "object" ? undefined : "an object of files of task.files, by their names in the child's type";

export const spawnChecks: ChecksOf<SpawnOptions> = { ...common, files: filesOfTask };

/** The one form that all forms of a handler's submit, and of its spawn, are recorded in. */
export const childSubmitOf = <Options extends SubmitOptions = SubmitOptions>(
  given: Submittable | string | (ChildSubmit & Options),
  input?: unknown,
  options?: Options,
): ChildSubmit & Options => {
  if (typeof given === "object" && "type" in given) return given;
  return { type: typeof given === "string" ? given : given.name, input, ...options } as ChildSubmit & Options;
};

/** A submit of a handler, in the one form that both forms are recorded in, with an input of its own. */
export const checkedSubmit = (...given: Parameters<typeof childSubmitOf<SubmitOptions>>): ChildSubmit =>
  checked("submit", submitChecks, given);

/** A spawn of a handler, in the one form that both forms are recorded in, with an input of its own. */
export const checkedSpawn = (...given: Parameters<typeof childSubmitOf<SpawnOptions>>): ChildSubmit & SpawnOptions =>
  checked("spawn", spawnChecks, given);

/** A run of a handler, in the one form that both forms are recorded in, with an input of its own. */
export const checkedRun = (...given: Parameters<typeof childSubmitOf<SpawnOptions>>): ChildSubmit & SpawnOptions =>
  checked("run", spawnChecks, given);

/**
 * A change that a handler makes later to an input that it has submitted is not part of the task.
 * @throws PermanentError for an option that does not exist, and for an input that is no JSON
 */
function checked<Options extends SubmitOptions>(
  what: "submit" | "spawn" | "run",
  checks: Checks,
  [type, input, options]: Parameters<typeof childSubmitOf<Options>>,
): ChildSubmit & Options {
  const refuse = (fault: string) => {
    throw new PermanentError(`task.${what}: ${fault}`, { cause: new Misuse(fault) });
  };
  const isNamed = typeof type === "object" && type !== null && "type" in type;
  if (!isNamed && typeof type !== "string" && typeof (type as Submittable | undefined)?.name !== "string") {
    refuse("expected a task type, or its name");
  }
  if (isNamed && typeof type.type !== "string") refuse("type must be the name of a task type");
  const given = isNamed ? type : (options ?? {});
  const fault = optionsFault(given, isNamed ? { ...checks, type: text, input: anything } : checks);
  if (fault !== undefined) refuse(fault);
  const { unique } = given as { unique?: unknown };
  const uniqueFault = unique === undefined ? undefined : optionsFault(unique, uniqueChecks, { within: "unique" });
  if (uniqueFault !== undefined) refuse(uniqueFault);
  const child = childSubmitOf<Options>(type, input, options);
  if (isPromise(child.input)) refuse("input is a Promise: await it");
  return {
    ...child,
    ...(child.key !== undefined && { key: String(child.key) }),
    ...(child.input !== undefined && { input: ownInput(child.input, what) }),
  };
}

function ownInput(input: unknown, what: string): unknown {
  const { text: json } = jsonText(input, `task.${what}: the input`, "input");
  return json === undefined ? input : JSON.parse(json);
}

/**
 * Checks a signal that a client sends.
 * @param body JSON.
 * @throws Problem `invalid_input` for its name, `too_large` for its body
 */
export function checkSignal(name: string, body: unknown): void {
  if (!isSignalName(name)) {
    const message = 'expected 1 to 64 letters, digits, ".", "_" or "-"';
    throw new Problem("invalid_input", `name: ${message}`, { errors: [{ path: "/name", message }] });
  }
  if (Buffer.byteLength(JSON.stringify(body)) > maxValueBytes) {
    throw new Problem("too_large", `A signal has at most ${maxValueBytes} bytes.`);
  }
}
