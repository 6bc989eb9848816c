import type { QueueView, TypeView } from "../../api/acts/views.ts";
import {
  Admin,
  type Caller,
  type ClientOptions,
  createClient,
  Flow,
  type LetterGroupView,
  type Metrics,
  Operations,
  ProblemError,
  type TaskView,
} from "../../client/index.ts";
import { cut } from "../../machine/columns.ts";
import { type Connection, connectionOf, take, textOf } from "./connection.ts";
import { type QueueRow, rowsOf, tierState } from "./queue-commands.ts";
import { plain, type Terminal } from "./terminal.ts";
import { type Columns, table, tableOf } from "./text-table.ts";

/** Tasks and groups that are shown. */
const mostTasks = 10;
const mostGroups = 5;
const mostRetrying = 5;

/** One part of the view: its lines, or why they are missing. Undefined: the caller's role does not have it. */
type Part<T> = { value: T } | { error: string } | undefined;

/** The content of one frame. */
export interface TopView {
  caller: Part<Caller>;
  /** True: of all tenants. */
  for_all: boolean;
  queues: Part<Record<string, QueueView>>;
  /** Tasks per second in the last minutes. Only admins have it. */
  rates: Rates | undefined;
  tasks: Part<TopTask[]>;
  groups: Part<LetterGroupView[]>;
  types: Part<TypeView[]>;
  /** Types of which tasks wait for a place or a start. */
  limits: Part<TypeView[]>;
  /** The newest tasks that wait for another attempt after a failed one. */
  retrying: Part<TopTask[]>;
  /** Parts whose reading stopped early: there may be more than they show. */
  unread: readonly ("groups" | "tasks" | "retrying")[];
}

/** Pages that are read where they are short, at most. */
const mostPages = 5;

type TopTask = Pick<TaskView, "task_id" | "type" | "status" | "progress" | "created_at" | "error">;

/** Reads all parts. Each fails by itself; a part that the role may not read is left out. The signal ends all reads. */
export async function readTop(options: Connection, signal?: AbortSignal): Promise<TopView> {
  const own = { ...connectionOf(options), maxTries: 1 };
  const caller = await part(new Admin(own).identity({ signal }));
  const connection = options.tenant === undefined && isAdmin(caller) ? { ...own, tenant: "*" } : own;
  const client = createClient(connection);
  const [rates, queues, tasks, groups, types, retrying] = await Promise.all([
    ratesOf(own, isAdmin(caller), signal),
    part(client.queues({ signal })),
    part(take(client.list({}, { signal }), mostTasks, mostPages)),
    part(new Operations(connection).deadLetterGroups({}, { signal })),
    part(new Flow(connection).types({ signal })),
    part(take(client.list({ status: "pending", retrying: true }, { signal }), mostRetrying, mostPages)),
  ]);
  return {
    caller,
    for_all: connection.tenant === "*",
    queues,
    rates,
    tasks: mapped(tasks, ({ items }) => items),
    retrying: mapped(retrying, ({ items }) => items),
    groups: mapped(groups, ({ groups: all }) => all.slice(0, mostGroups)),
    unread: [
      ...(stopped(groups, ({ complete }) => complete) ? (["groups"] as const) : []),
      ...(stopped(tasks, ({ items, more }) => !more || items.length > 0) ? (["tasks"] as const) : []),
      ...(stopped(retrying, ({ items, more }) => !more || items.length > 0) ? (["retrying"] as const) : []),
    ],
    types: mapped(types, ({ types: all }) => all.filter(isStopped)),
    limits: mapped(types, ({ types: all }) => all.filter((type) => Boolean(type.waits_for_limit))),
  };
}

/** Tasks per second of a deployment. */
export type Rates = Record<"submitted" | "completed" | "failed", number>;

/** Periods of which the rates are the average: the newest one may not be over, and metrics are a minute late in AWS. */
const periodsRead = 3;

/** Metrics are asked for once in this time, in milliseconds: CloudWatch has a price. */
const ratesMs = 60_000;

let lastRates: { atMs: number; rates: Promise<Rates | undefined> } | undefined;

/** The rates of the last minutes. Undefined: the caller may not see them, or they cannot be read now. */
function ratesOf(connection: ClientOptions, may: boolean, signal: AbortSignal | undefined) {
  if (!may) return undefined;
  if (lastRates === undefined || Date.now() - lastRates.atMs > ratesMs) {
    const rates = new Admin(connection).metrics({ hours: 1, signal }).then(ratesIn, () => undefined);
    lastRates = { atMs: Date.now(), rates };
  }
  return lastRates.rates;
}

function ratesIn({ to, period_seconds, series }: Metrics): Rates {
  const end = Date.parse(to) / 1000;
  const rateOf = (wanted: keyof Rates) =>
    series
      .filter(({ name }) => name === wanted)
      .flatMap(({ points }) => points.filter(([at]) => at >= end - periodsRead * period_seconds))
      .reduce((sum, [, value]) => sum + value, 0) /
    (periodsRead * period_seconds);
  return { submitted: rateOf("submitted"), completed: rateOf("completed"), failed: rateOf("failed") };
}

/** Such as `Tasks per second: 1.25 submitted, 1.20 completed, 0.00 failed`. */
const rateText = (rates: Rates): string =>
  `Tasks per second: ${Object.entries(rates)
    .map(([name, value]) => `${value.toFixed(2)} ${name}`)
    .join(", ")}`;

/** An admin who names no tenant looks at all of them: what fails may fail for others. */
const isAdmin = (caller: TopView["caller"]): boolean =>
  caller !== undefined && "value" in caller && caller.value.role === "admin";

async function part<T>(reading: Promise<T>): Promise<Part<T>> {
  try {
    return { value: await reading };
  } catch (error) {
    return error instanceof ProblemError && error.status === 403 ? undefined : { error: textOf(error) };
  }
}

const mapped = <T, To>(read: Part<T>, map: (value: T) => To): Part<To> =>
  read !== undefined && "value" in read ? { value: map(read.value) } : read;

const stopped = <T>(read: Part<T>, isWhole: (value: T) => boolean): boolean =>
  read !== undefined && "value" in read && !isWhole(read.value);

/** True for a type whose tasks do not start now. */
const isStopped = ({ paused, breaker, stopped_tenants = [] }: TypeView): boolean =>
  paused !== null || breaker?.state === "open" || stopped_tenants.length > 0;

/** The lines of a view. */
export function topLines(view: TopView, terminal: Terminal): string[] {
  const { caller, rates, queues, tasks, groups, types, limits, retrying, unread } = view;
  // A line that would break would push the last ones of a frame off the screen.
  const line = (text: string) => (terminal.width === undefined ? text : cut(text, terminal.width));
  const section = <T>(read: Part<T>, show: (value: T) => string | undefined): string[] => {
    if (read === undefined) return [];
    const text = "value" in read ? show(read.value) : line(`not readable now: ${plain(read.error)}`);
    return text === undefined ? [] : [...text.split("\n"), ""];
  };
  const list = <Item>(read: Part<Item[]>, columns: Columns<Item>, none?: string): string[] =>
    section(read, (items) => (items.length === 0 ? none : tableOf(items, columns, { terminal })));
  const none = (of: (typeof unread)[number], what: string) =>
    unread.includes(of) ? `${what} among those that were read.` : `${what}.`;
  const noRetry = unread.includes("retrying") ? none("retrying", "No task that waits for another attempt") : undefined;
  return [
    ...section(caller, (value) => line(callerText(value, view))),
    ...(rates === undefined ? [] : [line(rateText(rates)), ""]),
    ...list(mapped(queues, rowsOf), queueColumns),
    ...section(types, (value) => (value.length > 0 ? table(stopHeadings, stopRows(value), { terminal }) : undefined)),
    // What cannot be read is said once.
    ...(limits !== undefined && "value" in limits ? list(limits, limitColumns) : []),
    ...list(groups, groupColumns, none("groups", "No dead letters")),
    ...(unread.includes("groups") ? [line(olderText), ""] : []),
    ...list(retrying, retryColumns, noRetry),
    ...list(tasks, taskColumns, none("tasks", "No tasks")),
  ];
}

const olderText = "Older dead letters are not counted: npx offload dlq groups --failed-before ...";

const callerText = ({ tenant_id, principal, role }: Caller, { for_all }: TopView): string =>
  `${for_all ? "All tenants" : `Tenant ${plain(tenant_id)}`}, as ${plain(principal)} (${role})`;

const queueColumns: Columns<QueueRow> = {
  ...{ tier: "tier", waiting: "visible", "oldest (s)": "oldest_age_seconds", "in flight": "in_flight" },
  ...{ delayed: "delayed", retrying: "retrying", "dead letters": "dead_letters", state: tierState },
};

/** A breaker that an earlier release opened has no such time. */
const openSince = (breaker: TypeView["breaker"]) => breaker?.open_since ?? breaker?.open_until;

const stopHeadings = ["stopped type", "tenant", "paused since", "breaker open since", "oldest waits since"];

/** A row for a type that is stopped for all tenants or the caller's, and one for each other tenant. */
const stopRows = (types: readonly TypeView[]) =>
  types.flatMap(({ name, paused, breaker, waiting_since, stopped_tenants = [] }) => [
    ...(paused === null && breaker?.state !== "open"
      ? []
      : [[name, paused?.all == null ? "" : "all", paused?.all ?? paused?.tenant, openSince(breaker), waiting_since]]),
    ...stopped_tenants.map(({ tenant_id, paused_since, breaker_open_since, breaker_open_until }) => [
      ...[name, tenant_id, paused_since, breaker_open_since ?? breaker_open_until],
    ]),
  ]);

const limitColumns: Columns<TypeView> = {
  "waits for a place or a start": "name",
  tasks: ({ waits_for_limit: waits }) => `${waits?.tasks}${waits?.complete === false ? " or more" : ""}`,
  "oldest waits since": ({ waits_for_limit: waits }) => waits?.since,
};

const groupColumns: Columns<LetterGroupView> = {
  ...{ failed: "count", type: "type", last: "last_failed_at", error: "error" },
};

const retryColumns: Columns<TopTask> = {
  ...{ "failed and tried again": "task_id", type: "type", submitted: "created_at", error: "error" },
};

const taskColumns: Columns<TopTask> = {
  ...{ task: "task_id", type: "type", status: "status", "%": "progress", submitted: "created_at", error: "error" },
};
