import { type AppTrigger, parseTriggers } from "../core/schedules/trigger.ts";
import { fromEnv } from "../settings/config.ts";
import { besideBundle } from "./beside-bundle.ts";

/** Reads the app's triggers, by name. Their file is beside the function's bundle, or where the setting points. */
export function appTriggers(env: NodeJS.ProcessEnv): ReadonlyMap<string, AppTrigger> {
  const { triggersFile } = fromEnv(env, ["triggersFile"]);
  return parseTriggers(besideBundle(env, triggersFile));
}
