import { inShort, quiet } from "../../../util/foreign-value.ts";
import { PermanentError, WrittenLater } from "../../model/errors.ts";
import {
  allTenants,
  breakerName,
  limitLine,
  lineOf,
  type PausableWork,
  pausesOf,
  type WaitQueue,
} from "../../model/wait-queue.ts";
import {
  type Breaker,
  type FlowSetting,
  limitsName,
  type NotedLimit,
  type TypeLimits,
  type WaitQueues,
} from "../../ports/flow.ts";
import {
  type Limit,
  type LimitedType,
  maxPermits,
  maxStarts,
  type RateLimitOption,
  strictOf,
  type TypeRate,
} from "../../task/type-limits.ts";
import type { FlowBook } from "./flow-book.ts";
import { type CountedRate, RateList } from "./rate-list.ts";

/**
 * The sharing of a limit that an operator set for a type which is defined without one: all its tasks share it, of all
 * tenants.
 */
const ofWholeType = { scope: "deployment" } as const;

/** The sharing of a type's limits by its tasks. Absent: the type has no such limit now. */
export interface LimitsInForce {
  concurrency?: Limit<never> | undefined;
  rateLimit?: (Limit<never> & Pick<TypeRate, "longer">) | undefined;
}

/** True for numbers, where they are given. */
const areNumbers = (...values: unknown[]): boolean =>
  values.every((value) => value === undefined || typeof value === "number");

/**
 * A setting of a kind, in a form that this release knows.
 * @throws WrittenLater: the tasks for which it matters wait, and no others
 */
function readSetting<Kind extends FlowSetting["kind"]>(kind: Kind, setting: FlowSetting, isKnown: boolean) {
  if (setting.kind !== kind || !isKnown) throw new WrittenLater(`a setting of ${kind}`);
  return setting as Extract<FlowSetting, { kind: Kind }>;
}

/** @throws WrittenLater */
export const readBreaker = (breaker: Breaker): Breaker =>
  readSetting("breaker", breaker, areNumbers(breaker.failures, breaker.openUntilMs));

/**
 * The name of the pause or of the open breaker that stops a task.
 * @param hasBreaker True for a type with a breaker: others are not stopped by one.
 */
export async function stopOf(flow: FlowBook, work: PausableWork, hasBreaker: boolean): Promise<string | undefined> {
  const { settings, whole } = await flow.known();
  if (settings.size === 0 && whole) return undefined;
  const pause = pausesOf(work).find((name) => settings.has(name));
  if (pause !== undefined || !hasBreaker) return pause;
  const breaker = await breakerOf(flow, work.type, work.tenantId);
  return breaker?.openUntilMs === undefined ? undefined : breaker.name;
}

/** The breaker of a type for a tenant, if a task failed. */
export async function breakerOf(flow: FlowBook, type: string, tenantId: string): Promise<Breaker | undefined> {
  const breaker = (await flow.one(breakerName(type, tenantId))) as Breaker | undefined;
  return breaker && readBreaker(breaker);
}

/** True for the limit of a key whose end has come. */
export const isOver = ({ untilMs }: TypeLimits, nowMs: number): boolean => untilMs !== undefined && untilMs <= nowMs;

const isKnown = ({ concurrency, rate, untilMs }: TypeLimits): boolean =>
  areNumbers(concurrency, untilMs) && (rate === undefined || [rate.limit, rate.per_seconds].every(Number.isFinite));

/**
 * The limits that an operator set for a type, or for the key of one of its lines.
 * @throws WrittenLater
 */
export async function limitsOf(
  flow: FlowBook,
  type: string,
  line?: Pick<WaitQueue, "name">,
): Promise<TypeLimits | undefined> {
  const settings = await flow.settings();
  const read = (of: string) => {
    const set = settings.get(limitsName(of)) as TypeLimits | undefined;
    return set && readSetting("limits", set, isKnown(set));
  };
  const ofKey = line && read(line.name);
  if (ofKey !== undefined && !isOver(ofKey, flow.nowMs)) return ofKey;
  return read(type);
}

/** Epoch milliseconds at which the limit of a line's key ends, as this process knows it. Undefined: it does not. */
export function endOfLimit(flow: FlowBook, { name }: WaitQueue): number | undefined {
  const set = flow.latest.get(limitsName(name)) as TypeLimits | undefined;
  return set === undefined || isOver(set, flow.nowMs) ? undefined : set.untilMs;
}

/** The limits of a type's definition, and those that an operator set in addition. */
export async function limitsInForce(flow: FlowBook, type: LimitedType): Promise<LimitsInForce> {
  const { concurrency, rateLimit } = type;
  const set = await limitsOf(flow, type.name);
  return {
    concurrency: concurrency ?? (set?.concurrency === undefined ? undefined : ofWholeType),
    rateLimit: rateLimit ?? (set?.rate === undefined ? undefined : ofWholeType),
  };
}

interface ValuePorts {
  flow: FlowBook;
  lines: Pick<WaitQueues, "state">;
}

/** The number of permits of a line. Undefined: its type is unknown, or has no such limit. */
export async function permitsOf(
  ports: ValuePorts,
  type: LimitedType | undefined,
  line: WaitQueue,
): Promise<number | undefined> {
  if (type === undefined) return undefined;
  if (strictOf(type) !== undefined) return 1;
  const set = (await limitsOf(ports.flow, type.name, line))?.concurrency;
  const limit = type.concurrency?.limit;
  if (set !== undefined) return set;
  if (typeof limit !== "function") return limit;
  // Each task notes its value before it looks for a permit.
  return Number((await notedLimit(ports, line))?.value ?? 1);
}

/** The limits that the newest input of a line's key gave, as this process knows them. */
function notedLimit({ flow, lines }: ValuePorts, { name }: WaitQueue): Promise<NotedLimit | undefined> {
  return flow.page(valuePage(name), async () => (await lines.state(name)).keyLimit);
}

const valuePage = (line: string): string => `value/${line}`;

/**
 * The limits of an input that are those of the newest one are noted again when that was accepted so much earlier, in
 * milliseconds: an input with others, accepted in between, may come later.
 */
const noteAgainMs = 60_000;

/**
 * Notes the limits that the input of a task gives its key, unless they are known, or those of a later input are. The
 * limit of an operator stays in force.
 * @throws PortUnavailable
 */
export async function noteLimit(
  ports: ValuePorts & { lines: Pick<WaitQueues, "noteLimit"> },
  line: WaitQueue,
  { value, atMs }: NotedLimit,
): Promise<void> {
  const known = await notedLimit(ports, line);
  if (known !== undefined && (known.atMs > atMs || (isSame(known.value, value) && atMs < known.atMs + noteAgainMs)))
    return;
  await ports.lines.noteLimit(line.name, { value, atMs });
  ports.flow.expire(valuePage(line.name));
}

/** Names that are numbers are in order in every object. */
const isSame = (one: NotedLimit["value"], other: NotedLimit["value"]): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/**
 * The permits and the starts of a task's key by its input, of a type whose limits are functions of it: starts by the
 * seconds of their rate. Undefined: they are no functions.
 * @throws PermanentError when the type's function throws, or returns no limit
 */
export function limitsFor({ concurrency, rateLimit }: LimitedType, input: unknown): LimitsByInput | undefined {
  const starts: [number, number][] = [];
  for (const { limit, perSeconds } of rateLimit === undefined ? [] : [rateLimit, ...(rateLimit.longer ?? [])])
    if (typeof limit === "function")
      starts.push([perSeconds, limitFor({ option: "rateLimit", limit, max: maxStarts }, input)]);
  const { limit } = concurrency ?? {};
  const permits =
    typeof limit === "function" ? limitFor({ option: "concurrency", limit, max: maxPermits }, input) : undefined;
  if (permits === undefined && starts.length === 0) return undefined;
  return { permits, ...(starts.length > 0 && { starts: Object.fromEntries(starts) }) };
}

export interface LimitsByInput {
  permits?: number | undefined;
  starts?: Record<string, number>;
}

interface LimitByInput {
  option: "concurrency" | "rateLimit";
  limit: (input: never) => number;
  max: number;
}

function limitFor({ option, limit, max }: LimitByInput, input: unknown): number {
  let given: unknown;
  try {
    given = limit(input as never);
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause);
    throw new PermanentError(`the limit of ${option}: ${text}`, { cause });
  }
  if (typeof given === "number" && Number.isInteger(given) && given >= 1 && given <= max) return given;
  quiet(given);
  throw new PermanentError(
    `the limit of ${option}: it returned ${inShort(given)}, and no whole number from 1 to ${max}`,
  );
}

/**
 * A start may be late by this part of the rate's window, and by a second at most. Starts are further apart by the same
 * part, so that no window of that length has more of them than the limit: a window's starts had their times in a time
 * that is longer by this part.
 */
const latePart = 0.05;
const longestLateMs = 1_000;

/** Times between starts from this one on are whole milliseconds. */
export const slowMs = 1_000;

/** The pace of a line. */
export interface Pace {
  /** Milliseconds between two starts. */
  intervalMs: number;
  /** A task that comes later than this after its start takes another one, in milliseconds. */
  lateMs: number;
  /** The further rates of a list. Absent: there are none. */
  list?: RateList;
}

/** The pace of a line. Undefined: its type is unknown, or has no rate. */
export async function paceOf(
  ports: ValuePorts,
  type: LimitedType | undefined,
  line: WaitQueue,
): Promise<Pace | undefined> {
  if (type === undefined) return undefined;
  const set = (await limitsOf(ports.flow, type.name, line))?.rate;
  const { rateLimit: defined } = type;
  const isOne = defined?.longer === undefined && typeof defined?.limit !== "function";
  const rates = isOne ? (defined ? [defined as Rate] : []) : await definedRates(ports, defined as TypeRate, line);
  const [rate, ...others] = set === undefined ? rates : withSet(rates, set);
  if (rate === undefined) return undefined;
  const windowMs = rate.perSeconds * 1000;
  const lateMs = Math.min(windowMs * latePart, longestLateMs);
  const exactMs = (windowMs + lateMs) / rate.limit;
  const intervalMs = exactMs < slowMs ? exactMs : Math.ceil(exactMs);
  if (others.length === 0) return { intervalMs, lateMs };
  return { intervalMs, lateMs, list: new RateList(others.map(countedRate), { ...rate, intervalMs }) };
}

interface Rate {
  limit: number;
  perSeconds: number;
}

/** The rates of a list, or of a function of the input, for the key of a line. */
async function definedRates(ports: ValuePorts, { longer = [], ...one }: TypeRate, line: WaitQueue): Promise<Rate[]> {
  const rates: RateLimitOption[] = [one, ...longer];
  const isByInput = rates.some(({ limit }) => typeof limit === "function");
  const noted = Object(isByInput && (await notedLimit(ports, line))?.value) as Record<string, number>;
  // Each task notes its value before it looks for a start.
  const numberOf = ({ limit, perSeconds }: RateLimitOption) => (typeof limit === "number" ? limit : noted[perSeconds]);
  return rates.map((rate) => ({ limit: numberOf(rate) ?? 1, perSeconds: rate.perSeconds }));
}

function countedRate({ limit, perSeconds }: Rate): CountedRate {
  const windowMs = perSeconds * 1000;
  return { limit, perSeconds, lengthMs: windowMs + Math.min(windowMs * latePart, longestLateMs) };
}

/**
 * Rates, that of the shortest time first. The rate that an operator set replaces that of its time, or else that of the
 * shortest time.
 */
function withSet(rates: Rate[], set: NonNullable<TypeLimits["rate"]>): Rate[] {
  const same = rates.findIndex(({ perSeconds }) => perSeconds === set.per_seconds);
  rates[Math.max(0, same)] = { limit: set.limit, perSeconds: set.per_seconds };
  return rates.sort((a, b) => a.perSeconds - b.perSeconds);
}

const longestKey = 256;

/** A task as its limits see it. */
interface LimitedWork {
  tenantId: string;
  /** Several of a list. */
  inputs: readonly unknown[];
}

/**
 * The line of a task's limit.
 * @throws TypeError when the type's `key` returns no key; whatever it throws
 */
export function lineFor(
  kind: "concurrency" | "rate",
  type: LimitedType,
  { key, scope }: Limit<never>,
  { tenantId, inputs }: LimitedWork,
): WaitQueue {
  const text = key === undefined ? "" : sharedKey(kind === "rate" ? "rateLimit" : kind, key, inputs);
  const tenant = scope === "deployment" ? allTenants : tenantId;
  return lineOf(limitLine(kind, { type: type.name, tenantId: tenant, key: text })) as WaitQueue;
}

/** No further attempt can help: the key is the type's own code. */
export const keyFault = (cause: unknown, of = "a limit"): PermanentError =>
  new PermanentError(`the key of ${of}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });

/**
 * The key of a task's inputs.
 * @throws TypeError when the inputs of a list have several, or `makeKey` returns none; whatever it throws
 */
export function sharedKey(
  option: string,
  makeKey: (input: never) => string | number,
  inputs: readonly unknown[],
): string {
  const [key = "", ...others] = new Set(inputs.map((input) => keyText(option, makeKey(input as never))));
  if (others.length === 0) return key;
  throw new TypeError(
    `${option}.key gives the inputs of this list ${others.length + 1} keys; submit those of each with a unique key of its own`,
  );
}

/**
 * The text of a key that a type's code returned.
 * @throws TypeError when it is none
 */
function keyText(option: string, given: unknown): string {
  // All tasks whose key is NaN would share one line.
  const text = Number.isFinite(given) ? String(given) : given;
  // A lone surrogate cannot be a key of the table.
  if (typeof text === "string" && text !== "" && text.length <= longestKey) return text.toWellFormed();
  quiet(given);
  throw new TypeError(
    `${option}.key returned ${inShort(given)}, and no text of 1 to ${longestKey} characters or finite number`,
  );
}

/**
 * The line of a task's rate. A list of rates has one line: one write gives a start by all of them.
 * @throws TypeError when the keys of a list differ; as `lineFor`
 */
export function lineOfList(
  kind: "rate",
  type: LimitedType,
  { longer = [], ...rate }: NonNullable<LimitsInForce["rateLimit"]>,
  of: LimitedWork,
): WaitQueue {
  const line = lineFor(kind, type, rate, of);
  if (longer.some((other) => lineFor(kind, type, other, of).name !== line.name))
    throw new TypeError("rateLimit: the keys of its rates differ for this input; all of a list need the same key");
  return line;
}
