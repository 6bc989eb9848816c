import { toCatalog } from "../core/catalog.ts";
import { appSchedules } from "../core/schedules/app-schedule.ts";
import { loadApp } from "../task-files.ts";
import { readDotEnv, type WorkerEnvironment, workerEnvironment } from "./worker-environment.ts";

/*
 * Loads the project's task files in a process of their own, because a process never forgets a loaded module, and sends them to its
 * parent as data.
 */

export type Described =
  | {
      catalog: ReturnType<typeof toCatalog>;
      schedules: ReturnType<typeof appSchedules>;
      environment: WorkerEnvironment;
    }
  | { problem: string };

async function describe(): Promise<Described> {
  try {
    const { types, schedules, environment } = await loadApp(process.env.OFFLOAD_PROBES === "1");
    const catalog = toCatalog(types);
    return {
      catalog,
      schedules: appSchedules(schedules, catalog),
      environment: workerEnvironment(environment, process.env, readDotEnv()),
    };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

process.send?.(await describe(), () => process.exit(0));
