import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DeleteCommand, DynamoDBDocumentClient, ScanCommand } from "@aws-sdk/lib-dynamodb";
import { localConfig } from "../../aws/local-services.ts";
import { systemTenant } from "../../core/model/internal-names.ts";
import { Problem } from "../../core/model/problem.ts";
import { localTable } from "../../settings/config.ts";
import { queueSpecs } from "../deployment/resources.ts";
import type { QueueStore } from "../sqs/queue-store.ts";

/** Items of Offload's own with times, made anew: of its daily task, of the schedules in the code, of starts. */
const own = [
  `task#${systemTenant}#`,
  `term#${systemTenant}#`,
  `usage#${systemTenant}`,
  "app-schedule#",
  "deployment",
  "firing#",
  "blobs#",
];

/** Items that say nothing about a time that could come back: tenants, keys, settings, counts of a minute. */
const timeless =
  /^(tenants|keys?|list-shards|limits|catalog|receivers|webhook-secret|flow|usage|waits|listeners|slow|audit|channels?)(#|$)/;

/**
 * Makes the table and the queues ready for a clock that is set back. Without tasks there is nothing whose time could
 * come back.
 * @throws Problem `conflict` when there are tasks, schedules or other items with times of users
 */
export async function prepareReset(store: QueueStore): Promise<void> {
  const client = new DynamoDBClient(localConfig("dynamodb"));
  try {
    const documents = DynamoDBDocumentClient.from(client);
    const items = (await readKeys(documents)).filter(({ pk }) => isOwn(pk) || !timeless.test(pk));
    if (items.some(({ pk }) => !isOwn(pk))) throw notEmpty();
    for (const Key of items) await documents.send(new DeleteCommand({ TableName: localTable, Key }));
    for (const { name } of queueSpecs()) store.purge(name);
  } finally {
    client.destroy();
  }
}

const isOwn = (pk: string): boolean => own.some((start) => pk.startsWith(start));

const notEmpty = (): Problem =>
  new Problem(
    "conflict",
    "The clock can only go back in an empty state, and this server has tasks or schedules. Stop it, and start it with a " +
      "new folder (--state), with none (--ephemeral), or after deleting its folder.",
  );

type Key = Record<"pk" | "sk", string>;

async function readKeys(documents: DynamoDBDocumentClient): Promise<Key[]> {
  const keys: Key[] = [];
  let from: Record<string, unknown> | undefined;
  do {
    const scan = { TableName: localTable, ProjectionExpression: "pk, sk", ExclusiveStartKey: from };
    const page = await documents.send(new ScanCommand(scan));
    keys.push(...((page.Items ?? []) as Key[]));
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
  return keys;
}
