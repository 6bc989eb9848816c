import { createRequire } from "node:module";
import "./text-memory.ts";
import type { Items, Store, Write } from "dynalite/db/index.js";
import validations from "dynalite/validations/index.js";
import { type Parser, rememberParsed } from "./known-expressions.ts";

const require = createRequire(import.meta.url);

for (const name of ["conditionParser", "updateParser"]) rememberParsed(require(`dynalite/db/${name}`) as Parser);

const sizes = require("dynalite/db") as { itemSize(item: object, ...how: unknown[]): number };
const charactersOf = sizes.itemSize;
// Dynalite counts the characters of texts and names, DynamoDB their bytes, of which each becomes a character here.
sizes.itemSize = (item, ...how) => {
  const text = JSON.stringify(item);
  const isPlain = Buffer.byteLength(text) === text.length;
  return charactersOf(isPlain ? item : (JSON.parse(Buffer.from(text).toString("latin1")) as object), ...how);
};

type Answer = (error: unknown, answer?: object) => void;
type Action = (store: Store, input: object, done: Answer) => void;

/** The operations that change one item, and so also its index entries. */
const itemWrites = ["PutItem", "UpdateItem", "DeleteItem"] as const;
const otherWrites = ["BatchWriteItem", "CreateTable", "DeleteTable", "TagResource", "UntagResource", "UpdateTable"];
const tableChanges = ["CreateTable", "DeleteTable", "UpdateTable"];
const reads = [
  ...["BatchGetItem", "DescribeTable", "DescribeTimeToLive", "GetItem", "ListTables", "ListTagsOfResource"],
  ...["Query", "Scan"],
];

const isItemWrite = (operation: string): boolean => (itemWrites as readonly string[]).includes(operation);

/** True for an operation that writes to the disk. */
export const isWrite = (operation: string): boolean => isItemWrite(operation) || otherWrites.includes(operation);

/** True for an operation after which a table may have other keys and indexes, or be gone. */
export const changesTables = (operation: string): boolean => tableChanges.includes(operation);

/** True for an operation that the emulator knows. */
export const isOperation = (operation: string): boolean => isWrite(operation) || reads.includes(operation);

/** An answer of DynamoDB with an error, as dynalite throws it. */
export interface Refusal {
  statusCode: number;
  body: object;
}

export const isRefusal = (error: unknown): error is Refusal =>
  typeof (error as { statusCode?: unknown } | undefined)?.statusCode === "number";

/**
 * Does one operation with dynalite's code.
 * @throws Refusal; the store's error when it could not read or write
 */
export async function runOperation(store: Store, operation: string, input: object): Promise<object> {
  const name = `${operation.slice(0, 1).toLowerCase()}${operation.slice(1)}`;
  const { types, custom } = require(`dynalite/validations/${name}`) as { types: object; custom: unknown };
  const act = require(`dynalite/actions/${name}`) as Action;
  const checked = validations.checkTypes(input, types);
  validations.checkValidations(checked, types, custom, store);
  return new Promise((resolve, reject) => {
    act(isItemWrite(operation) ? atomic(store) : store, checked, (error, answer) => {
      if (error) reject(error);
      else resolve(answer ?? {});
    });
  });
}

/**
 * The store for one change of one item: the item and its index entries are written together. Dynalite alone writes the
 * entries first, so a kill in between would leave entries that do not fit their item.
 */
function atomic(store: Store): Store {
  const entries: Write[] = [];
  const later = (prefix: string): Pick<Items, "put" | "del"> => ({
    put(key, value, done) {
      entries.push({ type: "put", key: prefix + key, value });
      process.nextTick(done, null);
    },
    del(key, done) {
      entries.push({ type: "del", key: prefix + key });
      process.nextTick(done, null);
    },
  });
  const write = (item: Write, done: (error: unknown, value: undefined) => void) =>
    void store.db.batch([...entries, item]).then(
      () => done(null, undefined),
      (error: unknown) => done(error, undefined),
    );
  const now = (prefix: string): Pick<Items, "put" | "del"> => ({
    put: (key, value, done) => write({ type: "put", key: prefix + key, value }, done),
    del: (key, done) => write({ type: "del", key: prefix + key }, done),
  });
  return {
    ...store,
    getItemDb: (table) => ({ ...store.getItemDb(table), ...now(`item-${table}~`) }),
    getIndexDb: (type, table, index) => ({
      ...store.getIndexDb(type, table, index),
      ...later(`index-${type.toLowerCase()}~${table}~${index}~`),
    }),
  };
}
