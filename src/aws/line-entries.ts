import { shardOf } from "../core/extras/limits/place-book.ts";
import type { Envelope } from "../core/model/envelope.ts";
import { WrittenLater } from "../core/model/errors.ts";
import { isOfLimit } from "../core/model/wait-queue.ts";
import { tiers } from "../core/model/words.ts";
import type { Sharded, Wait, WaitingEntry, WaitingKey, WaitingTask } from "../core/ports/flow.ts";
import { bytesOf, unitBytes } from "../util/item-bytes.ts";
import { type Consistency, type DynamoTable, type Item, isKnown } from "./dynamo-table.ts";
import { getMany } from "./get-many.ts";
import { type Cursor, firstOf } from "./merged.ts";
import { storedJson } from "./stored-json.ts";
import { keys, shardIn, waitingPartitions, waitingPrefix } from "./table.ts";

/**
 * The waiting tasks of lines in DynamoDB: an item each, its entry.
 *
 * A partition takes a thousand write units a second. So an entry has its message only if both fit into one unit.
 * Another message is an item of its own in the partition of its task, which no other task writes to. It is written
 * before the entry and deleted after it, by the wait that wrote it: where it is missing, its task was let go, and the
 * entry is a late try of the call that added it. What a death leaves of it is deleted when its time to be kept is over.
 *
 * A whole type or tier joins the line of a pause or a breaker at once: its entries are spread over 16 partitions. All
 * are read for its first tasks, in order. The entries of a limit's line are in the shards that the core says.
 */
export class WaitQueueEntries {
  readonly #table: DynamoTable;
  readonly #onLater: (error: WrittenLater) => void;

  /** @param onLater Hears of an entry that only a later release can read: the others go on without it. */
  constructor(table: DynamoTable, onLater: (error: WrittenLater) => void = () => {}) {
    this.#table = table;
    this.#onLater = onLater;
  }

  async add(line: string, { envelope, taskId, tenantId, shard, ...rest }: WaitingTask, purgeAt: number): Promise<void> {
    const { id, createdAt } = rest;
    const text = JSON.stringify(envelope);
    const entry = { ...keys.waiting(line, { createdAt, taskId, shard }), ...rest, purge_at: purgeAt };
    if (bytesOf({ ...entry, envelope: text }) <= unitBytes) return this.#table.put({ ...entry, envelope: text });
    const own = keys.waitingEnvelope(line, { tenantId, taskId });
    await this.#table.put({ ...own, id, envelope: text, purge_at: purgeAt });
    await this.#table.put({ ...entry, tenant: tenantId });
  }

  async first(line: string, limit: number, shards?: readonly number[]): Promise<WaitingEntry[]> {
    return (await this.#first(line, limit, { shards })).map((item) => entryOf(line, item));
  }

  async orders(line: string, limit: number, after?: string, shards?: readonly number[]): Promise<string[]> {
    const items = await this.#first(line, limit, { after, shards, only: "sk", how: "eventually" });
    return items.map(({ sk }) => String(sk).slice(waitingPrefix.length));
  }

  async withEnvelopes(line: string, tasks: readonly WaitingEntry[]): Promise<WaitingTask[]> {
    const apart = tasks.filter(({ envelope }) => envelope === undefined);
    const own = apart.map((task) => keys.waitingEnvelope(line, task));
    const items = own.length === 0 ? [] : await getMany(this.#table, own);
    const found = new Map(items.map(({ pk, envelope }) => [pk, envelopeOf(envelope)]));
    return tasks.flatMap((task) => {
      const envelope = task.envelope ?? found.get(keys.waitingEnvelope(line, task).pk);
      return envelope === undefined ? [] : [{ ...task, envelope }];
    });
  }

  async find(line: string, task: WaitingKey): Promise<WaitingTask | undefined> {
    const item = await this.#inPartition(line, task, (key) => this.#table.get(key));
    if (item === undefined) return undefined;
    return (await this.withEnvelopes(line, [entryOf(line, item)]))[0];
  }

  async keep(line: string, wait: Wait, purgeAt: number): Promise<void> {
    const until = {
      UpdateExpression: "SET purge_at = :until",
      ConditionExpression: "id = :id",
      ExpressionAttributeValues: { ":id": wait.id, ":until": purgeAt },
    };
    const entry = await this.#inPartition(line, wait, (key) => this.#table.updated(key, until));
    if (entry?.tenant === undefined) return;
    await this.#table.updateIf(keys.waitingEnvelope(line, entryOf(line, entry)), {
      UpdateExpression: "SET purge_at = :until",
      ConditionExpression: "attribute_exists(pk)",
      ExpressionAttributeValues: { ":until": purgeAt },
    });
  }

  async remove(line: string, wait: Wait): Promise<void> {
    const isThis = { ConditionExpression: "id = :id", ExpressionAttributeValues: { ":id": wait.id } };
    const entry = await this.#inPartition(line, wait, (key) => this.#table.deleted(key, isThis));
    if (entry?.tenant === undefined) return;
    // Another wait may have brought its message since.
    await this.#table.deleteIf(keys.waitingEnvelope(line, entryOf(line, entry)), isThis);
  }

  /**
   * Does something with an entry, wherever it is: a task of a limit may wait in its own shard, and an earlier release
   * has put all entries of a pause into the first partition.
   */
  async #inPartition(
    line: string,
    task: WaitingKey & Sharded,
    act: (key: Item) => Promise<Item | undefined>,
  ): Promise<Item | undefined> {
    const key = keys.waiting(line, task);
    if (task.shard !== undefined) return act(key);
    const other = isOfLimit(line)
      ? keys.waiting(line, { ...task, shard: shardOf(task.taskId) })
      : { ...key, pk: String(waitingPartitions(line)[0]) };
    return (await act(key)) ?? (other.pk === key.pk ? undefined : act(other));
  }

  /** The first entries of a line, behind the order `after`. */
  async #first(line: string, limit: number, { after, shards, only, how = "consistently" }: Reading): Promise<Item[]> {
    const from = waitingPrefix + (after ?? "");
    const passed: Passed = { later: undefined };
    const cursors = waitingPartitions(line, shards).map((pk): Cursor => {
      const read = (count: number, last = from) => {
        const query = {
          KeyConditionExpression: "pk = :pk AND sk > :from",
          ExpressionAttributeValues: { ":pk": pk, ":from": last },
          Limit: count,
          ConsistentRead: how === "consistently",
          ...(only === undefined ? {} : { ProjectionExpression: only }),
        };
        return this.#table.all(query, "any");
      };
      return only === undefined ? this.#readable(read, passed) : read;
    });
    const first = await firstOf(cursors, limit);
    // A line with tasks is not empty, and must be looked at again.
    if (first.length === 0 && passed.later !== undefined) throw passed.later;
    return first;
  }

  /** Passes over the entries that only a later release can read. */
  #readable(read: Cursor, passed: Passed): Cursor {
    return async (count, after) => {
      const found: Item[] = [];
      for (let last = after; ; ) {
        const asked = count - found.length;
        const items = await read(asked, last);
        const readable = items.filter(isReadable);
        found.push(...readable);
        if (readable.length === items.length) return found;
        passed.later = new WrittenLater("a task's entry in a line");
        this.#onLater(passed.later);
        if (items.length < asked) return found;
        last = String(items.at(-1)?.sk);
      }
    };
  }
}

/** True for an entry that this release can let go. */
const isReadable = (item: Item): boolean =>
  isKnown(item) &&
  [item.id, item.createdAt].every((text) => typeof text === "string") &&
  tiers.some((tier) => tier === item.tier) &&
  (item.envelope === undefined ? typeof item.tenant === "string" : String(item.envelope).startsWith("{"));

/** The entries that a look has passed over. */
interface Passed {
  later: WrittenLater | undefined;
}

interface Reading {
  /** Absent: the line's first tasks. */
  after?: string | undefined;
  /** The shards of a limit's line that are read. Absent: 0. */
  shards?: readonly number[] | undefined;
  /** The attribute that is read. Absent: all. */
  only?: string;
  how?: Consistency;
}

const envelopeOf = (text: unknown): Envelope => storedJson(text, "a task's message in a line") as Envelope;

/** An entry names its tenant only if its message is not in it. */
function entryOf(
  line: string,
  { pk, sk, id, tier, runsOn, createdAt, tenant, envelope: text, ...times }: Item,
): WaitingEntry {
  const envelope = text === undefined ? undefined : envelopeOf(text);
  const { sinceMs, slotMs, tryUntilMs } = times;
  return {
    id,
    tier,
    createdAt,
    taskId: String(sk).slice(`${waitingPrefix}${createdAt}#`.length),
    tenantId: envelope?.tenant_id ?? tenant,
    ...shardIn(line, String(pk)),
    ...(envelope === undefined ? {} : { envelope }),
    ...(runsOn === undefined ? {} : { runsOn }),
    ...(sinceMs === undefined ? {} : { sinceMs: Number(sinceMs) }),
    ...(slotMs === undefined ? {} : { slotMs: Number(slotMs) }),
    ...(tryUntilMs === undefined ? {} : { tryUntilMs: Number(tryUntilMs) }),
  } as WaitingEntry;
}
