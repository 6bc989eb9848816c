import type { Store } from "dynalite/db/index.js";
import { type Item, itemPlace, type KnownTable, knownTable, type Value, writesOf } from "./known-tables.ts";
import { type Condition, isExact, preparedCondition, preparedUpdate, type Update, type Values } from "./prepared.ts";

/** An operation on one item, as a client sends it. */
interface Input {
  TableName: string;
  /** Of a batch, which has no other parameter. */
  RequestItems?: Readonly<Record<string, { Keys: readonly Item[]; ConsistentRead?: boolean }>>;
  Item?: Item;
  Key?: Item;
  ConsistentRead?: boolean;
  UpdateExpression?: string;
  ConditionExpression?: string;
  ExpressionAttributeNames?: Readonly<Record<string, string>>;
  ExpressionAttributeValues?: Values;
  ReturnValues?: string;
}

/** An operation that dynalite has accepted once, with other values. */
interface Known {
  table: KnownTable;
  condition: Condition;
  update: Update;
}

/** Operations that are remembered, at most. */
const maxKnown = 1_000;

/** The parameters of each operation. A request with another parameter is left to dynalite. */
const condition = ["ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues", "ReturnValues"];
const parameters: Readonly<Record<string, ReadonlySet<string>>> = {
  GetItem: new Set(["TableName", "Key", "ConsistentRead"]),
  PutItem: new Set(["TableName", "Item", ...condition]),
  UpdateItem: new Set(["TableName", "Key", "UpdateExpression", ...condition]),
};

/** As many items fit into an answer, however large they are. */
const mostOfBatch = 3;

const answers: Readonly<Record<string, readonly unknown[]>> = {
  GetItem: [undefined],
  PutItem: [undefined, "NONE"],
  UpdateItem: [undefined, "NONE", "ALL_NEW"],
};

/**
 * The operations that Offload sends again and again, with other values: what dynalite has accepted once is prepared, as
 * a statement of SQL is. Its checks, copies and parsing are most of the time of an operation. Whatever is not certain
 * to succeed is left to dynalite, which words each refusal. The store's content is the same.
 */
export class KnownOperations {
  readonly #store: Store;
  readonly #known = new Map<string, Known>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** The operation's name among those that are remembered. Undefined: it is one for dynalite. */
  nameOf(operation: string, input: object): string | undefined {
    if (operation === "BatchGetItem") return nameOfBatch(input as Input);
    const allowed = parameters[operation];
    const one = input as Input;
    if (allowed === undefined || !answers[operation]?.includes(one.ReturnValues)) return undefined;
    for (const name of Object.keys(one)) if (!allowed.has(name)) return undefined;
    const { ExpressionAttributeValues: values = {}, ExpressionAttributeNames: names } = one;
    const item = operation === "PutItem" ? one.Item : one.Key;
    if (!isUsualMap(item) || !isUsualMap(values)) return undefined;
    const types = Object.entries(values).map(([name, value]) => `${name} ${Object.keys(value)[0]}`);
    const { TableName, UpdateExpression, ConditionExpression } = one;
    return JSON.stringify([operation, TableName, UpdateExpression, ConditionExpression, names, types]);
  }

  /** Resolves with undefined when dynalite has to do the operation: nothing has changed. */
  async run(name: string, operation: string, input: object): Promise<object | undefined> {
    const known = this.#known.get(name);
    if (known === undefined) return undefined;
    const one = input as Input;
    if (operation === "BatchGetItem") return this.#getBatch(known, one);
    if (operation === "GetItem") return this.#get(known, one);
    const place = itemPlace(known.table, (one.Item ?? one.Key) as Item);
    if (place === undefined) return undefined;
    const release = await this.#lock(one.TableName, place);
    try {
      return await this.#write(known, place, one);
    } finally {
      release();
    }
  }

  /** Remembers an operation that dynalite has accepted. */
  async learn(name: string, operation: string, input: object): Promise<void> {
    if (this.#known.has(name)) return;
    const one = input as Input;
    const table = await knownTable(this.#store, one.TableName ?? batchOf(one)[0]);
    const { ExpressionAttributeNames: names = {}, ExpressionAttributeValues: values = {} } = one;
    const condition = preparedCondition({ text: one.ConditionExpression ?? "", names, values });
    const text = one.UpdateExpression ?? "";
    const update = operation === "UpdateItem" ? preparedUpdate({ text, names, values }) : () => true;
    if (table === undefined || condition === undefined || update === undefined) return;
    if (this.#known.size >= maxKnown) this.#known.clear();
    this.#known.set(name, { table, condition, update });
  }

  /** Call this before a table changes. */
  forget(): void {
    this.#known.clear();
  }

  #get({ table }: Known, { Key = {} }: Input): object | undefined {
    const place = placeOfKey(table, Key);
    if (place === undefined) return undefined;
    const found = this.#store.db.getSync(table.prefix + place);
    return found === undefined ? {} : { Item: found };
  }

  #getBatch({ table }: Known, input: Input): object | undefined {
    const [name, { Keys }] = batchOf(input);
    const places = Keys.map((key) => placeOfKey(table, key));
    // Dynalite refuses a key that comes twice.
    if (places.includes(undefined) || new Set(places).size < places.length) return undefined;
    const found = places.map((place) => this.#store.db.getSync(table.prefix + place));
    return { Responses: { [name]: found.filter((item) => item !== undefined) }, UnprocessedKeys: {} };
  }

  async #write({ table, condition, update }: Known, place: string, one: Input): Promise<object | undefined> {
    const { Item: put, Key = {}, ExpressionAttributeValues: values = {}, ReturnValues } = one;
    if (put === undefined && Object.keys(Key).length !== table.names.length) return undefined;
    const read = () => this.#store.db.getSync(table.prefix + place) as Item | undefined;
    const old = read();
    if (!condition(old ?? {}, values)) return undefined;
    // Its places in the indexes are those before the update.
    const item = put ?? { ...(old ?? Key) };
    if (!update(item, values)) return undefined;
    const writes = writesOf(table, place, item, old);
    if (writes === undefined) return undefined;
    await this.#store.db.batch(writes);
    return ReturnValues === "ALL_NEW" ? { Attributes: item } : {};
  }

  /** Dynalite's own lock of the item. */
  #lock(table: string, place: string): Promise<() => void> {
    return new Promise((resolve) => {
      this.#store.getItemDb(table).lock(place, (release) => resolve(release(() => {})));
    });
  }
}

const batchOf = ({ RequestItems = {} }: Input) =>
  Object.entries(RequestItems)[0] as [table: string, { Keys: readonly Item[] }];

/** Undefined: dynalite has to judge the batch. */
function nameOfBatch(input: Input | null): string | undefined {
  const [[table, one] = [], ...others] = Object.entries(input?.RequestItems ?? {});
  const { Keys, ConsistentRead = false, ...rest } = one ?? { Keys: [] };
  const isOne = others.length === 0 && Object.keys(rest).length === 0 && Object.keys(input ?? {}).length === 1;
  const isShort = Array.isArray(Keys) && Keys.length > 0 && Keys.length <= mostOfBatch && Keys.every(isUsualMap);
  return isOne && isShort && typeof ConsistentRead === "boolean" ? JSON.stringify(["BatchGetItem", table]) : undefined;
}

/** Undefined: dynalite has to judge the key. */
const placeOfKey = (table: KnownTable, key: Item): string | undefined =>
  Object.keys(key).length === table.names.length ? itemPlace(table, key) : undefined;

/** Values that dynalite stores as they are: it brings numbers into its own form, and checks sets and bytes. */
function isUsual(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const [type, ...others] = Object.keys(value);
  if (type === undefined || others.length > 0) return false;
  const content = (value as Value)[type];
  if (type === "S") return typeof content === "string";
  if (type === "N") return isExact(content);
  if (type === "BOOL") return typeof content === "boolean";
  if (type === "NULL") return content === true;
  if (type === "L") return Array.isArray(content) && content.every(isUsual);
  return type === "M" && isUsualMap(content);
}

const isUsualMap = (map: unknown): boolean =>
  typeof map === "object" && map !== null && !Array.isArray(map) && Object.values(map).every(isUsual);
