import type * as z from "zod";
import type { TaskType } from "./task.ts";
import type { BreakerOption, ConcurrencyOption, RateLimitOption, TypeRate } from "./type-limits.ts";

/** A task type as data for submit, so that submit's bundle contains no handlers and no packages of tasks. */
export interface CatalogEntry {
  name: string;
  description: string;
  /** JSON Schema (draft 2020-12) of the input. */
  input_schema: Record<string, unknown>;
  /** True when a submit may leave the input out, which a JSON Schema cannot say. Absent: its schema decides. */
  input_optional?: true;
  /** JSON Schema of the result. Absent: the type declares none. */
  output_schema?: Record<string, unknown>;
  /** The version of that schema, which submitted inputs have. */
  version: number;
  priority: TaskType["priority"];
  /** Absent: attempts run in worker functions. */
  runs_on?: "container";
  timeout_seconds: number;
  max_attempts: number;
  cancellable: boolean;
  /** Attempts of one key that run at the same time. Absent: no limit. */
  concurrency?: LimitView & { limit: number | null; order?: "strict"; on_dead_letter?: "continue" | "hold" };
  /** Starts of one key in a time. Absent: no limit. */
  rate_limit?: LimitView & RateView & { longer?: RateView[] };
  /** Absent: no breaker. */
  breaker?: { failures: number; cool_down_seconds: number; keyed?: true };
  /** Submits may gather their inputs in one task. Absent: they may not. */
  collect?: { max_items: number; wait_seconds: number };
  /** True when records keep no inputs. Absent: the type is not sensitive. */
  sensitive?: true;
  /** True when the input of every task is kept. Absent: only where it costs nothing. */
  keep_input?: true;
  /** True when channels get the results. Absent: they do not. */
  push_result?: true;
  /** True when the type has `onFailed`. Absent: it has none. */
  on_failed?: true;
  /** Files that a task takes, by name. Absent: none. */
  files?: TaskType["files"];
  /** Names of the signals that the handler reads one after the other; `*` for every name. Absent: none. */
  next_signals?: readonly string[];
}

export type Catalog = readonly CatalogEntry[];

/** The sharing of a limit, as data. */
interface LimitView {
  /** True when tasks with equal keys share the limit. False: all tasks of the type. */
  keyed: boolean;
  scope: "tenant" | "deployment";
}

/** A rate, as data. */
interface RateView {
  /** Null: it is a function of the input. */
  limit: number | null;
  per_seconds: number;
}

/** Null: it is a function of the input. */
const plain = (limit: (ConcurrencyOption | RateLimitOption)["limit"]): number | null =>
  typeof limit === "function" ? null : limit;

const rateView = ({ limit, perSeconds }: TypeRate): RateView => ({ limit: plain(limit), per_seconds: perSeconds });

const limitView = ({ key, scope = "tenant" }: { key?: unknown; scope?: LimitView["scope"] }): LimitView => ({
  keyed: key !== undefined,
  scope,
});

const strictView = ({ order, onDeadLetter = "continue" }: ConcurrencyOption) =>
  order === undefined ? {} : { order, on_dead_letter: onDeadLetter };

const breakerView = ({ failures, coolDownSeconds, key }: BreakerOption) => ({
  ...{ failures, cool_down_seconds: coolDownSeconds },
  ...(key && { keyed: true as const }),
});

const limitsOf = ({ concurrency, rateLimit, breaker }: TaskType) => ({
  ...(concurrency && {
    concurrency: { ...limitView(concurrency), limit: plain(concurrency.limit), ...strictView(concurrency) },
  }),
  ...(rateLimit && {
    rate_limit: {
      ...limitView(rateLimit),
      ...rateView(rateLimit),
      ...(rateLimit.longer && { longer: rateLimit.longer.map(rateView) }),
    },
  }),
  ...(breaker && { breaker: breakerView(breaker) }),
});

const runsOnOf = ({ runsOn }: TaskType): { runs_on?: "container" } =>
  runsOn === "container" ? { runs_on: runsOn } : {};

const keepInputOf = ({ keepInput }: TaskType): { keep_input?: true } => (keepInput ? { keep_input: keepInput } : {});

const sensitiveOf = ({ sensitive }: TaskType): { sensitive?: true } => (sensitive ? { sensitive } : {});

/** The rules of a type for its tasks. */
export const ruledBy = (type: TaskType) => ({
  version: type.version,
  priority: type.priority,
  ...runsOnOf(type),
  timeout_seconds: type.timeoutSeconds,
  max_attempts: type.maxAttempts,
  cancellable: type.cancellable,
  ...limitsOf(type),
  ...(type.collect && { collect: { max_items: type.collect.maxItems, wait_seconds: type.collect.waitSeconds } }),
  ...sensitiveOf(type),
  ...keepInputOf(type),
  ...(type.onFailed && { on_failed: true as const }),
});

export const filesOf = ({ files }: TaskType) => (Object.keys(files).length === 0 ? {} : { files });

/**
 * Reads a catalogue that `toCatalog` made. Each start of submit waits for this, so it checks no more than the outer
 * shape.
 * @throws Error
 */
export function parseCatalog(text: string): Catalog {
  const catalog: unknown = JSON.parse(text);
  if (!Array.isArray(catalog) || !catalog.every(isEntry)) throw new Error("expected a catalogue of task types");
  return catalog;
}

const isEntry = (entry: Partial<CatalogEntry> | null): boolean =>
  typeof entry?.name === "string" && typeof entry.input_schema === "object";

/** A task type as submit sees it. */
export interface KnownType extends CatalogEntry {
  /** The schema of its input: of its definition, or made from the catalogue's, with zod, when it is needed. */
  readonly input: z.ZodType | (() => Promise<z.ZodType>);
  /** True for an input that certainly fits. Absent: only the schema knows. */
  fits?(input: unknown): boolean;
}

/** Task types by name, as submit sees them. */
export type KnownTypes = ReadonlyMap<string, KnownType>;

/** Task types as submit sees them, made from their definitions: for a worker that submits for a handler. */
export const knownTypesOf = (types: Iterable<TaskType>): KnownTypes =>
  new Map(
    [...types].map((type) => [
      type.name,
      {
        name: type.name,
        description: type.description,
        input_schema: {},
        input: type.input,
        ...ruledBy(type),
        ...filesOf(type),
      },
    ]),
  );
