import type { EndPorts } from "../core/ports/extra.ts";
import type { Config } from "../settings/config.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import type { dispatchSettings } from "./wiring.ts";

type Given = [config: Config<(typeof dispatchSettings)[number]>, ports: EndPorts & { table: DynamoTable }];

/**
 * The daily look for open tasks that nothing wakes, and the look at lines after a deployment. Their code loads with
 * their first call.
 */
export const lazyReconcile = (...given: Given) => ({
  reconcile: async (deadlineMs: number): Promise<void> =>
    (await import("./reconcile.ts")).reconcileWith(...given, deadlineMs),
  lookAtLines: async (deadlineMs: number): Promise<string> =>
    (await import("./reconcile.ts")).lookWith(...given, deadlineMs),
});
