import type { DispatchPorts } from "../core/ports/step-ports.ts";
import { rescue } from "../core/schedules/rescue.ts";
import type { Config } from "../settings/config.ts";
import { queueClient, tableClient } from "./clients.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { DynamoLines } from "./lines.ts";
import { DynamoOpenTasks } from "./open-tasks.ts";
import { SqsQueueDepths } from "./queue-depths.ts";
import { DynamoStepStore } from "./step-store.ts";
import type { dispatchSettings } from "./wiring.ts";

/** Looks for open tasks that nothing wakes, and goes on with them. */
export async function rescueWith(
  config: Config<(typeof dispatchSettings)[number]>,
  { table, ...ports }: DispatchPorts & { table: DynamoTable },
  deadlineMs: number,
): Promise<void> {
  const { queueUrls, dlqUrls, containerQueueUrls } = config;
  const depths = new SqsQueueDepths(queueClient(), queueUrls, dlqUrls, containerQueueUrls);
  const lines = new DynamoLines(table, ports.clock.now);
  const openTasks = new DynamoOpenTasks(tableClient(), config.table);
  await rescue({ ...ports, depths, lines, openTasks, steps: new DynamoStepStore(table) }, deadlineMs);
}
