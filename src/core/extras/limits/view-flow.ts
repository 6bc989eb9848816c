import { iso } from "../../model/record.ts";
import { allTenants, breakerName, lineOf, pauseName, type WaitQueue } from "../../model/wait-queue.ts";
import {
  type Breaker,
  type FlowSetting,
  limitsName,
  type Pause,
  type TypeLimits,
  type WaitingEntry,
  type WaitQueues,
} from "../../ports/flow.ts";
import { isOver } from "./limit-lines.ts";
import { allShards } from "./place-book.ts";

export interface SharingView {
  /** True when tasks with equal keys share the limit. False: all tasks of the type. */
  keyed: boolean;
  scope: "tenant" | "deployment";
  /**
   * The limit of the definition. Null: the definition has none, and an operator set one. Absent: no operator set
   * another one.
   */
  defined_limit?: number | null | undefined;
}

/** The limit that an operator set for one key of a type. */
export interface KeyLimitView {
  key: string;
  /** Null: tenants share it. */
  tenant_id: string | null;
  kind: "concurrency" | "rate";
  /** Attempts at the same time, or starts in `per_seconds`. */
  limit: number;
  /** Null: it is a limit of attempts at the same time. */
  per_seconds: number | null;
  /** Time at which it ends. Null: it holds until it is taken away. */
  until: string | null;
}

/** The order of a type whose tasks of a key run one after the other. Absent: it has none. */
interface StrictView {
  order?: "strict" | undefined;
  /** The line of a dead letter's key goes on, or is held. */
  on_dead_letter?: "continue" | "hold" | undefined;
}

/** The limits of a type that are in force, as clients see them. Null: it has no such limit. */
export interface LimitsView {
  concurrency:
    | (SharingView & {
        /** Null: the input of the newest task of a key decides. */
        limit: number | null;
      } & StrictView)
    | null;
  rate_limit: (SharingView & RateView & { longer?: RateView[] | undefined }) | null;
}

/** A rate. */
interface RateView {
  /** Null: the input of the newest task of a key decides. */
  limit: number | null;
  per_seconds: number;
  /** As `defined_per_seconds`; null also for a function of the input. */
  defined_limit?: number | null | undefined;
  /** The rate of the definition. Null: it has none. Absent: no operator set another one. */
  defined_per_seconds?: number | null | undefined;
}

/** A type's breaker as one tenant sees it. With a key: those of all keys together. */
export interface BreakerView extends BreakerState {
  failures: number;
  cool_down_seconds: number;
  /** True: each key has a breaker. Absent: the type has one. */
  keyed?: true | undefined;
  /** The keys whose breakers are open. Absent: the breaker has no key. */
  open_keys?: OpenKeyView[] | undefined;
}

interface BreakerState {
  /** `open`: also if only that of one key is. */
  state: "closed" | "open";
  /** The most of any key. */
  failures_in_a_row: number;
  /** The first time at which a task tries. */
  open_until: string | null;
  /** Null: it is closed, or was opened before a release that keeps the time. */
  open_since: string | null;
}

/** A key whose breaker is open. */
export interface OpenKeyView {
  key: string;
  failures_in_a_row: number;
  open_until: string;
  open_since: string | null;
}

/** The part of a type's view that says when its tasks start. */
export interface TypeFlowView extends LimitsView {
  /** Null: the type has no breaker. */
  breaker: BreakerView | null;
  /** Null: the type is not paused. */
  paused: PausedView | null;
  /** The keys for which an operator set a limit of their own. Absent: there is none. */
  key_limits?: KeyLimitView[] | undefined;
}

/** A tenant for which a type is paused, or its breaker open. Null: that is not so. */
export interface StoppedTenant {
  tenant_id: string;
  paused_since: string | null;
  /** The reason of a pause that the type made by itself. Absent: a person paused it, or nobody. */
  paused_reason?: string | undefined;
  breaker_open_until: string | null;
  breaker_open_since: string | null;
}

/** The pauses of a type as clients see them: since when. */
export interface PausedView {
  /** For all tenants. */
  all: string | null;
  /** For the caller's tenant. */
  tenant: string | null;
  /** The reason of a pause that the type made by itself. Absent: a person paused it. */
  reason?: string | undefined;
}

type DefinedPermits = Pick<SharingView, "keyed" | "scope"> & { limit: number | null };
type DefinedRate = Pick<SharingView, "keyed" | "scope"> & {
  limit: number | null;
  per_seconds: number;
  longer?: readonly RateView[];
};

/** The limits in a type's definition. */
interface LimitedEntry {
  concurrency?: DefinedPermits & StrictView;
  rate_limit?: DefinedRate;
}

export const limitsView = ({ concurrency, rate_limit }: LimitedEntry, set: TypeLimits | undefined): LimitsView => ({
  concurrency: concurrency === undefined ? setPermits(set?.concurrency) : permitsView(concurrency, set?.concurrency),
  rate_limit: rate_limit === undefined ? setRate(set?.rate) : rateView(rate_limit, set?.rate),
});

const ofWholeType = { keyed: false, scope: "deployment" } as const;

const setPermits = (limit: number | undefined): LimitsView["concurrency"] =>
  limit === undefined ? null : { limit, ...ofWholeType, defined_limit: null };

const setRate = (rate: TypeLimits["rate"]): LimitsView["rate_limit"] =>
  rate === undefined ? null : { ...rate, ...ofWholeType, defined_limit: null, defined_per_seconds: null };

const permitsView = (defined: DefinedPermits & StrictView, given: number | undefined) => {
  // A limit that was set before the type had its order does not count.
  const set = defined.order === undefined ? given : undefined;
  const { order, on_dead_letter } = defined;
  return {
    limit: set ?? defined.limit,
    keyed: defined.keyed,
    scope: defined.scope,
    ...(order && { order, on_dead_letter }),
    ...(set === undefined ? {} : { defined_limit: defined.limit }),
  };
};

/** A rate that an operator set replaces that of its time in a list, or else that of the shortest time. */
function rateView({ keyed, scope, longer = [], limit, per_seconds }: DefinedRate, set: TypeLimits["rate"]) {
  const rates: RateView[] = [{ limit, per_seconds }, ...longer];
  const replaced = Math.max(
    0,
    rates.findIndex((rate) => rate.per_seconds === set?.per_seconds),
  );
  const withSet = rates.map((rate, index) =>
    set === undefined || index !== replaced
      ? rate
      : { ...set, defined_limit: rate.limit, defined_per_seconds: rate.per_seconds },
  );
  const [first, ...others] = withSet.sort((one, other) => one.per_seconds - other.per_seconds) as [RateView];
  return { ...first, keyed, scope, ...(others.length > 0 && { longer: others }) };
}

/** Null: the type is not paused. */
export const pausedView = (all: Pause | undefined, tenant: Pause | undefined): PausedView | null =>
  all === undefined && tenant === undefined
    ? null
    : { all: all?.since ?? null, tenant: tenant?.since ?? null, ...reasonOf(all, tenant) };

const reasonOf = (...pauses: (Pause | undefined)[]): { reason?: string } => {
  const reason = pauses.find((pause) => pause?.reason !== undefined)?.reason;
  return reason === undefined ? {} : { reason };
};

/** A type's limits, pauses and breaker, as one tenant sees them. */
export function typeFlowView(
  entry: LimitedEntry & { name: string; breaker?: DefinedBreaker },
  tenantId: string,
  settings: ReadonlyMap<string, FlowSetting>,
): TypeFlowView {
  const { name: type, breaker } = entry;
  const pauseOf = (of: { tenantId?: string }) =>
    settings.get(pauseName({ scope: "type", type, ...of })) as Pause | undefined;
  return {
    ...limitsView(entry, settings.get(limitsName(type)) as TypeLimits | undefined),
    breaker: breaker === undefined ? null : { ...breaker, ...stateOf(breakersIn(entry, tenantId, settings), breaker) },
    paused: pausedView(pauseOf({}), pauseOf({ tenantId })),
  };
}

type DefinedBreaker = Pick<BreakerView, "failures" | "cool_down_seconds"> & { keyed?: true };

/** The breakers of a type that count for a tenant. */
function breakersIn(
  { name: type, breaker }: { name: string; breaker?: DefinedBreaker },
  tenantId: string,
  settings: ReadonlyMap<string, FlowSetting>,
): Breaker[] {
  if (breaker === undefined) return [];
  if (!breaker.keyed) return [settings.get(breakerName(type, tenantId)) as Breaker | undefined].filter((one) => !!one);
  const prefix = breakerName(type, tenantId, "");
  return [...settings.values()].filter((one): one is Breaker => one.name.startsWith(prefix));
}

function stateOf(
  breakers: readonly Breaker[],
  { keyed }: DefinedBreaker,
): BreakerState & Pick<BreakerView, "open_keys"> {
  if (!keyed) return breakerState(breakers[0]);
  const open = breakers.filter(({ openUntilMs }) => openUntilMs !== undefined).map(openKeyView);
  const first = (times: (string | null)[]) => times.filter((time) => time !== null).sort()[0] ?? null;
  return {
    state: open.length > 0 ? "open" : "closed",
    failures_in_a_row: Math.max(0, ...breakers.map(({ failures }) => failures)),
    open_until: first(open.map(({ open_until }) => open_until)),
    open_since: first(open.map(({ open_since }) => open_since)),
    open_keys: open.sort((a, b) => (a.key < b.key ? -1 : 1)),
  };
}

const openKeyView = (breaker: Breaker): OpenKeyView => {
  const { state: _, ...view } = breakerState(breaker);
  return { key: keyOfBreaker(breaker), ...view, open_until: view.open_until ?? "" };
};

const keyOfBreaker = ({ name }: Breaker): string => name.split("/").slice(3).join("/");

const pauseOfTenant = ({ since, reason }: Pause): Partial<StoppedTenant> => ({
  paused_since: since,
  ...(reason !== undefined && { paused_reason: reason }),
});

/** Tenants that a view names, at most. */
const maxStopped = 100;

/** The line of a key that has a limit of its own, by the setting's name. Undefined: it is another setting. */
export function lineOfLimit({ kind, name }: FlowSetting): (WaitQueue & { tenantId: string; key: string }) | undefined {
  const line = kind === "limits" ? lineOf(name.slice(limitsName("").length)) : undefined;
  const [, , tenantId, ...key] = line?.name.split("/") ?? [];
  return line === undefined || tenantId === undefined ? undefined : { ...line, tenantId, key: key.join("/") };
}

/** The limit of a key as clients see it. */
export function keyLimitView(set: TypeLimits): KeyLimitView {
  const { kind, tenantId = "", key = "" } = lineOfLimit(set) ?? {};
  return {
    key,
    tenant_id: tenantId === allTenants ? null : tenantId,
    kind: kind === "concurrency" ? kind : "rate",
    limit: set.concurrency ?? set.rate?.limit ?? 0,
    per_seconds: set.rate?.per_seconds ?? null,
    until: set.untilMs === undefined ? null : iso(set.untilMs),
  };
}

/**
 * The limits of single keys of a type that are in force, in the order of their names.
 * @param tenantId Those of a tenant, and those that tenants share. Undefined: of all tenants.
 */
export function keyLimitsIn(
  type: string,
  tenantId: string | undefined,
  settings: readonly FlowSetting[],
  nowMs: number,
): { key_limits?: KeyLimitView[] } {
  const own = settings.filter((one): one is TypeLimits => {
    const line = lineOfLimit(one);
    if (line?.type !== type || isOver(one as TypeLimits, nowMs)) return false;
    return tenantId === undefined || line.tenantId === tenantId || line.tenantId === allTenants;
  });
  const sorted = own.sort((a, b) => (a.name < b.name ? -1 : 1));
  return sorted.length === 0 ? {} : { key_limits: sorted.map(keyLimitView) };
}

/** The tenants for which alone a type is paused, or its breaker open, in the order of their ids. */
export function stoppedTenants(type: string, settings: readonly FlowSetting[]): StoppedTenant[] {
  const found = new Map<string, StoppedTenant>();
  const of = (tenantId: string, more: Partial<StoppedTenant>) =>
    found.set(tenantId, { ...(found.get(tenantId) ?? nothingStopped(tenantId)), ...more });
  const [pauses, breakers] = [pauseName({ scope: "type", type, tenantId: "" }), breakerName(type, "")];
  for (const setting of settings) {
    const { name } = setting;
    if (name.startsWith(pauses)) of(name.slice(pauses.length), pauseOfTenant(setting as Pause));
    if (!name.startsWith(breakers)) continue;
    const { open_until, open_since } = breakerState(setting as Breaker);
    if (open_until === null) continue;
    const [tenantId = ""] = name.slice(breakers.length).split("/");
    // Of several keys, that which has been open for longest.
    const earlier = found.get(tenantId)?.breaker_open_since;
    if (earlier && open_since && earlier <= open_since) continue;
    of(tenantId, { breaker_open_until: open_until, breaker_open_since: open_since });
  }
  return [...found.values()].sort((a, b) => (a.tenant_id < b.tenant_id ? -1 : 1)).slice(0, maxStopped);
}

/**
 * The time from which the first task waits behind what stops a type for a tenant. Null: none does. Reads one task for
 * each pause and open breaker, and nothing of types that go on.
 */
export async function waitingSince(
  lines: Pick<WaitQueues, "first">,
  entry: { name: string; breaker?: DefinedBreaker },
  tenantId: string,
  settings: ReadonlyMap<string, FlowSetting>,
): Promise<string | null> {
  const { name: type } = entry;
  const pauses = [pauseName({ scope: "type", type }), pauseName({ scope: "type", type, tenantId })];
  // Without a definition of a breaker, tasks may still wait in the line of an earlier one.
  const open = breakersIn({ breaker: { failures: 1, cool_down_seconds: 1 }, ...entry }, tenantId, settings)
    .filter(({ openUntilMs }) => openUntilMs !== undefined)
    .sort((a, b) => (a.openedMs ?? 0) - (b.openedMs ?? 0))
    .slice(0, maxLines);
  const stopped = [...pauses.filter((name) => settings.has(name)), ...open.map(({ name }) => name)];
  const waiting = (await Promise.all(stopped.map((name) => lines.first(name, 1)))).flat();
  const times = waiting.map(({ sinceMs, createdAt }) => (sinceMs === undefined ? createdAt : iso(sinceMs)));
  return times.sort()[0] ?? null;
}

const nothingStopped = (tenantId: string): StoppedTenant => ({
  tenant_id: tenantId,
  paused_since: null,
  breaker_open_until: null,
  breaker_open_since: null,
});

const breakerState = ({ failures = 0, openUntilMs, openedMs }: Partial<Breaker> = {}) => ({
  state: openUntilMs === undefined ? ("closed" as const) : ("open" as const),
  failures_in_a_row: failures,
  open_until: openUntilMs === undefined ? null : iso(openUntilMs),
  open_since: openedMs === undefined ? null : iso(openedMs),
});

/** Settings by their names. */
export const byName = (settings: readonly FlowSetting[]): ReadonlyMap<string, FlowSetting> =>
  new Map(settings.map((setting) => [setting.name, setting]));

/** Lines of a limit that are read, and tasks of each, at most: a look at all types pays for them. */
const maxLines = 5;
const maxTasks = 10;

/** The tasks of a type that wait for a permit or a start. */
export interface LimitWait {
  /** Time from which the first of them waits. */
  since: string;
  tasks: number;
  /** False: further ones wait. */
  complete: boolean;
}

/**
 * The tasks that wait in the lines of a type's limits. Reads nothing for a type without limits.
 * @param tenantId The tenant whose lines are read: those that tenants share tell of others. Undefined: all lines.
 */
export async function limitWait(
  lines: Pick<WaitQueues, "first" | "list" | "states">,
  { concurrency, rate_limit }: LimitsView,
  type: string,
  tenantId: string | undefined,
): Promise<LimitWait | null> {
  const kinds = [...(concurrency === null ? [] : ["concurrency"]), ...(rate_limit === null ? [] : ["rate"])];
  const prefixes = kinds.map((kind) => `${kind}/${type}/${tenantId === undefined ? "" : `${tenantId}/`}`);
  const listed = await Promise.all(prefixes.map((prefix) => lines.list(prefix, maxLines + 1)));
  const read = listed.flatMap((found) => found.slice(0, maxLines));
  const states = await lines.states(read);
  const waiting = await Promise.all(
    read.map((line, index) => lines.first(line, maxTasks + 1, states[index]?.sharded && allShards)),
  );
  const since = waiting.flat().map(sinceOf).sort()[0];
  if (since === undefined) return null;
  return {
    since,
    tasks: waiting.reduce((sum, tasks) => sum + Math.min(tasks.length, maxTasks), 0),
    complete: [
      ...listed.map(({ length }) => length <= maxLines),
      ...waiting.map((one) => one.length <= maxTasks),
    ].every(Boolean),
  };
}

const sinceOf = ({ sinceMs, createdAt }: WaitingEntry): string => (sinceMs === undefined ? createdAt : iso(sinceMs));
