import type { Log } from "../core/ports/tasks.ts";
import { tenantNoter } from "../core/schedules/tenants.ts";
import type { Config } from "../settings/config.ts";
import { gateOf } from "./gate.ts";
import { newCorrelationId, newId } from "./ids.ts";
import { lazySubmitUnique } from "./lazy-unique.ts";
import type { StoredMetrics } from "./metrics.ts";
import { DynamoTenants } from "./tenants.ts";
import { DynamoUploads } from "./uploads.ts";
import { dispatchPorts, dispatchSettings, gateSettings } from "./wiring.ts";

/** The settings that `submitPorts` reads. */
export const submitSettings = [...dispatchSettings, ...gateSettings, "callbackHosts"] as const;

/** Creates the ports of a submit, except the task types. */
export function submitPorts(config: Config<(typeof submitSettings)[number]>, log: Log, metrics?: StoredMetrics) {
  const base = dispatchPorts(config, log, metrics);
  const gate = gateOf(config, base);
  const noteTenant = tenantNoter(new DynamoTenants(base.table), log);
  const uploads = new DynamoUploads(base.table);
  const callbackFault = async (url: string) =>
    // Few tasks have a callback.
    (await import("../core/notify/callback-url.ts")).callbackFault(url, config.callbackHosts);
  return { ...base, newId, newCorrelationId, gate, noteTenant, uploads, callbackFault, submitUnique: lazySubmitUnique };
}
