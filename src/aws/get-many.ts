import { setTimeout as sleep } from "node:timers/promises";
import { PortUnavailable } from "../core/model/errors.ts";
import type { Consistency, DynamoTable, Item } from "./dynamo-table.ts";

/** Number of requests for one batch, at most. */
const maxTries = 5;

/** Longest wait before the second request, in milliseconds. It doubles with each request. */
const firstPauseMs = 50;

/** Keys of one request, at most. */
export const maxKeys = 100;

/**
 * Gets items in any order; items that do not exist are left out. Asks again, after a random pause, for the keys that
 * DynamoDB did not process.
 * @param wanted A key may repeat: its item is returned once. DynamoDB itself refuses a request that names a key twice.
 * @param forms `any`: items in a form of a later release are among them.
 * @throws PortUnavailable, also when keys remain after five requests
 */
export async function getMany(
  table: DynamoTable,
  wanted: readonly Item[],
  how: Consistency = "consistently",
  forms?: "any",
): Promise<Item[]> {
  const distinct = [...new Map(wanted.map((key) => [JSON.stringify(key), key])).values()];
  const batches = Array.from({ length: Math.ceil(distinct.length / maxKeys) }, (_, batch) =>
    distinct.slice(batch * maxKeys, (batch + 1) * maxKeys),
  );
  return (await Promise.all(batches.map((batch) => getAll(table, batch, how, forms)))).flat();
}

async function getAll(table: DynamoTable, batch: Item[], how: Consistency, forms?: "any"): Promise<Item[]> {
  const items: Item[] = [];
  let left = batch;
  for (let tries = 1; ; tries++) {
    const { found, rest } = await table.getBatch(left, how, forms);
    items.push(...found);
    if (rest.length === 0) return items;
    if (tries === maxTries) throw new PortUnavailable("the table");
    left = rest;
    await sleep(Math.random() * firstPauseMs * 2 ** (tries - 1));
  }
}
