/** Tasks with equal keys share a limit, or a breaker. A key has 1 to 256 characters. */
type KeyOf<Input> = (input: Input) => string | number;

/** The sharing of a limit. */
export interface Limit<Input> {
  /** Tasks of one key share the limit. Default: all tasks of the type. */
  key?: KeyOf<Input>;
  /** `deployment`: tenants share the limit. Default: each tenant has its own. */
  scope?: "tenant" | "deployment";
}

/** Attempts that run at the same time. */
interface PlacesOption<Input> extends Limit<Input> {
  /** Attempts that run at the same time, 1 to 10,000. */
  limit: number;
  order?: undefined;
  onDeadLetter?: undefined;
}

/** Tasks of a key that run in strict order. */
export interface StrictOption<Input = never> {
  /** Tasks of one key have an order, those of different keys have none. */
  key: KeyOf<Input>;
  limit: 1;
  /** A task starts when the one before it has ended for good: its retries, sleeps, waits and children are over. */
  order: "strict";
  /**
   * `hold`: behind a dead letter the tasks of its key wait until it is replayed and over, or discarded. Default:
   * `continue`, the next one starts.
   */
  onDeadLetter?: "continue" | "hold";
  /** Each tenant has an order of its own. */
  scope?: "tenant";
}

/** A type's option `concurrency`. */
export type ConcurrencyOption<Input = never> = PlacesOption<Input> | StrictOption<Input>;

/** A type's option `rateLimit`. */
export interface RateLimitOption<Input = never> extends Limit<Input> {
  /** Starts in `perSeconds`, evenly spaced: 1 to 100,000. */
  limit: number;
  /** 1 to 86,400. */
  perSeconds: number;
}

/** A type's option `breaker`. */
export interface BreakerOption<Input = never> {
  /** Tasks of one key have a breaker of their own. Default: all tasks of the type share one. */
  key?: KeyOf<Input>;
  /** Failed attempts in a row that open it, 1 to 1,000. A crash does not count. */
  failures: number;
  /** Whole seconds until one task tries, 1 to 86,400. */
  coolDownSeconds: number;
}

/** A type's option `collect`. */
export interface CollectOption {
  /** The most inputs of a task, 1 to 1,000. */
  maxItems: number;
  /** Seconds from the first input until the task is due, 0 to 86,400. */
  waitSeconds: number;
}

/** The part of a task type that decides when its tasks start. */
export interface LimitedType {
  readonly name: string;
  readonly timeoutSeconds: number;
  readonly concurrency: ConcurrencyOption | undefined;
  readonly rateLimit: RateLimitOption | undefined;
  readonly breaker: BreakerOption | undefined;
}

/** The option of a type whose tasks of a key run in strict order. Undefined: they do not. */
export const strictOf = (type: Pick<LimitedType, "concurrency"> | undefined): StrictOption | undefined =>
  type?.concurrency?.order === "strict" ? type.concurrency : undefined;

/** The most places of a line: each check of a line whose tasks wait reads all of them. */
export const mostPlaces = 10_000;
/** Places whose item is written with one write unit: each has about 55 bytes. */
export const placesPerUnit = 16;
export const mostStarts = 100_000;
export const longestPerSeconds = 86_400;

/** Returns the first fault of a type's limits. */
export function limitsFault(type: {
  concurrency?: ConcurrencyOption;
  rateLimit?: RateLimitOption;
  breaker?: BreakerOption;
}): string | undefined {
  const { concurrency, rateLimit, breaker } = type;
  return (
    limitFault("concurrency", concurrency) ??
    limitFault("rateLimit", rateLimit) ??
    limitFault("breaker", breaker) ??
    strictFault(concurrency) ??
    outOf("concurrency.limit", concurrency?.limit, mostPlaces) ??
    outOf("rateLimit.limit", rateLimit?.limit, mostStarts) ??
    outOf("rateLimit.perSeconds", rateLimit?.perSeconds, longestPerSeconds) ??
    outOf("breaker.failures", breaker?.failures, 1_000) ??
    outOf("breaker.coolDownSeconds", breaker?.coolDownSeconds, 86_400) ??
    missing("concurrency", concurrency, ["limit"]) ??
    missing("rateLimit", rateLimit, ["limit", "perSeconds"]) ??
    missing("breaker", breaker, ["failures", "coolDownSeconds"])
  );
}

function limitFault(name: string, limit: Limit<never> | undefined): string | undefined {
  const { key, scope } = limit ?? {};
  if (key !== undefined && typeof key !== "function") return `${name}.key must be a function of the input`;
  if (scope === undefined || scope === "tenant" || scope === "deployment") return undefined;
  return `${name}.scope must be tenant or deployment, got ${scope}`;
}

/** Types of JavaScript projects have no compiler that refuses these. */
function strictFault({ key, limit, order, onDeadLetter, scope }: Partial<ConcurrencyOption> = {}): string | undefined {
  if (order === undefined) return onDeadLetter && 'concurrency.onDeadLetter needs order: "strict"';
  const fits = key !== undefined && limit === 1 && (scope ?? "tenant") === "tenant";
  return fits ? undefined : 'concurrency.order "strict" needs key, limit: 1 and the scope tenant';
}

const outOf = (name: string, value: number | undefined, most: number): string | undefined =>
  value === undefined || (Number.isInteger(value) && value >= 1 && value <= most)
    ? undefined
    : `${name} must be a whole number from 1 to ${most}, got ${value}`;

const missing = (name: string, option: object | undefined, fields: readonly string[]): string | undefined => {
  const field = option && fields.find((one) => !Object.hasOwn(option, one));
  return field && `${name} needs ${field}`;
};
