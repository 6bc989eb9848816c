import type { Metrics, QueueView, TypeList } from "../../../src/api/acts/views.ts";
import type { ScheduleView } from "../../../src/client/schedule-calls.ts";
import type { LetterGroups } from "../../../src/core/control/group-dead-letters.ts";
import type { AlarmView, MetricSeries } from "../../../src/core/control/metric-history.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import type { Deployment } from "../../../src/core/schedules/ports.ts";
import { deploymentName, newSince } from "../deployments.ts";
import { counted, duration } from "../format.ts";
import type { ChartData, ChartLine } from "../parts/chart.tsx";
import type { QueryValues } from "../route.ts";
import { scheduleFault } from "./schedule-fault.ts";

export interface QueuesAnswer {
  queues: Record<string, QueueView>;
}

/** Something that is wrong now, or that somebody has stopped. */
export interface Trouble {
  kind: "alarm" | "breaker" | "failing" | "retrying" | "paused" | "full" | "waits" | "schedule";
  /** The name of the thing. */
  name: string;
  /** The fault, after the name. */
  text: string;
  /** The reason, in the words of the error or of the person who stopped it. Absent: there is none. */
  why?: string | undefined;
  since: string | null;
  /** Steps of the page that has more. Undefined: none has. */
  place: string[] | undefined;
  /** Query of that page. Absent: none. */
  query?: QueryValues;
  /** Tenant of the task, in an answer for all tenants. */
  tenant_id?: string | undefined;
}

export const troublesOfAlarms = (alarms: readonly AlarmView[]): Trouble[] =>
  alarms
    .filter(({ state }) => state === "alarm")
    .map(({ name, description, since }) => ({ kind: "alarm", name, text: description ?? "", since, place: undefined }));

/** A permanent failure counts as trouble for so long, in milliseconds. */
const freshMs = 3_600_000;

/** Errors with which tasks have failed permanently within the last hour, the newest first. */
export function troublesOfGroups(of: LetterGroups, nowMs: number, last?: Deployment): Trouble[] {
  const fresh = newSince(last, of);
  const sinceThen = (group: LetterGroups["groups"][number]) =>
    last !== undefined && fresh?.includes(group) ? `, all since ${deploymentName(last, nowMs)}` : "";
  return of.groups
    .filter(({ last_failed_at }) => nowMs - Date.parse(last_failed_at) < freshMs)
    .sort((a, b) => (a.last_failed_at < b.last_failed_at ? 1 : -1))
    .map((group) => ({
      ...{ kind: "failing", name: group.type, since: group.first_failed_at, place: ["dead-letters"] },
      query: { type: group.type, fingerprint: group.fingerprint },
      text: `${counted(group.count, "task")} failed for good${sinceThen(group)}`,
      why: group.error ?? undefined,
    }));
}

/** Tasks that failed and wait for another attempt, by type. */
export function troublesOfRetrying(tasks: readonly TaskView[]): Trouble[] {
  const types = [...new Set(tasks.map(({ type }) => type))];
  return types.map((type) => {
    const own = tasks.filter((task) => task.type === type);
    const number = `${own.length}${tasks.length >= mostRetrying ? " or more" : ""}`;
    const text =
      number === "1"
        ? "1 task failed and waits for another attempt"
        : `${number} tasks failed and wait for another attempt`;
    return { kind: "retrying", name: type, text, why: own[0]?.error ?? undefined, since: null, place: ["tasks"] };
  });
}

/** Tasks that wait for another attempt which the overview reads, at most. */
export const mostRetrying = 50;

/** Tasks wait for a place or a start as a matter of course; for this long, in milliseconds, it is worth a look. */
const longWaitMs = 60_000;

/** The pause of the tenant, and breakers, pauses and long lines of types. */
export function troublesOfTypes(
  { types, tenant_paused_since }: TypeList,
  tenant: string,
  nowMs = Date.now(),
): Trouble[] {
  const found: Trouble[] = [];
  const add = (kind: Trouble["kind"], name: string, text: string, since: string | null, place = ["types", name]) =>
    found.push({ kind, name, text, since, place });
  if (tenant_paused_since !== null) {
    add("paused", tenant, "no task of the tenant starts", tenant_paused_since, ["types"]);
  }
  for (const { name, breaker, paused, waiting_since, waits_for_limit, stopped_tenants = [] } of types) {
    for (const one of stopped_tenants) found.push(troubleOfStopped(name, one));
    const oldest = !waiting_since ? "" : `; the oldest task waits for ${duration(nowMs - Date.parse(waiting_since))}`;
    if (breaker?.state === "open") {
      const text = `${breaker.failures_in_a_row} failures in a row${keysOf(breaker)}: its tasks wait, and one tries now and then`;
      add("breaker", name, text + oldest, breaker.open_since);
    }
    found.push(...troubleOfWait(name, waits_for_limit, nowMs));
    if (paused === null) continue;
    const why = reasonOf(paused);
    if (paused.tenant !== null) add("paused", name, `no task of the type starts${why}`, paused.tenant);
    if (paused.all !== null) add("paused", name, `no task of the type starts, for any tenant${why}`, paused.all);
  }
  const rank = ({ kind }: Trouble) => (kind === "breaker" ? 0 : 1);
  return found.sort((a, b) => rank(a) - rank(b));
}

/** The first keys whose breakers are open. */
function keysOf({ open_keys: open = [] }: NonNullable<TypeList["types"][number]["breaker"]>): string {
  if (open.length === 0) return "";
  const more = open.length > 3 ? ` and ${open.length - 3} more` : "";
  return ` of ${open.length === 1 ? "the key" : "keys"} ${open
    .slice(0, 3)
    .map(({ key }) => key)
    .join(", ")}${more}`;
}

/** The tasks that have waited for long in the lines of a type's limits. An API of an earlier release does not tell. */
function troubleOfWait(name: string, waits: TypeList["types"][number]["waits_for_limit"], nowMs: number): Trouble[] {
  const waitsMs = waits ? nowMs - Date.parse(waits.since) : 0;
  if (!waits || waitsMs < longWaitMs) return [];
  const { tasks, complete, since } = waits;
  const number = `${tasks}${complete ? "" : " or more"} ${tasks === 1 ? "task" : "tasks"}`;
  const text = `${number} in the lines of its limits; the oldest waits for ${duration(waitsMs)}`;
  return [{ kind: "waits", name, text, since, place: ["types", name] }];
}

const reasonOf = ({ reason }: { reason?: string | undefined }): string =>
  reason === undefined ? "" : `: paused by itself, ${reason}`;

/** The reasons why a type stands still for one tenant, in an answer for all. Each has an open breaker or a pause. */
const troubleOfStopped = (
  type: string,
  {
    tenant_id,
    paused_since,
    paused_reason: reason,
    breaker_open_since: open,
  }: NonNullable<TypeList["types"][number]["stopped_tenants"]>[number],
): Trouble => ({
  kind: open === null ? "paused" : "breaker",
  name: `${type} of ${tenant_id}`,
  text: `its tasks wait${open === null ? reasonOf({ reason }) : ""}`,
  since: open ?? paused_since,
  place: ["types", type],
  tenant_id,
});

export const troublesOfQueues = ({ queues }: QueuesAnswer): Trouble[] =>
  Object.entries(queues).flatMap(([tier, { paused, paused_since, refusing_since }]) => {
    const of = { name: `tier ${tier}`, place: ["queues"] };
    const full = { kind: "full", text: "it is full, and refuses submits", since: refusing_since, ...of } as const;
    const stopped = { kind: "paused", text: "none of its tasks starts", since: paused_since, ...of } as const;
    return [...(refusing_since ? [full] : []), ...(paused ? [stopped] : [])];
  });

/** Schedules that do not run. */
export const troublesOfSchedules = (
  schedules: readonly ScheduleView[],
  types: readonly { name: string }[] | undefined,
  nowMs: number,
): Trouble[] =>
  schedules.flatMap((schedule) => {
    const fault = scheduleFault(schedule, types, nowMs);
    if (fault === undefined) return [];
    const { name, schedule_id } = schedule;
    return [
      {
        ...{ ...schedule, kind: "schedule" as const, name, ...fault },
        place: ["schedules", schedule_id],
      },
    ];
  });

/** Tiers of which there are figures. */
export const tiersOf = ({ series }: Metrics): string[] => [...new Set(series.map(({ tier }) => tier))];

/** Joins the values of one time: of several tiers. */
type Join = (before: number | null, value: number) => number;
const sum: Join = (before, value) => (before ?? 0) + value;
const largest: Join = (before, value) => Math.max(before ?? 0, value);

interface Wanted {
  name: MetricSeries["name"];
  statistic: MetricSeries["statistic"];
  /** Undefined: all tiers. */
  tier: string | undefined;
}

/** The values of each period. */
function valuesOf(metrics: Metrics, wanted: Wanted, join: Join, periods: number): (number | null)[] {
  const values = Array<number | null>(periods).fill(null);
  const ofName = metrics.series.filter(
    ({ name, statistic, tier }) =>
      name === wanted.name && statistic === wanted.statistic && (wanted.tier === undefined || tier === wanted.tier),
  );
  const fromSeconds = Date.parse(metrics.from) / 1_000;
  for (const { points } of ofName) {
    for (const [seconds, value] of points) {
      const period = Math.floor((seconds - fromSeconds) / metrics.period_seconds);
      if (period >= 0 && period < periods) values[period] = join(values[period] ?? null, value);
    }
  }
  return values;
}

function timesOf({ from, to, period_seconds }: Metrics): number[] {
  const fromSeconds = Date.parse(from) / 1_000;
  const periods = Math.min(2_000, Math.max(1, Math.ceil((Date.parse(to) / 1_000 - fromSeconds) / period_seconds)));
  return Array.from({ length: periods }, (_, index) => fromSeconds + index * period_seconds);
}

/** Ended tasks in each period. */
export function throughputOf(metrics: Metrics, tier: string | undefined): ChartData {
  const times = timesOf(metrics);
  const line = (name: "completed" | "failed", colour: ChartLine["colour"]): ChartLine => {
    const values = valuesOf(metrics, { name, statistic: "sum", tier }, sum, times.length);
    return { name, colour, values: values.map((value) => value ?? 0) };
  };
  return { times, lines: [line("completed", "good"), line("failed", "danger")] };
}

/** The wait in the queue. Of several tiers the longest one counts. */
export function waitsOf(metrics: Metrics, tier: string | undefined): ChartData {
  const times = timesOf(metrics);
  const line = (statistic: "p50" | "p95", name: string, colour: ChartLine["colour"]): ChartLine => ({
    ...{ name, colour },
    values: valuesOf(metrics, { name: "queue_wait_ms", statistic, tier }, largest, times.length),
  });
  return { times, lines: [line("p50", "half wait less (p50)", "accent"), line("p95", "95 % wait less (p95)", "warn")] };
}

/** The sum of a line. */
export const totalOf = ({ lines }: ChartData, name: string): number =>
  (lines.find((line) => line.name === name)?.values ?? []).reduce<number>((total, value) => total + (value ?? 0), 0);

/** True when no line has a value other than 0. */
export const isEmpty = ({ lines }: ChartData): boolean => lines.every(({ values }) => values.every((value) => !value));
