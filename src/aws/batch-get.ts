import { setTimeout as sleep } from "node:timers/promises";
import { BatchGetCommand, type DynamoDBDocumentClient } from "#aws-sdk/lib-dynamodb";
import { PortUnavailable } from "../core/model/errors.ts";
import { viaPort } from "./errors.ts";

/** Number of requests for one batch, at most. */
const maxTries = 5;

/** Longest wait before the second request, in milliseconds. It doubles with each request. */
const firstPauseMs = 50;

type Item = Record<string, unknown>;

/**
 * Gets at most 100 items, in any order; items that do not exist are left out. Asks again, after a random pause, for the keys
 * that DynamoDB did not process.
 * @param wanted Keys without repeats: DynamoDB refuses a request that names a key twice.
 * @throws PortUnavailable, also when keys remain after five requests
 */
export async function batchGet(
  client: DynamoDBDocumentClient,
  table: string,
  wanted: readonly Item[],
  { port, consistent }: { port: string; consistent: boolean },
): Promise<Item[]> {
  const found: Item[] = [];
  let Keys = [...wanted];
  for (let tries = 1; Keys.length > 0; tries++) {
    const RequestItems = { [table]: { Keys, ...(consistent && { ConsistentRead: true }) } };
    const answer = await viaPort(port, client.send(new BatchGetCommand({ RequestItems })));
    found.push(...(answer.Responses?.[table] ?? []));
    Keys = answer.UnprocessedKeys?.[table]?.Keys ?? [];
    if (Keys.length === 0) break;
    if (tries === maxTries) throw new PortUnavailable(port);
    await sleep(Math.random() * firstPauseMs * 2 ** (tries - 1));
  }
  return found;
}
