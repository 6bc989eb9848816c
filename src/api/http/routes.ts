import type { FunctionName } from "../../settings/config.ts";
import type { Note, Row } from "../acts/row.ts";
import * as rows from "../acts/rows.ts";
import { fits, isOpenStep } from "./path-steps.ts";

/** All routes of the API, by the function that answers them and by the name of their handler. */
export const routeTable = {
  submit: {
    submitTask: "POST /tasks",
    submitBatch: "POST /tasks/batch",
    createUpload: "POST /uploads",
  },
  status: {
    readHealth: "GET /health open",
    readOpenApi: "GET /openapi.json open",
    readIdentity: "GET /identity",
    listTasks: "GET /tasks",
    readTask: "GET /tasks/{task_id}",
    listLogs: "GET /tasks/{task_id}/logs",
    listAttempts: "GET /tasks/{task_id}/attempts",
    readResult: "GET /tasks/{task_id}/result",
    listChildren: "GET /tasks/{task_id}/children",
    listDeliveries: "GET /tasks/{task_id}/deliveries",
    listFailedDeliveries: "GET /deliveries",
    listDeadLetters: "GET /dead-letters",
    groupDeadLetters: "GET /dead-letters/groups",
    readOperation: "GET /operations/{operation_id}",
    listSchedules: "GET /schedules",
    previewSchedule: "POST /schedules/preview viewers",
    readSchedule: "GET /schedules/{schedule_id}",
    listNextTimes: "GET /schedules/{schedule_id}/next",
    listAudit: "GET /audit",
    listKeys: "GET /keys",
    listTenants: "GET /tenants",
    listDeployments: "GET /deployments",
    listReceivers: "GET /webhooks",
    readReceiver: "GET /webhooks/{webhook_id}",
    listReceiverDeliveries: "GET /webhooks/{webhook_id}/deliveries",
  },
  control: {
    ...rows.cancels,
    cancelTasks: "POST /tasks/cancel body",
    retryTasks: "POST /tasks/retry body",
    runTasksNow: "POST /tasks/run-now body",
    ...rows.tasks,
    ...rows.priorities,
    ...rows.acknowledgements,
    signalTask: "POST /tasks/{task_id}/signals/{name} silent",
    readSignalLink: "GET /signals/{token} open",
    sendSignalByLink: "POST /signals/{token} open silent",
    ...rows.rareTasks,
    ...rows.webhooks,
    replayDeliveries: "POST /webhooks/{webhook_id}/replay body",
    replayDeadLetters: "POST /dead-letters/replay body",
    discardDeadLetters: "POST /dead-letters/discard body",
    ...rows.running,
    ...rows.queues,
    ...rows.types,
    ...rows.tenants,
    readMetrics: "GET /metrics",
    listAlarms: "GET /alarms",
    ...rows.keys,
    createSchedule: "POST /schedules",
    ...rows.schedules,
    runSchedule: "POST /schedules/{schedule_id}/run",
    openChannel: "POST /channels viewers silent",
  },
  console: {
    readConsole: "GET /console open",
    readConsoleFile: "GET /console/{file} open",
  },
} as const satisfies { readonly [name in FunctionName]?: Readonly<Record<string, Row>> };

/** A function that answers routes. */
export type HttpFunction = keyof typeof routeTable;
/** Name of a route that the function answers. */
export type RouteName<Name extends HttpFunction> = keyof (typeof routeTable)[Name];

/** Name of any route. */
export type AnyRouteName = { [Name in HttpFunction]: RouteName<Name> }[HttpFunction];

/**
 * Name of a route that programs call: any but those of the console, which answer browsers with a page and its files.
 */
export type ApiRouteName = Exclude<AnyRouteName, RouteName<"console">>;

/** Method and path of a row, without its notes. */
type LineOf<Text> = Text extends `${infer Verb} ${infer Path}`
  ? readonly [Verb, Path extends `${infer Own} ${string}` ? Own : Path]
  : never;

/** A path with any text for each step in braces. */
type Filled<Path> = Path extends `${infer Before}{${string}}${infer After}`
  ? `${Before}${string}${Filled<After>}`
  : Path;

type RowsOf<Table> = { [Name in keyof Table]: Table[Name][keyof Table[Name]] }[keyof Table];

/** The paths that take requests of a method, with any ids. */
export type PathOf<Verb extends Method> = Filled<
  Extract<LineOf<RowsOf<typeof routeTable>>, readonly [Verb, unknown]>[1]
>;

export interface Route {
  name: AnyRouteName;
  method: Method;
  path: `/${string}`;
  functionName: HttpFunction;
  notes: readonly Note[];
}

export type Method = Row extends `${infer One} ${string}` ? One : never;

/** All routes of the table. */
export const routes: readonly Route[] = Object.entries(routeTable).flatMap(([name, own]) =>
  Object.entries<Row>(own).map(([route, row]) => {
    const [method, path, ...notes] = row.split(" ") as [Method, `/${string}`, ...Note[]];
    return { name: route as AnyRouteName, method, path, functionName: name as HttpFunction, notes };
  }),
);

/** True when the route needs no token. Undefined, for no route: false. */
export const isOpen = (route: Route | undefined): boolean => route?.notes.includes("open") === true;

/** True when the route changes something. Viewers are refused it. */
export const isChange = ({ method, notes }: Pick<Route, "method" | "notes">): boolean =>
  method !== "GET" && !notes.includes("viewers");

/** True when the audit has the route's requests: each change, and each read of a secret that signs webhooks. */
export const isRecorded = ({ method, notes }: Route): boolean =>
  method === "GET" ? notes.includes("read") : !notes.includes("silent");

/** A route that programs call. */
export type ApiRoute = Route & { name: ApiRouteName };

/** The routes that programs call. The OpenAPI document describes them, and no others. */
export const apiRoutes: readonly ApiRoute[] = /* @__PURE__ */ routes.filter(
  (route): route is ApiRoute => route.functionName !== "console",
);

/** Function that answers requests without a matching route, with 404 or 405. */
export const otherRequests: HttpFunction = "status";

/** One more than the steps in braces. */
const openness = ({ path }: { path: string }): number => path.split("{").length;

/** The steps of each route's path. */
let stepsOfRoutes: readonly string[][] | undefined;

/**
 * Returns the routes of a path, one per method. Where one names the path word for word, those with a step in braces do
 * not count.
 */
export function routesAt(path: string): Route[] {
  const given = path.split("/");
  stepsOfRoutes ??= routes.map((route) => route.path.split("/"));
  const steps = stepsOfRoutes;
  const found = routes.filter((_, index) => fits(steps[index] ?? [], given));
  const least = Math.min(...found.map(openness));
  return found.filter((route) => openness(route) === least);
}

/**
 * Returns the test of a path that fits a route with steps in braces: another route may name that path word for word.
 * Few do, so a request is compared with those alone.
 */
export function isNamedByOther(route: string): (path: string) => boolean {
  const steps = route.split("/");
  const others = routes
    .filter((other) => openness(other) < openness({ path: route }))
    .map(({ path }) => path.split("/"))
    .filter(
      (other) =>
        other.length === steps.length &&
        other.every((step, index) => isOpenStep(steps[index]) || isOpenStep(step) || step === steps[index]),
    );
  return (path) => others.some((other) => fits(other, path.split("/")));
}

/** Returns the route of a request. Undefined: there is none. */
export const routeOf = (method: string, path: string): Route | undefined =>
  routesAt(path).find((route) => route.method === method);
