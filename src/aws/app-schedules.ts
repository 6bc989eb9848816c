import { type AppSchedule, parseAppSchedules } from "../core/schedules/app-schedule.ts";
import { fromEnv } from "../settings/config.ts";
import { besideBundle } from "./beside-bundle.ts";

/** Reads the app's schedules, by name. Their file is beside the function's bundle, or where the setting points. */
export function appSchedules(env: NodeJS.ProcessEnv): ReadonlyMap<string, AppSchedule> {
  const { schedulesFile } = fromEnv(env, ["schedulesFile"]);
  return parseAppSchedules(besideBundle(env, schedulesFile));
}
