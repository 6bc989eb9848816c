import type { FunctionName } from "../config.ts";

/** A route as the table declares it. A step in braces stands for any text. An open route needs no token. */
export type Declared = readonly [method: "GET" | "POST" | "PATCH" | "DELETE", path: `/${string}`, open?: "open"];

/** Every route of the API, once: by the function that answers it, and by the name under which its handler is attached. */
export const routeTable = {
  submit: {
    submitTask: ["POST", "/tasks"],
  },
  status: {
    readHealth: ["GET", "/health", "open"],
    listTasks: ["GET", "/tasks"],
    readTask: ["GET", "/tasks/{task_id}"],
    listAttempts: ["GET", "/tasks/{task_id}/attempts"],
    readResult: ["GET", "/tasks/{task_id}/result"],
    listDeadLetters: ["GET", "/dead-letters"],
    readOperation: ["GET", "/operations/{operation_id}"],
    listSchedules: ["GET", "/schedules"],
    previewSchedule: ["POST", "/schedules/preview"],
    readSchedule: ["GET", "/schedules/{schedule_id}"],
    listNextTimes: ["GET", "/schedules/{schedule_id}/next"],
  },
  control: {
    cancelTask: ["POST", "/tasks/{task_id}/cancel"],
    retryTask: ["POST", "/tasks/{task_id}/retry"],
    extendTask: ["POST", "/tasks/{task_id}/extend"],
    replayDeadLetters: ["POST", "/dead-letters/replay"],
    discardDeadLetters: ["POST", "/dead-letters/discard"],
    readQueues: ["GET", "/queues"],
    createSchedule: ["POST", "/schedules"],
    changeSchedule: ["PATCH", "/schedules/{schedule_id}"],
    deleteSchedule: ["DELETE", "/schedules/{schedule_id}"],
    runSchedule: ["POST", "/schedules/{schedule_id}/run"],
  },
} as const satisfies { readonly [name in FunctionName]?: Readonly<Record<string, Declared>> };

/** A function that answers routes. */
export type HttpFunction = keyof typeof routeTable;
/** The name of a route that the function answers. */
export type RouteName<Name extends HttpFunction> = keyof (typeof routeTable)[Name];

export interface Route {
  method: Declared[0];
  path: Declared[1];
  functionName: HttpFunction;
  /** True when the route needs no token. */
  open: boolean;
}

/** All routes of the table. */
export const routes: readonly Route[] = Object.entries(routeTable).flatMap(([name, own]) =>
  Object.values<Declared>(own).map(([method, path, open]) => ({
    method,
    path,
    functionName: name as HttpFunction,
    open: open !== undefined,
  })),
);

/** Answers every request that no route fits, with a 404 or a 405. */
export const otherRequests: HttpFunction = "status";

/** The routes of a path, one for each method. An empty step fits too: the function behind the route refuses it. */
export function routesAt(path: string): Route[] {
  const given = path.split("/");
  return routes.filter((route) => {
    const steps = route.path.split("/");
    return steps.length === given.length && steps.every((step, index) => step.startsWith("{") || step === given[index]);
  });
}

/** The route of a request. */
export const routeOf = (method: string, path: string): Route | undefined =>
  routesAt(path).find((route) => route.method === method);
