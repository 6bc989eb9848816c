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

/** Attempts of a key that run at the same time, as many as its inputs say. */
interface PlacesByInput<Input> extends Limit<Input> {
  /** Tasks of one key share the limit. */
  key: KeyOf<Input>;
  /** A whole number from 1 to 10,000. That of the newest input counts for its key. */
  limit: (input: Input) => number;
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
export type ConcurrencyOption<Input = never> = PlacesOption<Input> | PlacesByInput<Input> | StrictOption<Input>;

/** Starts in a time. */
interface StartsOption<Input> extends Limit<Input> {
  /** Starts in `perSeconds`, evenly spaced: 1 to 100,000. */
  limit: number;
  /** 1 to 86,400. */
  perSeconds: number;
}

/** Starts of a key in a time, as many as its inputs say. */
interface StartsByInput<Input> extends Limit<Input> {
  /** Tasks of one key share the limit. */
  key: KeyOf<Input>;
  /** A whole number from 1 to 100,000. That of the newest input counts for its key. */
  limit: (input: Input) => number;
  /** 1 to 86,400. */
  perSeconds: number;
}

/** A type's option `rateLimit`. */
export type RateLimitOption<Input = never> = StartsOption<Input> | StartsByInput<Input>;

/** All rates of a list have a key, or none has. */
type KeyedRate<Input> = RateLimitOption<Input> & { key: KeyOf<Input> };
type KeylessRate = StartsOption<never> & { key?: undefined };

type UpToFour<Rate> =
  | readonly [Rate]
  | readonly [Rate, Rate]
  | readonly [Rate, Rate, Rate]
  | readonly [Rate, Rate, Rate, Rate];

/**
 * A list of rates of different times: a task starts when all of them allow it. Starts of the shortest time are evenly
 * spaced, those of the others are counted.
 */
export type RateListOption<Input = never> = UpToFour<KeyedRate<Input>> | UpToFour<KeylessRate>;

/** The rates of a type: the one of the shortest time, and the others of a list. */
export type TypeRate<Input = never> = RateLimitOption<Input> & {
  /** In the order of their times. Absent: there are none. */
  longer?: readonly RateLimitOption<Input>[];
};

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
  readonly rateLimit: TypeRate | undefined;
  readonly breaker: BreakerOption | undefined;
}

/** The option of a type whose tasks of a key run in strict order. Undefined: they do not. */
export const strictOf = (type: Pick<LimitedType, "concurrency"> | undefined): StrictOption | undefined =>
  type?.concurrency?.order === "strict" ? type.concurrency : undefined;

/** The most permits of a line: each check of a line whose tasks wait reads all of them. */
export const maxPermits = 10_000;
/** Places whose item is written with one write unit: each has about 55 bytes. */
export const permitsPerUnit = 16;
export const maxStarts = 100_000;
export const longestPerSeconds = 86_400;
/** The counted starts of three rates fit into an item that one write unit pays for. */
const maxRates = 4;

/** The rates of an option. */
export function typeRate(option: RateLimitOption | RateListOption | undefined): TypeRate | undefined {
  if (!isList(option)) return option;
  const [shortest, ...longer] = option.toSorted((one, other) => one.perSeconds - other.perSeconds);
  return shortest && longer.length > 0 ? { ...shortest, longer } : shortest;
}

const isList = (option: unknown): option is readonly RateLimitOption[] => Array.isArray(option);

/** Returns the first fault of a type's limits. */
export function limitsFault(type: {
  concurrency?: ConcurrencyOption;
  rateLimit?: RateLimitOption | RateListOption;
  breaker?: BreakerOption;
}): string | undefined {
  const { concurrency, rateLimit, breaker } = type;
  return (
    limitFault("concurrency", concurrency, maxPermits) ??
    limitFault("breaker", breaker) ??
    strictFault(concurrency) ??
    (isList(rateLimit) ? ratesFault(rateLimit) : rateFault("rateLimit", rateLimit)) ??
    outOf("breaker.failures", breaker?.failures, 1_000) ??
    outOf("breaker.coolDownSeconds", breaker?.coolDownSeconds, 86_400) ??
    missing("concurrency", concurrency, ["limit"]) ??
    missing("breaker", breaker, ["failures", "coolDownSeconds"])
  );
}

const rateFault = (name: string, rate: RateLimitOption | undefined): string | undefined =>
  limitFault(name, rate, maxStarts) ??
  outOf(`${name}.perSeconds`, rate?.perSeconds, longestPerSeconds) ??
  missing(name, rate, ["limit", "perSeconds"]);

function ratesFault(rates: readonly RateLimitOption[]): string | undefined {
  if (rates.length < 1 || rates.length > maxRates)
    return `rateLimit must have 1 to ${maxRates} rates, got ${rates.length}`;
  const fault = rates.map((rate, index) => rateFault(`rateLimit[${index}]`, rate)).find((one) => one !== undefined);
  if (fault !== undefined) return fault;
  const kinds = (of: (rate: RateLimitOption) => unknown) => new Set(rates.map(of)).size;
  if (kinds(({ perSeconds }) => perSeconds) < rates.length) return "rateLimit must have one rate for each perSeconds";
  if (kinds(({ key }) => key === undefined) > 1) return "rateLimit must have a key in each of its rates, or in none";
  return kinds(({ scope = "tenant" }) => scope) > 1
    ? "rateLimit must have the same scope in each of its rates"
    : undefined;
}

function limitFault(
  name: string,
  { key, limit, scope = "tenant" }: Partial<RateLimitOption> = {},
  max = 0,
): string | undefined {
  if (key !== undefined && typeof key !== "function") return `${name}.key must be a function of the input`;
  if (scope !== "tenant" && scope !== "deployment") return `${name}.scope must be tenant or deployment, got ${scope}`;
  if (typeof limit !== "function") return outOf(`${name}.limit`, limit, max);
  return key ? undefined : `${name}.limit by input needs key`;
}

/** Types of JavaScript projects have no compiler that refuses these. */
function strictFault({ key, limit, order, onDeadLetter, scope }: Partial<ConcurrencyOption> = {}): string | undefined {
  if (order === undefined) return onDeadLetter && 'concurrency.onDeadLetter needs order: "strict"';
  const fits = key !== undefined && limit === 1 && (scope ?? "tenant") === "tenant";
  return fits ? undefined : 'concurrency.order "strict" needs key, limit: 1 and the scope tenant';
}

const outOf = (name: string, value: number | undefined, max: number): string | undefined =>
  value === undefined || (Number.isInteger(value) && value >= 1 && value <= max)
    ? undefined
    : `${name} must be a whole number from 1 to ${max}, got ${value}`;

const missing = (name: string, option: object | undefined, fields: readonly string[]): string | undefined => {
  const field = option && fields.find((one) => !Object.hasOwn(option, one));
  return field && `${name} needs ${field}`;
};
