import type { DispatchPorts } from "../core/ports/step-ports.ts";
import { lookAtLines } from "../core/schedules/look-at-lines.ts";
import { rescue } from "../core/schedules/rescue.ts";
import type { Config } from "../settings/config.ts";
import { queueClient, tableClient } from "./clients.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { DynamoLines } from "./lines.ts";
import { DynamoOpenTasks } from "./open-tasks.ts";
import { SqsQueueDepths } from "./queue-depths.ts";
import { DynamoStepStore } from "./step-store.ts";
import type { dispatchSettings } from "./wiring.ts";

type DispatchConfig = Config<(typeof dispatchSettings)[number]>;
type TablePorts = DispatchPorts & { table: DynamoTable };

/** Looks for open tasks that nothing wakes, and goes on with them. */
export async function rescueWith(
  config: DispatchConfig,
  { table, ...ports }: TablePorts,
  deadlineMs: number,
): Promise<void> {
  const { queueUrls, dlqUrls, containerQueueUrls } = config;
  const depths = new SqsQueueDepths(queueClient(), queueUrls, dlqUrls, containerQueueUrls);
  const looking = lookingPorts(config, { table, ...ports });
  await rescue({ ...looking, depths, steps: new DynamoStepStore(table) }, deadlineMs);
}

/** Looks at the lines after a deployment. */
export const lookWith = (config: DispatchConfig, ports: TablePorts, deadlineMs: number): Promise<string> =>
  lookAtLines(lookingPorts(config, ports), deadlineMs);

const lookingPorts = (config: DispatchConfig, { table, ...ports }: TablePorts) => ({
  ...ports,
  lines: new DynamoLines(table, ports.clock.now),
  openTasks: new DynamoOpenTasks(tableClient(), config.table),
});
