import type { EndPorts } from "../core/ports/extra.ts";
import { lookAtLines } from "../core/schedules/deployed.ts";
import { reconcile } from "../core/schedules/reconcile.ts";
import type { Config } from "../settings/config.ts";
import { queueClient, tableClient } from "./clients.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { DynamoOpenTasks } from "./open-tasks.ts";
import { SqsQueueDepths } from "./queue-depths.ts";
import { DynamoWaitQueues } from "./wait-queues.ts";
import type { dispatchSettings } from "./wiring.ts";

type DispatchConfig = Config<(typeof dispatchSettings)[number]>;
type TablePorts = EndPorts & { table: DynamoTable };

/** Looks for open tasks that nothing wakes, and goes on with them. */
export async function reconcileWith(config: DispatchConfig, ports: TablePorts, deadlineMs: number): Promise<void> {
  const { queueUrls, dlqUrls, containerQueueUrls } = config;
  const depths = new SqsQueueDepths(queueClient(), queueUrls, dlqUrls, containerQueueUrls);
  await reconcile({ ...lookingPorts(config, ports), depths }, deadlineMs);
}

/** Looks at the lines after a deployment. */
export const lookWith = (config: DispatchConfig, ports: TablePorts, deadlineMs: number): Promise<string> =>
  lookAtLines(lookingPorts(config, ports), deadlineMs);

const lookingPorts = (config: DispatchConfig, { table, ...ports }: TablePorts) => ({
  ...ports,
  lines: new DynamoWaitQueues(table, ports.clock.now),
  openTasks: new DynamoOpenTasks(tableClient(), config.table),
});
