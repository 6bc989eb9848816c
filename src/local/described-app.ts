import { toCatalog } from "../core/catalog.ts";
import { appSchedules } from "../core/schedules/app-schedule.ts";
import { loadApp } from "../task-files.ts";
import { readDotEnv, type WorkerEnvironment, workerEnvironment } from "./worker-environment.ts";

/** A project's task types, schedules and environment as data, without its code. */
export interface DescribedApp {
  catalog: ReturnType<typeof toCatalog>;
  schedules: ReturnType<typeof appSchedules>;
  environment: WorkerEnvironment;
}

/**
 * Loads the project's task files into this process, and describes them.
 * @throws TaskFileError
 */
export async function describeApp(probes: boolean): Promise<DescribedApp> {
  const { types, schedules, environment } = await loadApp(probes);
  const catalog = toCatalog(types);
  return {
    catalog,
    schedules: appSchedules(schedules, catalog),
    environment: workerEnvironment(environment, process.env, readDotEnv()),
  };
}
