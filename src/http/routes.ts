import type { FunctionName } from "../settings/config.ts";

/** A route in the table. A step in braces matches any text. An open route needs no token. */
export type Declared = readonly [method: "GET" | "POST" | "PATCH" | "DELETE", path: `/${string}`, open?: "open"];

/** All routes of the API, by the function that answers them and by the name of their handler. */
export const routeTable = {
  submit: {
    submitTask: ["POST", "/tasks"],
    submitBatch: ["POST", "/tasks/batch"],
    createUpload: ["POST", "/uploads"],
  },
  status: {
    readHealth: ["GET", "/health", "open"],
    readOpenApi: ["GET", "/openapi.json", "open"],
    readIdentity: ["GET", "/identity"],
    listTasks: ["GET", "/tasks"],
    readTask: ["GET", "/tasks/{task_id}"],
    listLogs: ["GET", "/tasks/{task_id}/logs"],
    listAttempts: ["GET", "/tasks/{task_id}/attempts"],
    readResult: ["GET", "/tasks/{task_id}/result"],
    listChildren: ["GET", "/tasks/{task_id}/children"],
    listDeliveries: ["GET", "/tasks/{task_id}/deliveries"],
    listFailedDeliveries: ["GET", "/deliveries"],
    listDeadLetters: ["GET", "/dead-letters"],
    groupDeadLetters: ["GET", "/dead-letters/groups"],
    readOperation: ["GET", "/operations/{operation_id}"],
    listSchedules: ["GET", "/schedules"],
    previewSchedule: ["POST", "/schedules/preview"],
    readSchedule: ["GET", "/schedules/{schedule_id}"],
    listNextTimes: ["GET", "/schedules/{schedule_id}/next"],
    listAudit: ["GET", "/audit"],
    listKeys: ["GET", "/keys"],
    listTenants: ["GET", "/tenants"],
    listReceivers: ["GET", "/webhooks"],
    readReceiver: ["GET", "/webhooks/{webhook_id}"],
    listReceiverDeliveries: ["GET", "/webhooks/{webhook_id}/deliveries"],
  },
  control: {
    cancelTask: ["POST", "/tasks/{task_id}/cancel"],
    cancelTasks: ["POST", "/tasks/cancel"],
    retryTasks: ["POST", "/tasks/retry"],
    runTasksNow: ["POST", "/tasks/run-now"],
    runTaskNow: ["POST", "/tasks/{task_id}/run-now"],
    retryTask: ["POST", "/tasks/{task_id}/retry"],
    extendTask: ["POST", "/tasks/{task_id}/extend"],
    changeTaskPriority: ["POST", "/tasks/{task_id}/priority"],
    acknowledgeTask: ["POST", "/tasks/{task_id}/acknowledge"],
    signalTask: ["POST", "/tasks/{task_id}/signals/{name}"],
    redeliverTask: ["POST", "/tasks/{task_id}/deliveries/redeliver"],
    listSteps: ["GET", "/tasks/{task_id}/steps"],
    changeTaskInput: ["POST", "/tasks/{task_id}/input"],
    readInput: ["GET", "/tasks/{task_id}/input"],
    readWebhookSecret: ["GET", "/webhooks/secret"],
    rotateWebhookSecret: ["POST", "/webhooks/secret/rotate"],
    createReceiver: ["POST", "/webhooks"],
    changeReceiver: ["PATCH", "/webhooks/{webhook_id}"],
    deleteReceiver: ["DELETE", "/webhooks/{webhook_id}"],
    testReceiver: ["POST", "/webhooks/{webhook_id}/test"],
    rotateReceiverSecret: ["POST", "/webhooks/{webhook_id}/secret/rotate"],
    replayDeliveries: ["POST", "/webhooks/{webhook_id}/replay"],
    replayDeadLetters: ["POST", "/dead-letters/replay"],
    discardDeadLetters: ["POST", "/dead-letters/discard"],
    cancelOperation: ["POST", "/operations/{operation_id}/cancel"],
    changeOperation: ["PATCH", "/operations/{operation_id}"],
    readQueues: ["GET", "/queues"],
    pauseQueue: ["POST", "/queues/{tier}/pause"],
    resumeQueue: ["POST", "/queues/{tier}/resume"],
    recoverLetters: ["POST", "/queues/{tier}/recover"],
    listTypes: ["GET", "/types"],
    pauseType: ["POST", "/types/{type}/pause"],
    resumeType: ["POST", "/types/{type}/resume"],
    closeBreaker: ["POST", "/types/{type}/breaker/close"],
    changeLimits: ["PATCH", "/types/{type}/limits"],
    pauseTenant: ["POST", "/tenants/{tenant_id}/pause"],
    resumeTenant: ["POST", "/tenants/{tenant_id}/resume"],
    readTenantLimits: ["GET", "/tenants/{tenant_id}/limits"],
    changeTenantLimits: ["PATCH", "/tenants/{tenant_id}/limits"],
    readMetrics: ["GET", "/metrics"],
    listAlarms: ["GET", "/alarms"],
    createKey: ["POST", "/keys"],
    revokeKey: ["DELETE", "/keys/{key_id}"],
    createSchedule: ["POST", "/schedules"],
    changeSchedule: ["PATCH", "/schedules/{schedule_id}"],
    deleteSchedule: ["DELETE", "/schedules/{schedule_id}"],
    pauseSchedule: ["POST", "/schedules/{schedule_id}/pause"],
    resumeSchedule: ["POST", "/schedules/{schedule_id}/resume"],
    runSchedule: ["POST", "/schedules/{schedule_id}/run"],
    openChannel: ["POST", "/channels"],
  },
  console: {
    readConsole: ["GET", "/console", "open"],
    readConsoleFile: ["GET", "/console/{file}", "open"],
  },
} as const satisfies { readonly [name in FunctionName]?: Readonly<Record<string, Declared>> };

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

export interface Route {
  name: AnyRouteName;
  method: Declared[0];
  path: Declared[1];
  functionName: HttpFunction;
  /** True when the route needs no token. */
  open: boolean;
}

/** All routes of the table. */
export const routes: readonly Route[] = Object.entries(routeTable).flatMap(([name, own]) =>
  Object.entries<Declared>(own).map(([route, [method, path, open]]) => ({
    name: route as AnyRouteName,
    method,
    path,
    functionName: name as HttpFunction,
    open: open !== undefined,
  })),
);

/** A route that programs call. */
export type ApiRoute = Route & { name: ApiRouteName };

/** The routes that programs call. The OpenAPI document describes them, and no others. */
export const apiRoutes: readonly ApiRoute[] = routes.filter(
  (route): route is ApiRoute => route.functionName !== "console",
);

/** Function that answers requests without a matching route, with 404 or 405. */
export const otherRequests: HttpFunction = "status";

const isOpenStep = (step: string): boolean => step.startsWith("{");

/**
 * Returns the routes of a path, one per method. Where one names the path word for word, those with a step in braces do
 * not count.
 */
export function routesAt(path: string): Route[] {
  const given = path.split("/");
  const found = routes.filter((route) => {
    const steps = route.path.split("/");
    if (steps.length !== given.length) return false;
    return steps.every((step, index) => (isOpenStep(step) ? given[index] !== "" : step === given[index]));
  });
  const openSteps = (route: Route) => route.path.split("/").filter(isOpenStep).length;
  const fewest = Math.min(...found.map(openSteps));
  return found.filter((route) => openSteps(route) === fewest);
}

/** Returns the route of a request. Undefined: there is none. */
export const routeOf = (method: string, path: string): Route | undefined =>
  routesAt(path).find((route) => route.method === method);
