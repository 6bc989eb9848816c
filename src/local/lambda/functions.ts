import { pathToFileURL } from "node:url";
import type { Context, SQSEvent } from "aws-lambda";
import type { HttpFunction } from "../../api/http/routes.ts";
import { codeFile } from "../../installed/installation.ts";
import { fromEnv } from "../../settings/config.ts";
import { lazily } from "../../util/lazily.ts";
import { inRole } from "../s3/roles.ts";
import { movedMs } from "../time/moved-time.ts";
import { writeConsole } from "./console-folder.ts";
import type { HttpHandler } from "./invocation.ts";

/**
 * Invocation context of a function with this time-out, in seconds. Functions read only the remaining time: they add it
 * to the machine's time, and compare the sum with their clock, which may be moved.
 */
const contextOf = (seconds: number) => ({ getRemainingTimeInMillis: () => seconds * 1000 + movedMs() }) as Context;

/** A function that loads with its first request. */
function later(load: () => Promise<HttpHandler>): HttpHandler {
  const loaded = lazily(load);
  return async (...given) => (await loaded())(...given);
}

/**
 * Loads the Lambda functions. Call it after the environment is set: the functions read their settings when they load.
 * @param version Another number than before loads the functions anew, so that they read the changed catalogue.
 */
export async function loadFunctions(version = 0) {
  const load = <Module>(name: string): Promise<Module> =>
    import(`${pathToFileURL(codeFile(`lambdas/${name}`))}?${version}`);
  const consoleHandler = async () => {
    writeConsole(fromEnv(process.env, ["consoleFolder"]).consoleFolder);
    return (await load<typeof import("../../../lambdas/console.ts")>("console")).handler as HttpHandler;
  };
  const [submit, status, control, authorizer, redrive, fire, socket, notify] = await Promise.all([
    load<typeof import("../../../lambdas/submit.ts")>("submit"),
    load<typeof import("../../../lambdas/status.ts")>("status"),
    load<typeof import("../../../lambdas/control.ts")>("control"),
    load<typeof import("../../../lambdas/authorizer.ts")>("authorizer"),
    load<typeof import("../../../lambdas/redrive.ts")>("redrive"),
    load<typeof import("../../../lambdas/fire.ts")>("fire"),
    load<typeof import("../../../lambdas/socket.ts")>("socket"),
    load<typeof import("../../../lambdas/notify.ts")>("notify"),
  ]);
  return {
    http: {
      submit: inRole("submit", submit.handler),
      status: inRole("status", status.handler),
      control: inRole("control", control.handler),
      console: later(consoleHandler),
    } as Record<HttpFunction, HttpHandler>,
    authorizer: authorizer.handler as (event: never) => Promise<{ isAuthorized: boolean; context: unknown }>,
    redrive: inRole("redrive", (event: SQSEvent) => redrive.handler(event, contextOf(60))),
    notify: inRole("notify", (event: SQSEvent) => notify.handler(event, contextOf(30))),
    fire: inRole("fire", (event: unknown): Promise<void> => fire.handler(event, contextOf(300))),
    socket: socket.handler as HttpHandler,
  };
}

export type Functions = Awaited<ReturnType<typeof loadFunctions>>;
