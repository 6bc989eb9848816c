import { appSchedules } from "../core/schedules/app-schedule.ts";
import { appTriggers } from "../core/schedules/define-trigger.ts";
import { toCatalog } from "../core/task/catalog.ts";
import { loadApp } from "../task-files.ts";
import { localDeployment } from "./resources.ts";
import { readDotEnv, type WorkerEnvironment, workerEnvironment } from "./worker-environment.ts";

/** A project's task types, schedules, triggers and environment as data, without its code. */
export interface DescribedApp {
  catalog: ReturnType<typeof toCatalog>;
  schedules: ReturnType<typeof appSchedules>;
  triggers: ReturnType<typeof appTriggers>;
  environment: WorkerEnvironment;
}

/**
 * Loads the project's task files into this process, and describes them.
 * @throws TaskFileError
 */
export async function describeApp(probes: boolean): Promise<DescribedApp> {
  const { types, schedules, triggers, environment } = await loadApp(probes);
  const catalog = toCatalog(types);
  return {
    catalog,
    schedules: appSchedules(schedules, catalog),
    triggers: appTriggers(triggers, catalog, localDeployment),
    environment: workerEnvironment(environment, process.env, readDotEnv()),
  };
}
