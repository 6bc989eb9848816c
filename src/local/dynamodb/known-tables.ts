import { hash } from "node:crypto";
import type { Definition, Store, Write } from "dynalite/db/index.js";

/** One value in DynamoDB's JSON. */
export type Value = { readonly [type: string]: unknown };
export type Item = Record<string, Value>;

/** The keys of a table or an index. */
interface Keys {
  /** The start of its entries in the store. */
  readonly prefix: string;
  readonly names: readonly string[];
}

/** A table whose keys are texts, with indexes that have whole items. */
export interface KnownTable extends Keys {
  readonly indexes: readonly Keys[];
}

/** Undefined: dynalite alone knows how to write to this table. */
export async function knownTable(store: Store, name: string): Promise<KnownTable | undefined> {
  const table = await new Promise<Definition | undefined>((resolve) => {
    store.getTable(name, (error, found) => resolve(error ? undefined : found));
  });
  if (table?.TableStatus !== "ACTIVE" || table.LocalSecondaryIndexes !== undefined) return undefined;
  const indexes = table.GlobalSecondaryIndexes ?? [];
  if (indexes.some(({ Projection }) => Projection.ProjectionType !== "ALL")) return undefined;
  if (table.AttributeDefinitions.some(({ AttributeType }) => AttributeType !== "S")) return undefined;
  const namesOf = (schema: Definition["KeySchema"]) => schema.map(({ AttributeName }) => AttributeName);
  return {
    prefix: `item-${name}~`,
    names: namesOf(table.KeySchema),
    indexes: indexes.map(({ IndexName, KeySchema }) => ({
      prefix: `index-global~${name}~${IndexName}~`,
      names: namesOf(KeySchema),
    })),
  };
}

/** The longest key of dynalite's checks is 1,024 characters for one of its attributes. */
const longestKey = 1_000;

/** The texts of a key. Undefined: the item lacks a part of it, or dynalite has to judge a part. */
function textsOf(names: readonly string[], item: Item): string[] | undefined {
  const texts: string[] = [];
  for (const name of names) {
    const text = item[name]?.S;
    if (typeof text !== "string" || text === "" || text.length > longestKey || !text.isWellFormed()) return undefined;
    texts.push(text);
  }
  return texts;
}

/** Texts of keys whose forms are remembered, at most. */
const maxForms = 5_000;

/** Remembers the forms of texts: an item's keys and those of its indexes come again with each of its changes. */
function remembered(form: (text: string) => string): (text: string) => string {
  const forms = new Map<string, string>();
  return (text) => {
    const found = forms.get(text);
    if (found !== undefined) return found;
    if (forms.size >= maxForms) forms.clear();
    const made = form(text);
    forms.set(text, made);
    return made;
  };
}

/** The first characters of a hash spread the partitions, as in dynalite. */
const spread = remembered((text) => hash("md5", `Outliers${text}`).slice(0, 6));
const hexOf = remembered((text) => Buffer.from(text).toString("hex"));

const placeOf = (texts: readonly string[]): string => {
  let place = spread(texts[0] ?? "");
  for (const text of texts) place += `/${hexOf(text)}`;
  return `${place}/`;
};

/** The place of an item in the store. Undefined: dynalite has to judge its key. */
export function itemPlace(table: KnownTable, item: Item): string | undefined {
  const texts = textsOf(table.names, item);
  return texts && placeOf(texts);
}

/** The place of an item in an index. Null: it is not in the index. Undefined: dynalite has to judge its keys. */
function indexPlace(table: KnownTable, index: Keys, item: Item): string | null | undefined {
  const present = index.names.filter((name) => item[name] !== undefined);
  if (present.some((name) => typeof item[name]?.S !== "string")) return undefined;
  if (present.length < index.names.length) return null;
  const [own, texts] = [textsOf(table.names, item), textsOf(index.names, item)];
  return own && texts && index.prefix + placeOf(texts) + spread(own.join(""));
}

/**
 * The characters up to which an item is surely short enough: a character has at most three bytes, an item 409,600.
 * A longer item is left to dynalite, which counts its bytes as DynamoDB does.
 */
const longestText = 136_000;

/** The writes of one change of an item and its entries. Undefined: dynalite has to judge them. */
export function writesOf(table: KnownTable, place: string, item: Item, old: Item | undefined): Write[] | undefined {
  const value = JSON.stringify(item);
  if (value.length > longestText) return undefined;
  const writes: Write[] = [];
  for (const index of table.indexes) {
    const before = old === undefined ? null : indexPlace(table, index, old);
    const now = indexPlace(table, index, item);
    if (before === undefined || now === undefined) return undefined;
    if (before !== null && before !== now) writes.push({ type: "del", key: before });
    if (now !== null) writes.push({ type: "put", key: now, value, valueEncoding: "utf8" });
  }
  writes.push({ type: "put", key: table.prefix + place, value, valueEncoding: "utf8" });
  return writes;
}
