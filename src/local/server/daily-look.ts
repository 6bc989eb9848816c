import { endingPorts } from "../../aws/ending-ports.ts";
import { lazyReconcile } from "../../aws/lazy-reconcile.ts";
import { createLog } from "../../aws/log.ts";
import { dispatchPorts, dispatchSettings, gateSettings } from "../../aws/wiring.ts";
import { fromEnv } from "../../settings/config.ts";
import { serverNow } from "../time/moved-time.ts";

/** Longest look, in milliseconds: the time of the function fire. */
const longestMs = 270_000;

/** Returns the look for open tasks that nothing wakes, as the function fire makes it each day. */
export function dailyLook(env: NodeJS.ProcessEnv): () => Promise<void> {
  const config = fromEnv(env, [...dispatchSettings, ...gateSettings]);
  const dispatching = dispatchPorts(config, createLog("fire"));
  const { reconcile } = lazyReconcile(config, { ...dispatching, ...endingPorts(dispatching.table) });
  return () => reconcile(serverNow() + longestMs);
}
