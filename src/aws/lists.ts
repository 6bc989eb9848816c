import type { ListInput, ListKey, ListPage, ListPlace, Lists, PageRoom } from "../core/ports/unique.ts";
import { inLanes } from "../util/in-lanes.ts";
import type { DynamoTable, Item } from "./dynamo-table.ts";
import { keys } from "./table.ts";

/** Pages that are kept longer at the same time. */
const lanes = 20;

/** The attributes of a page, which its first write makes: an input, or the end of the list. */
const begun = [
  "first_number = if_not_exists(first_number, :first)",
  "bytes_before = if_not_exists(bytes_before, :before)",
  "purge_at = if_not_exists(purge_at, :purge_at)",
];

const begunBy = ({ first, bytesBefore }: ListPlace, purgeAt: number): Item => ({
  ":first": first,
  ":before": bytesBefore,
  ":purge_at": purgeAt,
  ":none": [],
  ":zero": 0,
});

/** Lists of collected inputs in DynamoDB: one item for each page, in the partition of the task's record. */
export class DynamoLists implements Lists {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async last(list: ListKey): Promise<ListPage | undefined> {
    const { items } = await this.#table.page({ ...pagesOf(list), ScanIndexForward: false, Limit: 1 });
    return items[0] && pageIn(items[0]);
  }

  async page(list: ListKey, number: number): Promise<ListPage | undefined> {
    const item = await this.#table.get(keys.listPage(list, number));
    return item && pageIn(item);
  }

  async all(list: ListKey): Promise<ListPage[]> {
    return (await this.#table.all(pagesOf(list))).map(pageIn);
  }

  add(
    list: ListKey,
    place: ListPlace,
    inputs: readonly [ListInput, ...ListInput[]],
    room: PageRoom,
    purgeAt: number,
  ): Promise<ListPage> {
    const bytes = inputs.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    const added = [
      "byte_count = if_not_exists(byte_count, :zero) + :bytes",
      "ids = list_append(if_not_exists(ids, :none), :ids)",
      "inputs = list_append(if_not_exists(inputs, :none), :inputs)",
    ];
    return this.#write(list, place, [...begun, ...added], {
      condition:
        "attribute_not_exists(closed) AND byte_count < :room AND size(ids) <= :free AND NOT contains(ids, :id)",
      values: {
        ...begunBy(place, purgeAt),
        ":bytes": bytes,
        ":ids": inputs.map(({ id }) => id),
        ":inputs": inputs.map(({ text }) => text),
        ":room": room.bytes,
        ":free": room.inputs - inputs.length,
        ":id": inputs[0].id,
      },
    });
  }

  close(list: ListKey, place: ListPlace, bytes: number, purgeAt: number): Promise<ListPage> {
    const ended = [
      "byte_count = if_not_exists(byte_count, :zero)",
      "ids = if_not_exists(ids, :none)",
      "inputs = if_not_exists(inputs, :none)",
      "closed = :true",
    ];
    return this.#write(list, place, [...begun, ...ended], {
      condition: "byte_count < :room",
      values: { ...begunBy(place, purgeAt), ":room": bytes, ":true": true },
    });
  }

  async keep(list: ListKey, purgeAt: number): Promise<void> {
    const pages = await this.#table.all(pagesOf(list));
    await inLanes(pages, lanes, async ({ pk, sk }) => {
      await this.#table.updateIf(
        { pk, sk },
        {
          UpdateExpression: "SET purge_at = :purge_at",
          ConditionExpression: "attribute_exists(pk) AND purge_at < :purge_at",
          ExpressionAttributeValues: { ":purge_at": purgeAt },
        },
      );
    });
  }

  async #write(
    list: ListKey,
    place: ListPlace,
    sets: readonly string[],
    { condition, values }: { condition: string; values: Item },
  ): Promise<ListPage> {
    const key = keys.listPage(list, place.number);
    const item =
      (await this.#table.updated(key, {
        UpdateExpression: `SET ${sets.join(", ")}`,
        ConditionExpression: `attribute_not_exists(pk) OR (${condition})`,
        ExpressionAttributeValues: values,
      })) ?? (await this.#table.get(key));
    return item === undefined ? { ...place, ids: [], inputs: [], bytes: 0, closed: true } : pageIn(item);
  }
}

function pagesOf(list: ListKey) {
  const { pk, sk } = keys.listPage(list, undefined);
  return {
    KeyConditionExpression: "pk = :pk AND begins_with(sk, :sk)",
    ExpressionAttributeValues: { ":pk": pk, ":sk": sk },
  };
}

const pageIn = (item: Item): ListPage => ({
  number: Number(String(item.sk).slice(-numberDigits)),
  first: Number(item.first_number),
  bytesBefore: Number(item.bytes_before),
  ids: item.ids as string[],
  inputs: item.inputs as string[],
  bytes: Number(item.byte_count),
  closed: item.closed === true,
});

/** Digits of a page's number in its key: a list has at most 1,000 inputs. */
const numberDigits = 4;
