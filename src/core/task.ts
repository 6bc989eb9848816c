import type * as z from "zod";
import type { ClassifyRule } from "./classify.ts";
import type { Submittable, TaskContext } from "./context.ts";
import { latestVersion } from "./envelope.ts";
import type { RetryPolicy } from "./retry.ts";
import { type Tier, tiers } from "./tier.ts";

/** How an input of one version becomes one of the next, by the version that each step starts from. */
export type Upcasts = { readonly [fromVersion: number]: (input: never) => unknown };

/** What a developer writes: one task type. */
export interface TaskOptions<Input extends z.ZodType, Output> {
  /** The type's name, as clients submit it: lower case words joined by dots, up to 64 characters. */
  name: string;
  /** One sentence for people who list the types. Default: none. */
  description?: string;
  /** What the input must look like. Checked before anything is written, and again before each attempt. */
  input: Input;
  /**
   * The version of the input's shape, 1 to 1000. Add 1 when the shape or the meaning changes so that an input which is queued
   * already would be read wrongly, and write the step to it into `upcast`. Default: 1.
   */
  version?: number;
  /**
   * The steps by which inputs of earlier versions become present ones: under `1` the step from version 1 to 2, and so on, without
   * a gap up to the present version. A step gets the input as it was submitted, or as the step before it returned it, and
   * returns what a client would submit for the next version, at once and without side effects. A task whose version has no
   * step, or whose step throws, is dead-lettered as `validation`. Default: none.
   * @example { 1: ({ name }: { name: string }) => ({ firstName: name, lastName: "" }) }
   */
  upcast?: Upcasts;
  /** What the result must look like; a result that does not fit fails the attempt as `permanent`. Default: unchecked. */
  output?: z.ZodType;
  /** The tier of tasks submitted without one. Default: `normal`. */
  priority?: Tier;
  /** How long one attempt may take, in seconds, 1 to 840. Default: 60. */
  timeoutSeconds?: number;
  /** How many attempts a task gets, 1 to 20. A submit may say otherwise. Default: 5. */
  maxAttempts?: number;
  /** Waits between attempts. Default: 30, 120, 480, 1800, 7200 s, each lengthened by a random 0 to 50 %. */
  retry?: RetryPolicy;
  /** Rules that name the failure class of this type's own errors, tried before the common ones. Default: none. */
  classify?: readonly ClassifyRule[];
  /** Whether a client may cancel. Default: true. */
  cancellable?: boolean;
  /**
   * Whether inputs hold what no log may have, such as personal data. Then messages of failed attempts are not logged, the
   * handler's own log lines lose their fields' values, and texts of the input are taken out of their messages. Default: false.
   */
  sensitive?: boolean;
  /**
   * Does the work. What it returns is the task's result; what it throws decides whether there is another attempt.
   * A second call for the same task is always possible: use `task.once` for what must not happen twice.
   */
  handler: (input: z.output<Input>, task: TaskContext) => Promise<Output> | Output;
}

/** A task type with every default filled in. */
export interface TaskType {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType;
  readonly version: number;
  readonly upcast: Upcasts;
  readonly output: z.ZodType | undefined;
  readonly priority: Tier;
  readonly timeoutSeconds: number;
  readonly maxAttempts: number;
  readonly retry: RetryPolicy;
  readonly classify: readonly ClassifyRule[];
  readonly cancellable: boolean;
  readonly sensitive: boolean;
  readonly handler: (input: never, task: TaskContext) => unknown;
}

/** A task type that still knows the types of its input and result, for callers in the same program. */
export interface DefinedTask<Input = unknown, Output = unknown> extends TaskType, Submittable<Input> {
  /** Never set: carries the types for the compiler. */
  readonly types?: { input: Input; output: Output };
}

/** What names of task types, and of schedules in code, look like. */
export const namePattern = /^[a-z0-9]+([._-][a-z0-9]+)*$/;

/**
 * Defines a task type. Throws at once, with the field, what was given and what is allowed, when the definition cannot work.
 * @example
 * export default defineTask({
 *   name: "report.daily",
 *   input: z.object({ day: z.iso.date() }),
 *   handler: async ({ day }, task) => ({ day, rows: await count(day, task.signal) }),
 * });
 */
export function defineTask<Input extends z.ZodType, Output>(
  options: TaskOptions<Input, Output>,
): DefinedTask<z.input<Input>, Awaited<Output>> {
  const { name, timeoutSeconds = 60, maxAttempts = 5, priority = "normal", version = 1, upcast = {} } = options;
  const refuse = (what: string) => {
    throw new TypeError(`defineTask(${JSON.stringify(name)}): ${what}`);
  };
  if (!namePattern.test(name) || name.length > 64) {
    refuse("name must be lower case words joined by '.', '-' or '_', at most 64 characters");
  }
  if (!Number.isInteger(timeoutSeconds) || timeoutSeconds < 1 || timeoutSeconds > 840) {
    refuse(`timeoutSeconds must be a whole number from 1 to 840, got ${timeoutSeconds}`);
  }
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1 || maxAttempts > 20) {
    refuse(`maxAttempts must be a whole number from 1 to 20, got ${maxAttempts}`);
  }
  if (!tiers.includes(priority)) refuse(`priority must be one of ${tiers.join(", ")}, got ${priority}`);
  if (!Number.isInteger(version) || version < 1 || version > latestVersion) {
    refuse(`version must be a whole number from 1 to ${latestVersion}, got ${version}`);
  }
  const gap = gapIn(upcast, version);
  if (gap !== undefined) refuse(`upcast ${gap}`);
  return {
    name,
    description: options.description ?? "",
    input: options.input,
    version,
    upcast,
    output: options.output,
    priority,
    timeoutSeconds,
    maxAttempts,
    retry: options.retry ?? {},
    classify: options.classify ?? [],
    cancellable: options.cancellable ?? true,
    sensitive: options.sensitive ?? false,
    handler: options.handler as TaskType["handler"],
  };
}

/** Why steps do not lead, without a gap, to a version; undefined when they do. */
function gapIn(upcast: Upcasts, version: number): string | undefined {
  const from = Object.keys(upcast).map(Number);
  const noStep = from.find((step) => typeof upcast[step] !== "function");
  if (noStep !== undefined) return `has no function as its step from ${noStep}`;
  const wrong = from.find((step) => !Number.isInteger(step) || step < 1 || step >= version);
  if (wrong !== undefined) return `has a step from ${wrong}, but only versions before ${version} need one`;
  const first = version - from.length;
  return from.some((step) => step < first)
    ? `must have a step from each version from ${Math.min(...from)} on`
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
    if (byName.has(type.name)) throw new TypeError(`two task types are named ${type.name}`);
    byName.set(type.name, type);
  }
  return byName;
}
