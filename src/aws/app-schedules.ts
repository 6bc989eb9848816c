import { fromEnv } from "../config.ts";
import { type AppSchedule, parseAppSchedules } from "../core/schedules/app-schedule.ts";
import { besideBundle } from "./wiring.ts";

/** The app's schedules by name, which were written beside the bundle, or where the setting points. */
export function appSchedules(env: NodeJS.ProcessEnv): ReadonlyMap<string, AppSchedule> {
  const { schedulesFile } = fromEnv(env, ["schedulesFile"]);
  return parseAppSchedules(besideBundle(env, schedulesFile));
}
