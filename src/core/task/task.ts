import type * as z from "zod";
import type { ClassifyRule } from "../model/classify.ts";
import type { FileOptions } from "../model/stored-file.ts";
import type { Tier } from "../model/words.ts";
import { type ChecksOf, calledAt, nameIn } from "./check-options.ts";
import type { TaskContext } from "./context.ts";
import { filesFault } from "./file-options.ts";
import type { Submittable } from "./handler-submit.ts";
import type { Children, ChildrenFit, ChildrenOptions, NoAggregate, ResultOfTask, ReturnsFit } from "./result.ts";
import type { ReadInput, RetryPolicy, TaskFailure } from "./retry.ts";
import type { TaskFile } from "./task-file.ts";
import {
  type BreakerOption,
  type CollectOption,
  type ConcurrencyOption,
  type LimitedType,
  limitsFault,
  type RateLimitOption,
  type RateListOption,
  typeRate,
} from "./type-limits.ts";
import { partWithoutJson, type RunsOn, typeFault, typeOptions } from "./type-options.ts";

/** Steps that change an input of one version into the next version, by the version that the step starts from. */
export type Upcasts = { readonly [fromVersion: number]: (input: never) => unknown };

/** The options of one task type. */
export interface TaskOptions<
  Input extends z.ZodType,
  Output,
  Name extends string = string,
  Files extends FilesOption = Record<string, never>,
  State extends z.ZodType = z.ZodUnknown,
  Result extends z.ZodType = z.ZodType,
  Aggregated = unknown,
  Parent extends object | undefined = ChildrenOptions<z.output<Input>>,
  Collect extends CollectOption | undefined = undefined,
> {
  /** The type's name, as clients submit it: lower case words joined by dots, up to 64 characters. */
  name: Name;
  /** One sentence for people who list the types. Default: none. */
  description?: string;
  /**
   * Schema of the input, as it arrives as JSON. Submit checks what JSON Schema expresses before anything is written:
   * types, formats, ranges, patterns. The worker checks the whole schema before each attempt. An input that only a
   * refinement or a transform refuses is accepted, and its task fails with `validation` in its first attempt, without a
   * call of the handler.
   */
  input: Input;
  /**
   * Version of the input's shape, 1 to 1000. Add 1 when a change of shape or meaning would make the handler misread an
   * input that is queued already, and add the step to the new version to `upcast`. Default: 1.
   */
  version?: number;
  /**
   * Steps that bring inputs of earlier versions to the present version: `1` is the step from version 1 to 2, and so on,
   * without a gap. A step gets the submitted input, or the result of the step before, and returns the input that a
   * client would submit for the next version, synchronously and without side effects. A task whose version has no step,
   * or whose step throws, becomes a dead letter of kind `validation`. Default: none.
   * @example { 1: ({ name }: { name: string }) => ({ firstName: name, lastName: "" }) }
   */
  upcast?: Upcasts;
  /**
   * Schema of the result: of what `aggregate` returns, or the handler where it spawned no child. A result that does not
   * fit fails the attempt as `permanent`; the compiler refuses one of another shape. A file is not checked. Default:
   * unchecked.
   */
  output?: Result;
  /** The tier of tasks submitted without one. Default: `normal`. */
  priority?: Tier;
  /**
   * `container`: attempts run in container workers (`npx offload work`), for up to 12 hours. `function`: in worker
   * functions, for up to 14 minutes. Default: `function`.
   */
  runsOn?: RunsOn;
  /** Time-out of one attempt in seconds, 1 to 840; with `runsOn: "container"` 1 to 43,200. Default: 60. */
  timeoutSeconds?: number;
  /** The most attempts of a task, 1 to 20. A submit may set its own number. Default: 5. */
  maxAttempts?: number;
  /** Waits between attempts. Default: 30, 120, 480, 1800, 7200 s, each lengthened by a random 0 to 50 %. */
  retry?: RetryPolicy;
  /** Rules that name the failure class of this type's own errors, tried before the common ones. Default: none. */
  classify?: readonly ClassifyRule[];
  /**
   * Attempts that run at the same time, per tenant: 1 to 10,000, of all tasks of the type or of those with the same
   * key. With a key, `limit` may be a function of the input: that of the key's newest input counts.
   * Further tasks wait, and start in order of their submission. Default: no limit.
   * @example { key: ({ account }) => account, limit: 3 }
   */
  concurrency?: ConcurrencyOption<z.output<Input>>;
  /**
   * Starts of attempts in a time, per tenant, evenly spaced: of all tasks of the type or of those with the same key.
   * Further tasks wait, and start in order of their submission. Of a list of rates, all must allow a start. Default: no
   * limit.
   * @example { key: ({ account }) => account, limit: 100, perSeconds: 60 }
   */
  rateLimit?: RateLimitOption<z.output<Input>> | RateListOption<z.output<Input>>;
  /**
   * Failed attempts in a row, per tenant, that stop the type, or its tasks with the same key: they wait, and after the
   * cool-down one of them tries. Default: no breaker.
   * @example { failures: 10, coolDownSeconds: 60 }
   */
  breaker?: BreakerOption<z.output<Input>>;
  /**
   * Inputs of submits with one unique key, in the mode `collect`, gather in one task. It is due `waitSeconds` after the
   * first input, or when it has `maxItems`. The handler gets an array, in the order of acceptance; of any other submit
   * an array of one. `input` is the schema of each. A `key` of `concurrency`, `rateLimit` or `breaker` gets one input,
   * and has to be the same for all of a list. Default: each submit is a task.
   * @example { maxItems: 100, waitSeconds: 30 }
   */
  collect?: Collect;
  /** True when clients may cancel tasks of this type. Default: true. */
  cancellable?: boolean;
  /**
   * True when inputs contain data that must not be logged, such as personal data. Then error messages of attempts are
   * not logged, the handler's own log lines lose their fields' values, and texts of the input are removed from their
   * messages. Answers about the task, webhooks and events still have the text of its error. Default: false.
   */
  sensitive?: boolean;
  /**
   * True to keep the input of every task of this type until the end of its retention, for people who read tasks: one
   * write of the input's size a task, and one at its end. Not for a sensitive type. Default: an input is kept where it
   * costs nothing, as in a record of less than 1 KB.
   */
  keepInput?: boolean;
  /**
   * `result`: channels that hear a task of this type get its result, too, if it is JSON of at most 32 KiB. Never for a
   * sensitive type. Default: channels get the status only.
   */
  push?: "result";
  /**
   * Files that a task of this type takes, by name: the names of a submit's `files`, and of `task.files`. Default: none.
   * @example { video: { contentTypes: ["video/*"], maxBytes: 700_000_000 } }
   */
  files?: Files;
  /**
   * Schema of the states that the handler stores with `task.checkpoint`, and gets as `task.state`. Default: any JSON,
   * of the type `unknown`.
   */
  state?: State;
  /**
   * Set for a type whose handler spawns children with `task.spawn`. Without it the type cannot spawn. `threshold`: the
   * share of the children that must complete, 0 to 1; with fewer, the task fails with the kind `children_failed`.
   * Default: 1. `stopOnFailure`: true cancels the other children as soon as the threshold cannot be reached any more.
   * Default: false, all children run to their ends.
   */
  children?: ChildrenOptions<HandlerInput<Input, Collect>> | Parent;
  /**
   * Makes the task's result from its ended children, in an attempt of its own. Default: the result is the numbers of
   * children. The handler's return value is not used when it spawned children. When it spawned none and returned
   * nothing, `aggregate` gets `total` 0 in the same attempt.
   */
  aggregate?: (
    children: Children<unknown, HandlerInput<Input, Collect>>,
    task: TaskContext<z.output<State>> & WithFiles<Files>,
  ) => Promise<Aggregated> | Aggregated;
  /**
   * Runs when a task of this type has failed for good, whatever the cause: also a crash, a time-out, a refused input,
   * children that failed. Not after a cancel or an expiry. It is a task of its own, of the type `offload.on_failed`,
   * once for each round that fails, with this type's attempts, waits and time-out. The input is as the handler gets it;
   * as it was submitted where the schema refuses it; undefined where it is lost.
   * @example async ({ order }, { error }, task) => task.step("tell", () => mail(order, error))
   */
  onFailed?: (input: HandlerInput<Input, Collect>, failure: TaskFailure, task: TaskContext) => unknown;
  /**
   * Does the work. Its return value is the task's result; a thrown error decides whether another attempt follows.
   * A second call for the same task is always possible: use `task.step` for effects that must not happen twice.
   */
  handler: (
    input: HandlerInput<Input, Collect>,
    task: TaskContext<z.output<State>> & WithFiles<Files>,
  ) => Promise<Output> | Output;
}

/** A handler's input: one, or the array of a type that collects. */
export type HandlerInput<Input extends z.ZodType, Collect> = Collect extends CollectOption
  ? z.output<Input>[]
  : z.output<Input>;

/** A type's option `files`. */
export type FilesOption = Readonly<Record<string, FileOptions>>;

/** The context of a type with files: those that are required are always there. */
export interface WithFiles<Files extends FilesOption> {
  readonly files: {
    readonly [Name in keyof Files]: Files[Name] extends { required: false } ? TaskFile | undefined : TaskFile;
  };
}

/** A task type with every default filled in. */
export interface TaskType extends LimitedType {
  readonly description: string;
  readonly input: z.ZodType;
  readonly version: number;
  readonly upcast: Upcasts;
  readonly output: z.ZodType | undefined;
  readonly priority: Tier;
  readonly runsOn: RunsOn;
  readonly maxAttempts: number;
  readonly retry: RetryPolicy;
  readonly classify: readonly ClassifyRule[];
  /** Undefined: each submit is a task. */
  readonly collect: CollectOption | undefined;
  readonly cancellable: boolean;
  readonly sensitive: boolean;
  readonly keepInput: boolean;
  readonly push: "result" | undefined;
  readonly files: Readonly<Record<string, FileOptions>>;
  readonly state: z.ZodType | undefined;
  readonly children: ChildrenOptions<never> | undefined;
  readonly aggregate: ((children: Children, task: TaskContext) => unknown) | undefined;
  readonly onFailed: ((input: never, failure: TaskFailure, task: TaskContext) => unknown) | undefined;
  readonly handler: (input: never, task: TaskContext) => unknown;
  /** Only of Offload's own type: reads what an attempt starts with. Absent: the message has it. */
  readonly readInput?: ReadInput;
}

/**
 * A task type with its literal name and the types of its input and result, for callers in the same program and for
 * clients.
 */
export interface DefinedTask<Input = unknown, Output = unknown, Name extends string = string>
  extends TaskType,
    Submittable<Input> {
  readonly name: Name;
  /** Never set: carries the types for the compiler. */
  readonly types?: { input: Input; output: Output };
}

/** Pattern of the names of task types, and of schedules in code. */
export const namePattern = /^[a-z0-9]+([._-][a-z0-9]+)*$/;

/** The compiler refuses an option without a check. */
const checks = typeOptions satisfies ChecksOf<TaskOptions<z.ZodType, unknown> | Pick<DefinedTask, "types">>;

/**
 * Defines a task type.
 * @throws TypeError that names the field, the given value and the allowed values, when the definition is not valid
 * @example
 * export default defineTask({
 *   name: "report.daily",
 *   input: z.object({ day: z.iso.date() }),
 *   handler: async ({ day }, task) => ({ day, rows: await count(day, task.signal) }),
 * });
 */
export function defineTask<
  Input extends z.ZodType,
  Output,
  const Name extends string = string,
  const Files extends FilesOption = Record<string, never>,
  State extends z.ZodType = z.ZodUnknown,
  Result extends z.ZodType = z.ZodType,
  Aggregated = NoAggregate,
  Parent extends object | undefined = undefined,
  const Collect extends CollectOption | undefined = undefined,
>(
  options: TaskOptions<Input, Output, Name, Files, State, Result, Aggregated, Parent, Collect> &
    ReturnsFit<Result, Awaited<Output>, Awaited<Aggregated>> &
    ChildrenFit<Parent, HandlerInput<Input, Collect>>,
): DefinedTask<z.input<Input>, ResultOfTask<Awaited<Output>, Awaited<Aggregated>, Parent>, Name> {
  const refuse = (what: string) => {
    throw new TypeError(`defineTask(${nameIn(options)}): ${what}${calledAt(defineTask)}`);
  };
  const wrong = typeFault(options, checks);
  if (wrong !== undefined) refuse(wrong);
  const { name, timeoutSeconds = 60, maxAttempts = 5, priority = "normal", version = 1, upcast = {} } = options;
  if (!namePattern.test(name) || name.length > 64) {
    refuse("name must be lower case words joined by '.', '-' or '_', at most 64 characters");
  }
  const fault = shapeFault(options as Shape, upcast, version);
  if (fault !== undefined) refuse(fault);
  return {
    ...flagsOf(options),
    name,
    description: options.description ?? "",
    input: options.input,
    version,
    upcast,
    output: options.output,
    priority,
    runsOn: options.runsOn ?? "function",
    timeoutSeconds,
    maxAttempts,
    retry: options.retry ?? {},
    concurrency: options.concurrency,
    rateLimit: typeRate(options.rateLimit),
    breaker: options.breaker,
    collect: options.collect,
    classify: options.classify ?? [],
    push: options.push,
    files: options.files ?? {},
    state: options.state,
    children: options.children as TaskType["children"],
    aggregate: options.aggregate as TaskType["aggregate"],
    onFailed: options.onFailed as TaskType["onFailed"],
    handler: options.handler as TaskType["handler"],
  };
}

type Flags = Partial<Pick<TaskType, "cancellable" | "sensitive" | "keepInput">>;

const flagsOf = ({ cancellable = true, sensitive = false, keepInput = false }: Flags) => ({
  cancellable,
  sensitive,
  keepInput: keepInput && !sensitive,
});

interface Shape {
  input: z.ZodType;
  files?: Readonly<Record<string, FileOptions>>;
  children?: ChildrenOptions<never>;
  aggregate?: unknown;
  concurrency?: ConcurrencyOption;
  rateLimit?: RateLimitOption | RateListOption;
  breaker?: BreakerOption;
}

const shapeFault = ({ input, files = {}, children, aggregate, ...limits }: Shape, upcast: Upcasts, version: number) =>
  partWithoutJson(input) ??
  gapIn(upcast, version) ??
  filesFault(files) ??
  childrenFault(children, aggregate) ??
  limitsFault(limits);

function childrenFault(children: ChildrenOptions<never> | undefined, aggregate: unknown): string | undefined {
  const alone = aggregate !== undefined && children === undefined;
  return alone ? "aggregate needs the option children, such as {}" : undefined;
}

/** Returns the first fault of the steps to a version; undefined when they have no gap. */
function gapIn(upcast: Upcasts, version: number): string | undefined {
  const from = Object.keys(upcast).map(Number);
  const noStep = from.find((step) => typeof upcast[step] !== "function");
  if (noStep !== undefined) return `upcast must have a function as its step from ${noStep}`;
  const wrong = from.find((step) => !Number.isInteger(step) || step < 1 || step >= version);
  if (wrong !== undefined) return `upcast has a step from ${wrong}, but only versions before ${version} need one`;
  const first = version - from.length;
  return from.some((step) => step < first)
    ? `upcast must have a step from each version from ${Math.min(...from)} on`
    : undefined;
}

/** The task types that a deployment accepts: those named `probe.*` only where `OFFLOAD_PROBES` is 1. */
export const acceptedTypes = (types: readonly TaskType[], probes: boolean): readonly TaskType[] =>
  probes ? types : types.filter(({ name }) => !name.startsWith("probe."));

/** Task types by name. */
export type Registry = ReadonlyMap<string, TaskType>;

/** Collects task types by name; two types of one name are refused. */
export function registry(types: Iterable<TaskType>): Registry {
  const byName = new Map<string, TaskType>();
  for (const type of types) {
    if (byName.has(type.name)) throw new TypeError(`two task types have the name ${type.name}`);
    byName.set(type.name, type);
  }
  return byName;
}
