import { toCatalog } from "../core/catalog.ts";
import { appSchedules } from "../core/schedules/app-schedule.ts";
import { loadApp } from "../task-files.ts";

/*
 * Loads the project's task files in a process of their own, because a process never forgets a loaded module, and sends them to its
 * parent as data.
 */

export type Described =
  | { catalog: ReturnType<typeof toCatalog>; schedules: ReturnType<typeof appSchedules> }
  | { problem: string };

async function describe(): Promise<Described> {
  try {
    const { types, schedules } = await loadApp(process.env.OFFLOAD_PROBES === "1");
    const catalog = toCatalog(types);
    return { catalog, schedules: appSchedules(schedules, catalog) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

process.send?.(await describe(), () => process.exit(0));
