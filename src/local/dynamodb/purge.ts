import type { Clock } from "../../core/ports/tasks.ts";
import { machineTimers } from "../time/clock.ts";

/** Time between two purges. DynamoDB deletes expired items within days. */
const intervalMs = 60_000;

/** Number of deletes at the same time. */
const batchSize = 25;

/** A purge of at least so many items gives their room on the disk back. For fewer, it is not worth the work. */
const worthRoom = 500;

/** The start of the sort keys of notes of crashed processes. */
const notePrefix = "part#crash#";

type Item = Record<string, unknown>;

interface DynamoDb {
  url: string;
  table: string;
  signal?: AbortSignal;
}

interface PurgeOptions {
  url: string;
  table: string;
  clock?: Clock;
  /** Frees the room of deleted items on the disk. Default: nothing is done. */
  giveRoomBack?: () => Promise<void>;
}

/** DynamoDB's time to live for one table. */
export interface Purging {
  /** Purges now. */
  round(): Promise<void>;
  readonly stop: () => void;
}

/**
 * Starts DynamoDB's time to live for an emulated table: once a minute it deletes the items whose `purge_at`, in epoch
 * seconds, is past. A failed purge is ignored, as the next one deletes the same items. Does not keep the process alive.
 */
export function startPurge({
  url,
  table,
  clock = machineTimers,
  giveRoomBack = async () => {},
}: PurgeOptions): Purging {
  const stopping = new AbortController();
  const { signal } = stopping;
  let cancelTimer = schedule();
  function schedule() {
    return clock.after(intervalMs, async () => {
      await round();
      if (!signal.aborted) cancelTimer = schedule();
    });
  }
  async function purgeOnce() {
    if ((await purge({ url, table, signal }, clock.now())) >= worthRoom) await giveRoomBack();
  }
  const round = () => purgeOnce().catch(() => {});
  const stop = () => {
    stopping.abort();
    cancelTimer();
  };
  return { round, stop };
}

/** Deletes the expired items, and returns their number. */
export async function purge(database: DynamoDb, nowMs: number): Promise<number> {
  const { Table } = await call<{ Table: { KeySchema: { AttributeName: string }[] } }>(database, "DescribeTable", {});
  const keys = Table.KeySchema.map(({ AttributeName }) => AttributeName);
  const now = { N: String(Math.floor(nowMs / 1000)) };
  let deleted = 0;
  let from: Item | undefined;
  do {
    const scan = {
      ExclusiveStartKey: from,
      FilterExpression: "purge_at < :now",
      ExpressionAttributeValues: { ":now": now },
      ExpressionAttributeNames: Object.fromEntries(keys.map((key, index) => [`#${index}`, key])),
      ProjectionExpression: [...keys.map((_, index) => `#${index}`), "purge_at"].join(", "),
    };
    const page = await call<{ Items: Item[]; LastEvaluatedKey?: Item }>(database, "Scan", scan);
    const past = page.Items.filter((item) => !isFreshNote(item)).map(({ purge_at: _, ...key }) => key);
    for (let start = 0; start < past.length; start += batchSize) {
      const batch = past.slice(start, start + batchSize);
      const results = await Promise.all(batch.map((item) => remove(database, item, now)));
      deleted += results.filter(Boolean).length;
    }
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
  return deleted;
}

/**
 * True for the note of a process that has just crashed: the thread that writes it has the machine's time, which the
 * server's may be ahead of.
 */
const isFreshNote = ({ purge_at: at, ...key }: Item): boolean =>
  Object.values(key).some((value) => property(value, "S")?.startsWith(notePrefix)) &&
  Number(property(at, "N")) > Date.now() / 1000;

const property = (value: unknown, name: "S" | "N"): string | undefined =>
  (value as Partial<Record<string, string>> | undefined)?.[name];

/** Deletes one item, unless its `purge_at` was moved to a later time since the scan. */
async function remove(database: DynamoDb, key: Item, now: { N: string }): Promise<boolean> {
  const condition = { ConditionExpression: "purge_at < :now", ExpressionAttributeValues: { ":now": now } };
  try {
    await call(database, "DeleteItem", { Key: key, ...condition });
    return true;
  } catch (error) {
    if (String(error).includes("ConditionalCheckFailed")) return false;
    throw error;
  }
}

/** The emulator checks only the format of a signature. */
const authorization =
  "AWS4-HMAC-SHA256 Credential=local/20000101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=local";

async function call<T>({ url, table, signal }: DynamoDb, operation: string, input: object): Promise<T> {
  const headers = {
    authorization,
    "content-type": "application/x-amz-json-1.0",
    "x-amz-date": "20000101T000000Z",
    "x-amz-target": `DynamoDB_20120810.${operation}`,
  };
  const body = JSON.stringify({ TableName: table, ...input });
  const response = await fetch(url, { method: "POST", headers, body, signal: signal ?? null });
  const answer = await response.text();
  if (!response.ok) throw new Error(`DynamoDB refused ${operation} on the table ${table}: ${answer}`);
  return JSON.parse(answer) as T;
}
