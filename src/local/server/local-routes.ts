import { createRouter } from "../../api/http/api.ts";
import { serve } from "../../api/http/serve.ts";
import { newCorrelationId } from "../../aws/ids.ts";
import { localServicesVariable } from "../../aws/local-services.ts";
import { createLog } from "../../aws/log.ts";
import { noTracing } from "../../core/ports/tasks.ts";
import { variablesOf } from "../../settings/config.ts";
import type { EventLog } from "../events/event-log.ts";
import { addEventRoutes } from "../events/event-routes.ts";
import type { HttpHandler } from "../lambda/invocation.ts";
import { moveDateVariable, movedMs, movedVariable } from "../time/moved-time.ts";
import { addTraceRoutes } from "../traces/trace-routes.ts";
import type { ServerClock } from "./clock.ts";
import { addClockRoutes } from "./clock-routes.ts";
import { addConsoleLinkRoute } from "./console-link.ts";

/** Path of the environment of container workers that a user starts. */
export const workPath = "/_local/work";

/** Answers the paths below `/_local/` on the API's port, which no deployment has. */
export function localRoutes(events: EventLog, clock: ServerClock): HttpHandler {
  const api = createRouter({ newCorrelationId, log: createLog("local"), tracing: noTracing });
  addEventRoutes(api, events);
  addTraceRoutes(api, process.env);
  addClockRoutes(api, clock);
  addConsoleLinkRoute(api);
  api.on("GET", workPath, async (call) => {
    call.header("cache-control", "no-store");
    return call.json(await workEnvironment(process.env));
  });
  return serve(api) as unknown as HttpHandler;
}

/** The variables that a container worker of this server needs. */
async function workEnvironment(env: NodeJS.ProcessEnv): Promise<Record<string, string>> {
  const { workerSettings } = await import("../../aws/work-ports.ts");
  const { handlerScheduleSettings } = await import("../../aws/handler-schedules.ts");
  const names = [
    ...variablesOf([...workerSettings, ...handlerScheduleSettings]),
    localServicesVariable,
    ...["OFFLOAD_LOG", "OFFLOAD_LOG_FILE", "OFFLOAD_TRACING", "OFFLOAD_SPANS_FILE"],
  ];
  const found = names.flatMap((name): [string, string][] => (env[name] === undefined ? [] : [[name, env[name]]]));
  const ofClock = [moveDateVariable].flatMap((name): [string, string][] => (env[name] === "1" ? [[name, "1"]] : []));
  return Object.fromEntries([...found, ...ofClock, [movedVariable, String(movedMs())]]);
}
