import { type OperationPorts, operationTypes } from "../core/control/run-operation.ts";
import type { TaskType } from "../core/task/task.ts";
import type { Config } from "../settings/config.ts";
import { queueClient } from "./clients.ts";
import { SqsDeadLetterQueues } from "./dead-letter-queues.ts";
import { DynamoDeliveries } from "./deliveries-store.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { SqsQueueDepths } from "./queue-depths.ts";
import { DynamoReceivers } from "./receivers.ts";
import { DynamoUploads } from "./uploads.ts";

type Own = "deliveries" | "receivers" | "uploads" | "deadLetterQueues" | "depths";

/** Offload's own task types, with the ports that only they have. Few workers ever run one. */
export function ownTypes(
  ports: Omit<OperationPorts, Own> & { table: DynamoTable },
  { queueUrls, dlqUrls, containerQueueUrls }: Config<"queueUrls" | "dlqUrls" | "containerQueueUrls">,
): TaskType[] {
  const { table, log } = ports;
  const queues = queueClient();
  return operationTypes({
    ...ports,
    deliveries: new DynamoDeliveries(table),
    receivers: new DynamoReceivers(table),
    uploads: new DynamoUploads(table),
    deadLetterQueues: new SqsDeadLetterQueues(queues, dlqUrls, log),
    depths: new SqsQueueDepths(queues, queueUrls, dlqUrls, containerQueueUrls),
  });
}
