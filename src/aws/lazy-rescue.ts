import type { DispatchPorts } from "../core/ports/step-ports.ts";
import type { Config } from "../settings/config.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import type { dispatchSettings } from "./wiring.ts";

/** The daily look for open tasks that nothing wakes. Its code loads with it. */
export const lazyRescue =
  (config: Config<(typeof dispatchSettings)[number]>, ports: DispatchPorts & { table: DynamoTable }) =>
  async (deadlineMs: number): Promise<void> => {
    const { rescueWith } = await import("./rescue.ts");
    await rescueWith(config, ports, deadlineMs);
  };
